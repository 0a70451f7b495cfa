"""What the warm start saves and what it costs who does not use it: `python -m tests.bench.warm [--runs N]`.

`gemchat ask` with one file, on a terminal of its own, where a process was kept warm for it and where none was:
until the request arrived at the service and until the answer began to be written, by the clock on the wall. Then
the CPU time of an ordinary start that looks for such a process in vain, against one that does not look.
"""

from __future__ import annotations

import argparse
import os
import pty
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.bench.place import Place, place
from tests.bench.timing import RUNS, Figures, Job, cpu, interleaved, run, table

ASK = ("ask", "what does it do?", "module.py")
ORDINARY = "from gemchat.__main__ import {0}; {0}()"


def measured(here: Place, runs: int, runtime: Path) -> str:
    fresh = here.kept()
    warm = {**here.environ, "XDG_RUNTIME_DIR": str(runtime), "GEMCHAT_WARM": "10m"}
    cold = {**here.environ, "XDG_RUNTIME_DIR": str(runtime / "none")}
    ask = here.job(*ASK)._replace(group=True, before=partial(here.restore, fresh))
    jobs = {"cold": ask._replace(environ=cold), "warm": ask._replace(environ=warm)}
    run(jobs["warm"])
    while not list(runtime.glob("*/*.sock")):
        time.sleep(0.1)
    sent: dict[str, list[float]] = {name: [] for name in jobs}
    shown: dict[str, list[float]] = {name: [] for name in jobs}
    try:
        for number in range(runs + 1):
            for name, job in jobs.items():
                _note(here, job, sent[name], shown[name], counts=number > 0)
    finally:
        cpu(here.job("warm", "stop")._replace(environ=warm))
    looking = interleaved({name: partial(cpu, _ordinary(here, cold, name)) for name in ("run", "main")}, runs)
    return "\n\n".join(
        [
            table(_figures(sent), "cold", of="ms until the request arrived"),
            table(_figures(shown), "cold", of="ms until the first character"),
            table({"does not look": looking["run"], "looks": looking["main"]}, "does not look"),
        ]
    )


def _note(here: Place, job: Job, sent: list[float], shown: list[float], *, counts: bool) -> None:
    here.asked.clear()
    done = run(job)
    if counts:
        sent.append((here.asked[0] - done.began) * 1000)
        shown.append(((done.wrote or done.began) - done.began) * 1000)


def _ordinary(here: Place, environ: dict[str, str], function: str) -> Job:
    return Job((sys.executable, "-c", ORDINARY.format(function), *ASK, "--dry-run"), environ, here.root)


def _figures(times: dict[str, list[float]]) -> dict[str, Figures]:
    return {name: Figures(tuple(found)) for name, found in times.items()}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.warm", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    given = options.parse_args()
    if os.getsid(0) != os.getpid():  # a session of its own, with a terminal
        sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "tests.bench.warm", *sys.argv[1:]])))
    with place() as here, tempfile.TemporaryDirectory() as runtime:
        print(measured(here, given.runs, Path(runtime)))  # noqa: T201


if __name__ == "__main__":
    main()
