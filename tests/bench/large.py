"""What a large target costs: `python -m tests.bench.large [--runs N] [--megabytes MB]`.

A turn about a file that the model holds and that changed since, from the stored conversation to the request as it
would be sent, against reading and hashing the file once: CPU time of that work, as `ask --dry-run` does it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from gemchat import generations
from gemchat.blobs import Drafts, sha256
from gemchat.core.model import Session
from gemchat.errors import TooLarge
from gemchat.prepare import Ask, prepare
from gemchat.project import Project
from gemchat.store import Store
from gemchat.workspace import Workspace
from tests.bench.scale import asked
from tests.bench.timing import RUNS, interleaved, table

TARGET = "target.txt"
LINE = "line {} of a long file, of which there are many\n"
BOUND = 5.0


def texts(size: int) -> Mapping[str, tuple[str, str]]:
    """What the model holds and what the file is now, by what happened to it; `size` is in characters."""
    lines = [LINE.format(number) for number in range(size // len(LINE))]
    alike = ["    }\n"] * (size // 6)
    wide = [line.replace("long", "länge 長い") for line in lines]
    one = "word " * (size // 5)
    pairs = {
        "unchanged": (lines, lines),
        "one place": (lines, changed(lines, 1)),
        "100 places": (lines, changed(lines, 100)),
        "100 places, not ASCII": (wide, changed(wide, 100)),
        "100 places, lines all alike": (alike, changed(alike, 100)),
        "every 100th line": (lines, [line.replace("00 of", "00 from") for line in lines]),
        "one line": ([one], [one[: size // 2], "?", one[size // 2 :]]),
        "every line": (lines, [line.replace("of", "from") for line in lines]),
    }
    return {name: ("".join(old), "".join(new)) for name, (old, new) in pairs.items()}


def changed(lines: list[str], places: int) -> list[str]:
    """With lines that are replaced, removed and added by turns, scattered evenly and without order."""
    chance = random.Random(places)
    new = list(lines)
    for number, at in enumerate(sorted(chance.sample(range(len(lines)), places), reverse=True)):
        removed, added = ((1, 1), (chance.randint(1, 8), 0), (0, chance.randint(1, 8)))[number % 3]
        new[at : at + removed] = [f"changed {chance.random()}\n" for _ in range(added)]
    return new


def project(root: Path, old: str, new: str) -> Project:
    """In which one turn was asked about a file that was `old`, and is `new` now."""
    (root / TARGET).write_text(new, newline="")
    store = Store(root.with_name(f"{root.name}-state"), root, print)
    version = store.blobs.put(old.encode())
    session = Session(name="main", created=0, journal=(asked(1, TARGET, version),), head="1")
    (store.directory / "sessions").mkdir()
    generations.replace(store.directory / "sessions/main.json", session)
    return Project(store=store, workspace=Workspace(root), session="main", clock=time.time, note=print)


def turn(place: Project) -> None:
    """Prepared, or found to be more than a model reads."""
    place.store.blobs = Drafts(place.store.blobs)
    with suppress(TooLarge):
        prepare(place, Ask(mode="ask", prompt="And now?", model="gemini-3.7-flash", backend="interactions"))


def read_and_hash(place: Project) -> None:
    sha256((place.workspace.root / TARGET).read_bytes())


def spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def measured(directory: Path, runs: int, size: int) -> str:
    tables = []
    for number, (name, (old, new)) in enumerate(texts(size).items()):
        root = directory / str(number)
        root.mkdir()
        place = project(root, old, new)
        work = {"read and hash": partial(read_and_hash, place), name: partial(turn, place)}
        found = interleaved({what: partial(spent, do) for what, do in work.items()}, runs)
        tables.append(table(found, "read and hash", {name: BOUND}))
    return "\n\n".join(tables)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--megabytes", type=int, default=20, metavar="MB")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print(measured(Path(directory), given.runs, given.megabytes * 1_000_000))  # noqa: T201


if __name__ == "__main__":
    main()
