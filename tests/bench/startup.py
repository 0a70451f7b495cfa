"""What a local command costs before it does anything: `python -m tests.bench.startup [--runs N]`.

CPU time of whole processes, as a ratio to one that imports typer and a rich console. The session has two turns, a
pending proposal, and an applied one for undo. A tab is asked as bash asks.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from tests.bench.place import Place, place
from tests.bench.timing import RUNS, Job, clean_environ, cpu, interleaved, table

BASE = "import typer, rich.console"
COMMANDS = ("--version", "--help", "status", "log", "diff", "apply", "undo")
TABS = ("gemchat st", "gemchat ask --", "gemchat sessions use ", "gemchat show ", "gemchat apply ")


def measured(here: Place, runs: int) -> str:
    here.run("ask", "what?", "module.py")
    here.run("edit", "change it", "module.py")
    pending = here.kept()
    here.run("apply")
    applied = here.kept()
    jobs = {
        "pass": Job((sys.executable, "-c", "pass"), clean_environ()),
        BASE: Job((sys.executable, "-c", BASE), clean_environ()),
    }
    jobs |= {name: _command(here, name, applied if name == "undo" else pending) for name in COMMANDS}
    jobs |= {f"{line.removeprefix('gemchat ')!r} TAB": _tab(here, line, pending) for line in TABS}
    bounds = {name: 1.0 if name.endswith("TAB") else 1.5 for name in jobs if name not in ("pass", BASE)}
    found = interleaved({name: partial(cpu, job) for name, job in jobs.items()}, runs)
    passes = found["--version"].median / found["pass"].median
    return f"{table(found, BASE, bounds)}\n--version is {passes:.2f} times `python -c pass` (bound 6)"


def _command(here: Place, name: str, state: Path) -> Job:
    return here.job(name)._replace(before=partial(here.restore, state))


def _tab(here: Place, line: str, state: Path) -> Job:
    asked = {
        "_GEMCHAT_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    return here.job()._replace(environ={**here.environ, **asked}, before=partial(here.restore, state))


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.startup", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    with place() as here:
        print(measured(here, options.parse_args().runs))  # noqa: T201


if __name__ == "__main__":
    main()
