"""What a large target costs: `python -m tests.bench.large [--runs N] [--megabytes MB]`.

First a turn about a file that the model holds and that changed since, from the stored conversation to the request
as it would be sent, as `ask --dry-run` prepares it; then what becomes of one edit of it, and a long output that is
folded. Each is the CPU time of that work alone, in a process of its own as commands are, against reading and
hashing the file once. Last the whole command, against the same about a short file.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from gemchat import changes, report
from gemchat.blobs import Drafts, sha256
from gemchat.core.folding import fold
from gemchat.core.model import FileChange, Session
from gemchat.core.proposals import Edit, EditReply, resolve
from gemchat.core.textfile import decode
from gemchat.errors import TooLarge
from gemchat.prepare import ATTACH_LIMIT, Ask, prepare
from gemchat.project import Project
from gemchat.store import Store, project_directory
from gemchat.workspace import Workspace
from tests.bench.place import Place, place
from tests.bench.scale import asked
from tests.bench.timing import RUNS, cpu, interleaved, table

TARGET = "target.txt"
LINE = "line {} of a long file, of which there are many\n"
BOUND = 5.0
MODEL = "gemini-3.7-flash"


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
        "100 places, lines all alike": (alike, changed(alike, 100)),
        "100 places, CRLF": (_crlf(lines), _crlf(changed(lines, 100))),
        "100 places, not ASCII": (wide, changed(wide, 100)),
        "every 100th line": (lines, [line.replace("00 of", "00 from") for line in lines]),
        "one line": ([one], [one[: size // 2], "?", one[size // 2 :]]),
        "every line": (lines, [line.replace("of", "from") for line in lines]),
    }
    return {name: ("".join(old), "".join(new)) for name, (old, new) in pairs.items()}


def _crlf(lines: list[str]) -> list[str]:
    return [line.replace("\n", "\r\n") for line in lines]


def changed(lines: list[str], places: int) -> list[str]:
    """With lines that are replaced, removed and added by turns, at places drawn by lot."""
    chance = random.Random(places)
    new = list(lines)
    for number, at in enumerate(sorted(chance.sample(range(len(lines)), places), reverse=True)):
        removed, added = ((1, 1), (chance.randint(1, 8), 0), (0, chance.randint(1, 8)))[number % 3]
        new[at : at + removed] = [f"changed {chance.random()}\n" for _ in range(added)]
    return new


def project(home: Path, name: str, old: str, new: str) -> Project:
    """In which one turn was asked about a file that was `old`, and is `new` now."""
    root = home / name.replace(" ", "-")
    (root / ".git").mkdir(parents=True)
    (root / TARGET).write_text(new, newline="")
    place = opened(root, home)
    version = place.store.blobs.put(old.encode())
    place.store.save(Session(name="main", created=0, journal=(asked(1, TARGET, version),), head="1"))
    return place


def opened(root: Path, home: Path) -> Project:
    store = Store(project_directory(home / ".local/state/gemchat", root), root, print)
    return Project(store=store, workspace=Workspace(root), session="main", clock=time.time, note=print)


def turn(place: Project) -> None:
    """Prepared, or found to be more than a model reads."""
    place.store.blobs = Drafts(place.store.blobs)
    with suppress(TooLarge):
        prepare(place, Ask(mode="ask", prompt="And now?", model=MODEL, backend="interactions"))


def read_and_hash(place: Project) -> None:
    sha256((place.workspace.root / TARGET).read_bytes())


def review(place: Project) -> dict[str, Callable[[], object]]:
    """What becomes of one edit in the middle, which is pending."""
    old = (place.workspace.root / TARGET).read_text()
    middle = old.index("\n", len(old) // 2) + 1
    search = old[middle : old.index("\n", middle + 200) + 1]
    base = {TARGET: decode(old.encode())}
    reply = EditReply(explanation="", edits=(Edit(search=search, replace=f"{search}more\n"),))
    loose = EditReply(explanation="", edits=(Edit(search=search.replace("\n", "  \n"), replace="more\n"),))
    return {
        "an edit finds its place": lambda: resolve(reply, base),
        "an edit with other blanks": lambda: resolve(loose, base),
        "diff": lambda: report.patch(report.file_diffs(place, changes.select(place.load()))),
        "apply and undo": lambda: (changes.apply(place), changes.undo(place)),
        "a long output is folded": lambda: fold(old, ATTACH_LIMIT),
    }


def propose(place: Project) -> None:
    """Leaves the edit pending."""
    old = (place.workspace.root / TARGET).read_bytes()
    middle = old.index(b"\n", len(old) // 2) + 1
    proposed = place.store.blobs.put(old[:middle] + b"more\n" + old[middle:])
    change = FileChange(path=TARGET, before=sha256(old), after=proposed, turn="1")
    edit = replace(asked(1, TARGET, sha256(old)), mode="edit", proposal=(change,))
    place.store.save(replace(place.load(), journal=(edit,)))


def spend(root: Path, home: Path, name: str) -> None:
    """Does one thing and says how many milliseconds of CPU time it took."""
    place = opened(root, home)
    if name in ("read and hash", "turn"):
        do: Callable[[], object] = partial(turn if name == "turn" else read_and_hash, place)
    else:
        propose(place)
        do = review(place)[name]
    began = time.process_time()
    do()
    print((time.process_time() - began) * 1000)  # noqa: T201


def spent(place: Project, home: Path, name: str) -> float:
    call = "from tests.bench.large import *; spend(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])"
    command = [sys.executable, "-c", call, str(place.workspace.root), str(home), name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def compared(place: Project, home: Path, runs: int, work: Mapping[str, str], bound: float | None) -> str:
    measures = {"read and hash": "read and hash", **work}
    found = interleaved({shown: partial(spent, place, home, name) for shown, name in measures.items()}, runs)
    return table(found, "read and hash", {} if bound is None else dict.fromkeys(work, bound))


def commands(here: Place, runs: int, places: Sequence[Project]) -> str:
    roots = [here.root, *(place.workspace.root for place in places)]
    (here.root / TARGET).write_text("short\n")
    here.run("ask", "what?", TARGET, "--model", MODEL)
    job = here.job("ask", "And now?", "--dry-run", "--model", MODEL)
    jobs = {f"ask --dry-run, {root.name}": job._replace(directory=root) for root in roots}
    jobs = {name: job._replace(environ={**here.environ, "PWD": str(job.directory)}) for name, job in jobs.items()}
    return table(interleaved({name: partial(cpu, job) for name, job in jobs.items()}, runs), next(iter(jobs)))


def measured(here: Place, runs: int, size: int) -> Iterator[str]:
    places = {}
    for name, (old, new) in texts(size).items():
        places[name] = project(here.home, name, old, new)
        yield compared(places[name], here.home, runs, {name: "turn"}, BOUND)
    reviewed = project(here.home, "review", *texts(size)["unchanged"])
    yield compared(reviewed, here.home, runs, {name: name for name in review(reviewed)}, None)
    yield commands(here, runs, [places[name] for name in ("unchanged", "one place", "100 places")])


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--megabytes", type=int, default=20, metavar="MB")
    given = options.parse_args()
    with place() as here:
        for found in measured(here, given.runs, given.megabytes * 1_000_000):
            print(found, end="\n\n", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
