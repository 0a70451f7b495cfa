"""The keeper: decides whether a launcher can be served, starts the worker, and stands between the two.

A signal to the whole process group, as the terminal and `kill %1` send it, reaches the worker by itself. One that
was sent to the launcher alone is passed on. A stop that is meant for the launcher alone stops the launcher alone.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import time
from contextlib import suppress
from typing import NamedTuple

from gemchat.warm.kernel import circumstances, environ
from gemchat.warm.launch import DESCRIPTORS
from gemchat.warm.meeting import program, read_once

_AGREEMENT = 1.0  # seconds for a launcher to say what it wants and that it means it
_LONGEST = 8_000_000  # bytes; Linux allows a command line of 6 MB at most
_SAME = 0.5  # seconds in which two signals of one number are one
_ON_ITS_WAY = 0.05  # seconds from when a process gets a signal until it has said so
_FAREWELL = 5.0  # seconds for a worker to save what it has when its launcher is gone


class Visit(NamedTuple):
    """A launcher: its process and group, its words, and its descriptors with the numbers they have there."""

    pid: int
    group: int
    arguments: list[str]
    descriptors: list[tuple[int, int]]


def received(connection: socket.socket) -> Visit | None:
    """What the launcher wants, once it has said that it means it. None is for whoever has to start by itself."""
    try:
        connection.settimeout(_AGREEMENT)
        visit = _asked(connection)
        if visit is None:
            return None
        os.chdir(f"/proc/{visit.pid}/cwd")
        connection.sendall(b"+")
        return visit if connection.recv(1) == b"!" else None
    except (OSError, ValueError):
        return None


def _asked(connection: socket.socket) -> Visit | None:
    pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    size, descriptors, _, _ = socket.recv_fds(connection, 8, DESCRIPTORS)
    if user != os.geteuid() or not _is_alike(pid):
        return None
    said = _exactly(connection, int.from_bytes(size)).decode("utf-8", "surrogateescape").split("\0")
    numbers = [int(number) for number in said[1].split(",") if number]
    if said[0] != program() or len(numbers) != len(descriptors):
        return None
    return Visit(pid, os.getpgid(pid), said[2:], list(zip(descriptors, numbers, strict=True)))


def _is_alike(pid: int) -> bool:
    """Whether a fork can stand for the process.

    In the group of the session's leader there is no job control. It would look as if there were, since the keeper
    is in the session and outside of the group.
    """
    session = os.getsid(0)
    if os.getsid(pid) != session or os.getpgid(pid) == session:
        return False
    return circumstances(pid) == circumstances(os.getpid()) and _read_once(pid) == _read_once(os.getpid())


def _read_once(pid: int) -> dict[str, str]:
    return read_once({os.fsdecode(name): os.fsdecode(value) for name, value in environ(pid).items()})


def _exactly(connection: socket.socket, size: int) -> bytes:
    if size > _LONGEST:
        raise ValueError
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ValueError
        data += piece
    return bytes(data)


def keep(connection: socket.socket, worker: int, reports: int) -> None:
    """Until the worker has ended and the launcher knows how. `reports` tells which signals the worker got."""
    code = _Watch(connection, worker, reports).ended()
    with suppress(OSError), connection:  # the launcher is gone
        connection.sendall(str(code).encode())


class _Watch:
    def __init__(self, connection: socket.socket, worker: int, reports: int) -> None:
        self._connection = connection
        self._worker = worker
        self._reports = reports
        self._reported: dict[int, float] = {}

    def ended(self) -> int:
        """The worker's exit code, negative for a signal."""
        end = os.pidfd_open(self._worker)
        sources: list[int | socket.socket] = [end, self._reports, self._connection]
        patience = None
        while True:
            ready = select.select(sources, [], [], patience)[0]
            if end in ready:
                return os.waitstatus_to_exitcode(os.waitpid(self._worker, 0)[1])
            if not ready:
                os.kill(self._worker, signal.SIGKILL)
            self._hear()
            if self._connection in ready:
                numbers = self._received()
                for number in numbers:
                    self._pass_on(number)
                if not numbers:
                    sources.remove(self._connection)
                    patience = _FAREWELL
                    self._hang_up()

    def _received(self) -> bytes:
        try:
            return self._connection.recv(64)
        except OSError:
            return b""

    def _hear(self) -> None:
        while select.select([self._reports], [], [], 0)[0]:
            numbers = os.read(self._reports, 64)
            if not numbers:
                return
            self._reported.update(dict.fromkeys(numbers, time.monotonic()))

    def _pass_on(self, number: int) -> None:
        if not self._has(number):
            select.select([self._reports], [], [], _ON_ITS_WAY)
            self._hear()
        if not self._has(number):
            os.kill(self._worker, number)  # one that still waits to be delivered is not doubled by it

    def _has(self, number: int) -> bool:
        return time.monotonic() - self._reported.get(number, -_SAME) < _SAME

    def _hang_up(self) -> None:
        """The launcher was killed, so there is no process any more that somebody could end."""
        for number in (signal.SIGHUP, signal.SIGCONT):
            os.kill(self._worker, number)
