"""The server process from the inside: one mind for all of a user's commands, until nobody has asked for a while.

It holds a lock for as long as it lives and says in a file where it listens. Which mind it is and who starts it is
not its business.
"""

from __future__ import annotations

import os
import secrets
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gemchat.atomic import private_directory, write_atomically
from gemchat.core.model import Usage, Value
from gemchat.local.mind import Mind, Prompt
from gemchat.local.server import Exchange, LoopbackServer

IDLE_SECONDS = 600.0
_POLL_SECONDS = 0.25
_SIGN_OF_LIFE_SECONDS = 1.0
_TAKEOVER_SECONDS = 10.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Record(Value, frozen=True):
    """How to reach a server, nowhere while it still loads. `serves` tells servers of different models apart."""

    pid: int
    serves: str
    url: str = ""
    token: str = ""
    name: str = ""


class Place(Value, frozen=True):
    """The files of one user's server. What somebody else may have put there is not believed."""

    directory: Path

    @property
    def record(self) -> Path:
        return self.directory / "server.json"

    @property
    def alive(self) -> Path:
        """Locked while a server lives: the system unlocks it however it ends."""
        return self.directory / "server.lock"

    @property
    def starting(self) -> Path:
        return self.directory / "start.lock"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def is_private(self) -> bool:
        status = self.directory.stat()
        return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE

    def read(self) -> Record | None:
        try:
            return msgspec.json.decode(self.record.read_bytes(), type=Record) if self.is_private else None
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, record: Record) -> None:
        write_atomically(self.record, msgspec.json.encode(record), mode=0o600)


class Turnstile:
    """Lets one answer through at a time; those who wait are given signs of life. Knows when it was last used."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        self._slot = threading.Lock()
        self._lock = threading.Lock()
        self._inside = 0
        self._since = time.monotonic()

    @property
    def name(self) -> str:
        return self._mind.name

    @property
    def idle(self) -> float:
        """For how many seconds nobody has asked or been answered."""
        with self._lock:
            return 0.0 if self._inside else time.monotonic() - self._since

    def noticed(self, _: Exchange | None = None) -> None:
        with self._lock:
            self._since = time.monotonic()

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        self._enter(1)
        try:
            while not self._slot.acquire(timeout=_SIGN_OF_LIFE_SECONDS):
                yield ""
            try:
                yield from self._mind.answer(prompt)
            finally:
                self._slot.release()
        finally:
            self._enter(-1)

    def _enter(self, step: int) -> None:
        with self._lock:
            self._inside += step
            self._since = time.monotonic()


def serve(make: Callable[[], Mind], place: Place, serves: str, idle: float = IDLE_SECONDS) -> None:
    """Serves until it was idle for so long, is told to stop, or its record is gone or another's.

    The record is there before the mind is made, so that also a server that still loads can be stopped.
    """
    from filelock import FileLock

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    private_directory(place.directory)
    with FileLock(place.alive, timeout=_TAKEOVER_SECONDS):
        record = Record(pid=os.getpid(), serves=serves)
        place.write(record)
        try:
            turnstile = Turnstile(make())
            if not stop.is_set() and place.read() == record:
                _serve(turnstile, place, record, lambda: stop.wait(_POLL_SECONDS) or turnstile.idle >= idle)
        finally:
            found = place.read()
            if found is not None and found.pid == record.pid:
                place.record.unlink(missing_ok=True)


def _serve(turnstile: Turnstile, place: Place, record: Record, done: Callable[[], bool]) -> None:
    token = secrets.token_urlsafe(32)
    with LoopbackServer(turnstile, token=token, on_request=turnstile.noticed) as server:
        reachable = replace(record, url=server.url, token=token, name=turnstile.name)
        place.write(reachable)
        turnstile.noticed()
        while not done() and place.read() == reachable:
            pass
