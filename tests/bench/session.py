"""CPU time a turn in a session of ten: `python -m tests.bench.session [--runs N] [--backend …]`.

Five questions and five edits, which are discarded again, each a process of its own, against ten processes of a
bare script that makes one streamed call of the SDK.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.bench.place import Place
from tests.bench.timing import cpu, interleaved, table
from tests.bench.turn import bare, report

TURNS = 10


def measured(here: Place, runs: int, backend: str) -> str:
    fresh = here.kept()
    found = interleaved(
        {"bare": partial(_script, here, backend), "gemchat": partial(_session, here, backend, fresh)}, runs
    )
    return table(found, "bare", {"gemchat": 1.0}, of="CPU ms a turn")


def _script(here: Place, backend: str) -> float:
    return sum(cpu(bare(here, backend)) for _ in range(TURNS)) / TURNS


def _session(here: Place, backend: str, fresh: Path) -> float:
    here.restore(fresh)
    spent = 0.0
    for number in range(TURNS // 2):
        spent += cpu(here.job("ask", f"question {number}", "module.py", "--backend", backend))
        spent += cpu(here.job("edit", f"change {number}", "module.py", "--backend", backend))
        here.run("discard")
    return spent / TURNS


if __name__ == "__main__":
    report(measured, "session", __doc__)
