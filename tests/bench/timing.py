"""The CPU time of child processes, in runs that take turns, so that noise on the machine hits all alike."""

from __future__ import annotations

import os
import pty
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

RUNS = 11
GEMCHAT = (sys.executable, str(Path(sys.executable).with_name("gemchat")))  # the command as it is installed


class Job(NamedTuple):
    """A process to be measured: `before` puts things in order for it. On a `terminal` are stdout and stderr."""

    arguments: Sequence[str]
    environ: Mapping[str, str] = {}
    directory: Path | None = None
    before: Callable[[], object] = lambda: None
    codes: tuple[int, ...] = (0,)
    terminal: bool = False
    group: bool = False  # of its own, as a shell on a terminal starts it


class Figures(NamedTuple):
    """Milliseconds of CPU time, user and system, unless the table says otherwise."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    def __str__(self) -> str:
        return f"{min(self.runs):9.1f} {self.median:9.1f} {max(self.runs):9.1f}"


def clean_environ(**more: str) -> dict[str, str]:
    """The environment without what Python or Google's SDK would take as a wish: byte code is written, too."""
    ours = ("PYTHON", "GEMINI_", "GOOGLE_", "GEMCHAT_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    kept = {name: text for name, text in kept.items() if not name.lower().endswith("_proxy")}
    return {**kept, **more}


class Run(NamedTuple):
    """One run: CPU time in milliseconds, and when it began and first wrote something, by the monotonic clock."""

    cpu: float
    began: float
    wrote: float | None


def cpu(job: Job) -> float:
    """Runs it; milliseconds of CPU time until it ended."""
    return run(job).cpu


def run(job: Job) -> Run:
    """Runs it to its end. Its stdout is a pipe or a terminal that is read at once; stdin leads nowhere."""
    job.before()
    reading, writing = pty.openpty() if job.terminal else os.pipe()
    actions: list[tuple[int, int, str, int, int] | tuple[int, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        *((os.POSIX_SPAWN_DUP2, writing, number) for number in ((1, 2) if job.terminal else (1,))),
    ]
    options: dict[str, Any] = {"setpgroup": 0} if job.group else {}
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(job.directory or ".")
        began = time.monotonic()
        pid = os.posix_spawn(
            job.arguments[0],
            list(job.arguments),
            job.environ or clean_environ(),
            file_actions=actions,
            **options,
        )
    finally:
        os.fchdir(here)
        os.close(here)
        os.close(writing)
    wrote = _drained(reading)
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in job.codes:
        raise SystemExit(f"{' '.join(job.arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return Run((used.ru_utime + used.ru_stime) * 1000, began, wrote)


def _drained(reading: int) -> float | None:
    """Reads until nobody writes any more; when the first piece came."""
    wrote = None
    with open(reading, "rb", buffering=0) as pipe, suppress(OSError):  # a terminal ends with EIO
        while pipe.read(65536):
            wrote = wrote or time.monotonic()
    return wrote


def interleaved(measures: Mapping[str, Callable[[], float]], runs: int = RUNS) -> dict[str, Figures]:
    """Each measure `runs` times, in turn; one round before does not count, as it fills caches."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(runs + 1):
        for name, measure in measures.items():
            took = measure()
            if number:
                found[name].append(took)
    return {name: Figures(tuple(took)) for name, took in found.items()}


def table(
    found: Mapping[str, Figures], base: str, bounds: Mapping[str, float] | None = None, *, of: str = "CPU ms"
) -> str:
    """Each with its noise, and as a ratio of `base`, beside the bound that it is to keep."""
    lines = [f"{of:34} {'min':>9} {'median':>9} {'max':>9} {'ratio':>7} {'bound':>7}"]
    for name, figures in found.items():
        ratio = figures.median / found[base].median
        bound = (bounds or {}).get(name)
        lines.append(f"{name:34} {figures} {ratio:7.2f} {'' if bound is None else format(bound, '7.2f'):>7}")
    return "\n".join(lines)
