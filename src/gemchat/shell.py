"""Runs a command of the user's and keeps what it prints, while it prints it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from gemchat.errors import UsageError


class Finished(NamedTuple):
    """How a command ended: its exit code, negative for a signal, and all it printed to stdout and stderr."""

    code: int
    output: str
    timed_out: bool = False


def run(
    command: str | Sequence[str], directory: Path, show: Callable[[bytes], None], timeout: float | None = None
) -> Finished:
    """A string goes to the shell, a sequence is run as it is. After `timeout` seconds all it began is ended."""
    try:
        process = subprocess.Popen(  # noqa: S603  running the user's command is what this is for
            command,
            shell=isinstance(command, str),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"the command cannot be run: {error.strerror}") from None
    late = threading.Event()
    timer = threading.Timer(timeout, _end, [process, late]) if timeout else None
    if timer is not None:
        timer.start()
    try:
        return Finished(*_finish(process, show), timed_out=late.is_set())
    finally:
        if timer is not None:
            timer.cancel()
        _end(process, threading.Event())


def _finish(process: subprocess.Popen[bytes], show: Callable[[bytes], None]) -> tuple[int, str]:
    printed: list[bytes] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            show(line)
        return process.wait(), b"".join(printed).decode("utf-8", "replace").replace("\0", "\ufffd")


def _end(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    if process.poll() is None:
        ended.set()
        os.killpg(process.pid, signal.SIGKILL)
