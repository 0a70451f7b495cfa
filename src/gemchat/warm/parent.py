"""The parent: waits for launchers, and leaves when nobody came for a while, when it is out of date, or unwanted.

It has no thread, no connection and nothing of any invocation, so that a fork of it is as good as a new process.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gemchat.warm.meeting import entered, lock_name, socket_name, through

_TICK = 1.0  # seconds between two looks at whether it is still wanted


def serve(place: str, idle: float, load: Callable[[], None]) -> socket.socket | None:
    """Comes back with a connection in each process that is forked for one, and with None when it is over.

    A session has one parent: it holds a lock for as long as it lives.
    """
    directory = entered(place)
    lock = None if directory is None else _lock(directory, lock_name())
    if directory is None or lock is None:
        return None
    loaded = _stamp()
    load()
    name = socket_name()
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)  # of a parent that was killed
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(through(directory, name))
        own = {name: os.stat(name, dir_fd=directory), lock_name(): os.fstat(lock)}
        listener.listen()
        return _waited(listener, _Lease(directory, lock, own, idle), loaded)


class _Lease:
    """The files that are the parent's own make it wanted; the time of its lock is when it was last used."""

    def __init__(self, directory: int, lock: int, own: dict[str, os.stat_result], idle: float) -> None:
        self._directory = directory
        self._lock = lock
        self._own = own
        self._idle = idle
        self._used = time.monotonic()

    def use(self) -> None:
        self._used = time.monotonic()
        os.utime(self._lock)

    def holds(self) -> bool:
        unspent = time.monotonic() - self._used < self._idle
        return unspent and all(map(self._has, self._own)) and _has_terminal()

    def end(self) -> None:
        for name in filter(self._has, self._own):
            os.unlink(name, dir_fd=self._directory)

    def forget(self) -> None:
        os.close(self._lock)
        os.close(self._directory)

    def _has(self, name: str) -> bool:
        return _same(self._directory, name, self._own[name])


def _waited(listener: socket.socket, lease: _Lease, loaded: object) -> socket.socket | None:
    while lease.holds():
        if select.select([listener], [], [], _TICK)[0]:
            connection = listener.accept()[0]
            if _stamp() != loaded or len(os.listdir("/proc/self/task")) > 1:
                break
            if os.fork() == 0:
                lease.forget()
                return connection
            connection.close()
            lease.use()
        if _busy():
            lease.use()
    lease.end()
    return None


def _busy() -> bool:
    """Whether a keeper is still at work."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _lock(directory: int, name: str) -> int | None:
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=directory)
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _same(directory, name, os.fstat(descriptor)):
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            return descriptor
    os.close(descriptor)
    return None


def _same(directory: int, name: str, own: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=directory), own)
    except FileNotFoundError:
        return False


def _has_terminal() -> bool:
    """Whether the session still has one: it is taken away when it hangs up, or when the session's leader ends."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _stamp() -> object:
    """Changes with every change of gemchat, of what is installed beside it, and of Python."""
    try:
        files = [file.stat() for file in Path(__file__).parent.parent.rglob("*.py")]
        places = [os.stat(place).st_mtime_ns for place in (*sys.path, sys.executable) if os.path.exists(place)]
    except OSError:  # just now
        return object()
    return sum(file.st_mtime_ns for file in files), sum(file.st_size for file in files), len(files), places
