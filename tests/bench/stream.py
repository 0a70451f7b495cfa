"""What it costs to show an answer in 20,000 pieces: `python -m tests.bench.stream [--runs N] [--pieces N]`.

`gemchat ask` in a pipe and on a terminal, against a bare script that iterates the same stream of the same SDK and
writes each piece. The answer is prose in paragraphs with code in between, a word a piece.
"""

from __future__ import annotations

import argparse
from functools import partial

from tests.bench.place import Place, place
from tests.bench.timing import RUNS, cpu, interleaved, table
from tests.bench.turn import bare


def answer(pieces: int) -> tuple[str, ...]:
    """Ten words a line, five lines a paragraph; every fourth paragraph is code."""
    words: list[str] = []
    for number in range(pieces):
        line, paragraph = number // 10, number // 50
        ends = "\n" if number % 10 == 9 else " "
        if paragraph % 4 == 3:
            word = "```python\n" if number % 50 == 0 else "\n```" if number % 50 == 49 else f"name_{line} ="
        else:
            word = "**bold**" if number % 17 == 0 else "`code`" if number % 13 == 0 else f"word{number}"
        words.append(f"{word}{ends}{chr(10) if number % 50 == 49 else ''}")
    return tuple(words)


def measured(here: Place, runs: int, pieces: int) -> str:
    here.mind.pieces = answer(pieces)
    script = bare(here, "interactions")
    fresh = here.kept()
    ask = here.job("ask", "explain at length", "module.py")
    jobs = {"bare": script, "ask in a pipe": ask, "ask on a terminal": ask._replace(terminal=True)}
    jobs = {name: job._replace(before=partial(here.restore, fresh)) for name, job in jobs.items()}
    found = interleaved({name: partial(cpu, job) for name, job in jobs.items()}, runs)
    return table(found, "bare", {"ask in a pipe": 1.3, "ask on a terminal": 1.3})


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.stream", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--pieces", type=int, default=20_000)
    given = options.parse_args()
    with place() as here:
        print(measured(here, given.runs, given.pieces))  # noqa: T201


if __name__ == "__main__":
    main()
