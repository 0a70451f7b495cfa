"""Starting, listing and ending parents from the outside."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gemchat.warm.kernel import environ as started_with
from gemchat.warm.meeting import directory_of, entered, lock_name, read_once

_POLL = 0.05
_STOP = 2.0  # seconds for a parent to notice that it is unwanted


def _can_watch() -> bool:
    """Whether a process can wait for another one beside other things, as of Linux 5.3."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


SUPPORTED = _can_watch()


class Parent(NamedTuple):
    """`session` is the terminal's that it is for, `idle` for how many seconds nobody needed it."""

    pid: int
    session: int
    idle: float


def settle(environ: Mapping[str, str], seconds: float) -> None:
    """Sees to it that this session has a parent, or with 0 seconds none. Waits for neither, and may fail."""
    directory = Path(directory_of(environ))
    with suppress(OSError):
        if seconds and _has_job_control():
            directory.mkdir(mode=0o700, exist_ok=True)
            if _is_ours(directory) and _holder(directory / lock_name()) is None:
                _start(directory, seconds)
        elif not seconds and _is_ours(directory):
            _dismiss(directory, os.getsid(0))


def _start(directory: Path, seconds: float) -> None:
    """Of two, one leaves again."""
    given = {os.fsdecode(name): os.fsdecode(value) for name, value in started_with(os.getpid()).items()}
    process = subprocess.Popen(  # noqa: S603  gemchat itself
        [sys.executable, "-P", "-m", "gemchat.cli.kept", str(directory), str(seconds)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        cwd="/", env=read_once(given), process_group=0,
    )  # fmt: skip
    process.returncode = 0  # it outlives this process on purpose


def _has_job_control() -> bool:
    """Whether a shell on a terminal started this process, so that more will come in the same session."""
    if not SUPPORTED or os.getpgrp() == os.getsid(0):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def parents(environ: Mapping[str, str]) -> Iterator[Parent]:
    """Those of the user that live."""
    directory = Path(directory_of(environ))
    for lock in sorted(directory.glob("*.lock")) if _is_ours(directory) else ():
        with suppress(OSError, ValueError):
            pid = _holder(lock)
            if pid is not None:
                yield Parent(pid, int(lock.stem), max(0.0, time.time() - lock.stat().st_mtime))


def is_safe(environ: Mapping[str, str]) -> bool:
    """Whether the directory is not there yet, or the user's alone."""
    directory = directory_of(environ)
    return _is_ours(directory) or not os.path.lexists(directory)


def _is_ours(directory: Path | str) -> bool:
    descriptor = entered(str(directory)) if SUPPORTED else None
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def stop(environ: Mapping[str, str]) -> int:
    """Ends all of them, and returns how many there were. What they have started goes on."""
    found = list(parents(environ))
    for parent in found:
        with suppress(OSError):
            _end(Path(directory_of(environ)), parent)
    return len(found)


def _end(directory: Path, parent: Parent) -> None:
    """Who still holds the lock after a while is the one that is meant."""
    with (directory / f"{parent.session}.lock").open() as lock:
        _dismiss(directory, parent.session)
        until = time.monotonic() + _STOP
        while _is_held(lock.fileno()):
            if time.monotonic() > until:
                os.kill(parent.pid, signal.SIGKILL)
                return
            time.sleep(_POLL)


def _dismiss(directory: Path, session: int) -> None:
    """A parent leaves when its files are gone."""
    for kind in ("sock", "lock"):
        (directory / f"{session}.{kind}").unlink(missing_ok=True)


def _holder(lock: Path) -> int | None:
    try:
        with lock.open() as file:
            return int(file.read()) if _is_held(file.fileno()) else None
    except FileNotFoundError:
        return None


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
