"""The worker: makes of a fork of the parent what the launcher would have become.

What it cannot change is the same for both, or the keeper would have declined. The generators of random numbers of
Python and OpenSSL notice a fork by themselves.
"""

from __future__ import annotations

import fcntl
import io
import os
import signal
import sys
import time
from typing import Any

from gemchat.warm.keeper import Visit
from gemchat.warm.kernel import environ, ignored_signals, status


def become(visit: Visit, reports: int) -> None:
    """Takes over all but the directory, where the keeper already is. Signals that arrive go to `reports`."""
    os.setpgid(0, visit.group)
    os.umask(int(status(visit.pid)["Umask"], 8))
    _take_environ(environ(visit.pid))
    sys.argv = visit.arguments
    reports = _take_descriptors(visit.descriptors, reports)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _take_signals(set(ignored_signals(visit.pid)))
    signal.set_wakeup_fd(reports, warn_on_full_buffer=False)


def _take_environ(given: dict[bytes, bytes]) -> None:
    """In the C locale Python sets LC_CTYPE by itself, for it and for what it starts."""
    coerced = os.environb.get(b"LC_CTYPE")
    os.environb.clear()
    os.environb.update(given)
    if coerced is not None:
        os.environb[b"LC_CTYPE"] = coerced
    time.tzset()


def _take_descriptors(given: list[tuple[int, int]], reports: int) -> int:
    """Each gets its number and all others are closed, but `reports`, which gets a new one and is returned."""
    above = max((number for _, number in given), default=0) + 3
    apart = [(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above), number) for descriptor, number in given]
    reports = fcntl.fcntl(reports, fcntl.F_DUPFD_CLOEXEC, above)
    kept = {reports, *(descriptor for descriptor, _ in apart)}
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor not in kept:
            os.closerange(descriptor, descriptor + 1)  # which does not mind that of the listing
    for descriptor, number in apart:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return reports


def _stream(number: int, name: str) -> Any:
    """What Python has made of a standard stream when a program begins."""
    try:
        os.fstat(number)
    except OSError:
        return None
    mode, like = "r" if number == 0 else "w", getattr(sys, name)
    whole: bool = like.write_through  # PYTHONUNBUFFERED
    buffer = open(number, f"{mode}b", 0 if whole and number else -1, closefd=False)  # noqa: SIM115  open until the end
    raw: Any = getattr(buffer, "raw", buffer)
    raw.name = f"<{name}>"
    lines = not whole and (number == 2 or raw.isatty())
    stream: Any = io.TextIOWrapper(
        buffer,
        encoding=like.encoding,
        errors=like.errors,
        newline="\n",
        line_buffering=lines,
        write_through=whole,
    )
    stream.mode = mode
    return stream


def _take_signals(ignored: set[int]) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        asked = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else asked)
