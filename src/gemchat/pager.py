"""Sends what is written to stdout through the user's pager."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress


@contextmanager
def through_pager(environ: Mapping[str, str]) -> Iterator[None]:
    """Until the block ends and the user leaves $PAGER, or less; where neither can be run, nothing changes."""
    process = _started(environ)
    if process is None or process.stdin is None:
        yield
        return
    sys.stdout.flush()
    stdout = sys.stdout.fileno()
    before = os.dup(stdout)
    os.dup2(process.stdin.fileno(), stdout)
    process.stdin.close()
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        os.dup2(before, stdout)
        os.close(before)
        _wait(process)


def _started(environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """less shows colours, and ends by itself when all fits on the screen."""
    with suppress(OSError, ValueError):
        command = shlex.split(environ.get("PAGER") or "less")
        return subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": "FRX", **environ})  # noqa: S603
    return None


def _wait(process: subprocess.Popen[bytes]) -> None:
    """An interrupt while the pager is on the screen is the pager's."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.wait()
    finally:
        signal.signal(signal.SIGINT, handler)
