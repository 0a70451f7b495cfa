"""What size costs: `python -m tests.bench.scale [--runs N] [--turns N] [--blobs MB]`.

A conversation of 10,000 turns about 200 files with 1 GB of stored versions against an empty project. CPU time of
whole processes.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from pathlib import Path

from gemchat import generations
from gemchat.blobs import sha256
from gemchat.core.model import Remote, Sent, SentFile, Session, Turn, Usage
from gemchat.store import project_directory
from tests.bench.place import Place, place
from tests.bench.timing import RUNS, Job, cpu, interleaved, table

FILES = 200
ASKED = ("ask", "and now?", "file_7.py", "--dry-run")


def fill(here: Place, turns: int, megabytes: int) -> Path:
    """A project beside the empty one, with its state; returns its root."""
    root = here.home / "large"
    (root / ".git").mkdir(parents=True)
    for number in range(FILES):
        (root / f"file_{number}.py").write_text(f"# {number}\n" + (here.root / "module.py").read_text())
    directory = project_directory(here.home / ".local/state/gemchat", root)
    blobs = directory / "blobs"
    blobs.mkdir(parents=True)
    for _ in range(megabytes):
        data = os.urandom(1_000_000)
        (blobs / sha256(data)).write_bytes(data)
    versions = [sha256((root / f"file_{number}.py").read_bytes()) for number in range(FILES)]
    for number in range(FILES):
        (blobs / versions[number]).write_bytes((root / f"file_{number}.py").read_bytes())
    journal = tuple(
        asked(number, f"file_{number % FILES}.py", versions[number % FILES]) for number in range(1, turns + 1)
    )
    session = Session(name="main", created=0, journal=journal, head=str(turns))
    (directory / "sessions").mkdir()
    generations.replace(directory / "sessions/main.json", session)
    return root


def asked(number: int, path: str, version: str) -> Turn:
    """A turn that told the model the whole text of a file."""
    file = SentFile(path=path, sha256=version, source="full", reason="not known to the model")
    return Turn(
        id=str(number),
        parent=str(number - 1) if number > 1 else None,
        at=time.time(),
        mode="ask",
        prompt=f"What does it do, question {number}?",
        model="gemini-3.7-flash",
        backend="interactions",
        sent=Sent(
            route="restart" if number % 40 == 1 else "continue",
            reason="first turn",
            files=(file,),
            messages=sha256(b""),
            bytes=9000,
            tokens=2500,
            added=2500,
        ),
        reply="It adds a number to a value, and says so.",
        explanation="It adds a number to a value, and says so.",
        status="complete",
        usage=Usage(input=30_000, cached=20_000, output=20),
        remote=Remote(interaction=f"i{number}", content=None, service=None),
    )


def commands(here: Place, root: Path, runs: int) -> str:
    jobs = {f"{name}, {where.name}": _job(here, where, arguments) for where, name, arguments in _cases(here, root)}
    found = interleaved({name: partial(cpu, job) for name, job in jobs.items()}, runs)
    rows = [(f"{name}, project", f"{name}, large") for name in ("status", "ask --dry-run", "ask")]
    return "\n\n".join(table({empty: found[empty], full: found[full]}, empty, {full: 2.0}) for empty, full in rows)


def _cases(here: Place, root: Path) -> list[tuple[Path, str, tuple[str, ...]]]:
    (here.root / "file_7.py").write_text((root / "file_7.py").read_text())
    named = {"status": ("status",), "ask --dry-run": ASKED, "ask": ASKED[:-1]}
    return [(where, name, named[name]) for name in named for where in (here.root, root)]


def _job(here: Place, where: Path, arguments: tuple[str, ...]) -> Job:
    return here.job(*arguments)._replace(directory=where, environ={**here.environ, "PWD": str(where)})


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--blobs", type=int, default=1000, metavar="MB")
    given = options.parse_args()
    with place() as here:
        print(commands(here, fill(here, given.turns, given.blobs), given.runs))  # noqa: T201


if __name__ == "__main__":
    main()
