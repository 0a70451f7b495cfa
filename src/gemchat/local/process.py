"""The server process from the outside: finds the user's running server, starts one where there is none, stops it.

A server is known by its record and believed only if it answers with the right token. One that was killed, belongs
to another model, does not answer or was left loading is replaced. Two commands that start at once share one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

from gemchat.atomic import private_directory
from gemchat.core.contents import to_json
from gemchat.errors import ConfigError, Unavailable
from gemchat.local.choice import Choice
from gemchat.local.serve import IDLE_SECONDS, Place, Record

_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 5.0
_ANSWER_TRIES = 3
_STOP_SECONDS = 2.0

Waiting = Callable[[], None]


def command(chosen: Choice, place: Place, idle: float = IDLE_SECONDS) -> list[str]:
    """How the server of a model is started."""
    given = {"--model": chosen.path, "--url": chosen.url, "--window": str(chosen.window)}
    options = [word for name, value in given.items() if value for word in (name, value)]
    return [
        sys.executable, "-m", "gemchat.local", "--directory", str(place.directory), "--idle", str(idle), *options
    ]  # fmt: skip


def identity(chosen: Choice) -> str:
    """What a server is started for: another file, address, window or release of gemchat needs another server."""
    from gemchat import __version__

    return to_json([__version__, chosen.path, chosen.url, chosen.window])


def running(place: Place) -> Record | None:
    """The server that is there and answers."""
    record = place.read()
    return record if record is not None and _answers(record) else None


def ensure(
    place: Place,
    serves: str,
    start: Sequence[str],
    waiting: Waiting = lambda: None,
    environ: Mapping[str, str] = os.environ,
) -> Record:
    """A server for `serves`. `waiting` is called, again and again, while one is being started."""
    found = running(place)
    if found is not None and found.serves == serves:
        return found
    from filelock import FileLock, Timeout

    if not Place(directory=private_directory(place.directory)).is_private:
        raise ConfigError(
            f"others can write to {place.directory}, where the local model's server says how to reach it",
            f"Make it yours alone: chmod 700 {place.directory}",
        )
    while True:
        waiting()
        with suppress(Timeout), FileLock(place.starting, timeout=_POLL_SECONDS):
            found = running(place)
            if found is None or found.serves != serves:
                stop(place)
                found = _started(place, start, waiting, environ)
            return found


def stop(place: Place) -> bool:
    """Ends the user's server, whether it answers or still loads; returns whether there was one.

    A server leaves when its record is gone. Only one that does not leave is sent signals, and only while somebody
    holds the lock of the living: a recycled process id is not mistaken for it.
    """
    lives, record = _lives(place), place.read()
    place.record.unlink(missing_ok=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if record is None or _ended(place):
            break
        with suppress(OSError):
            os.kill(record.pid, number)
    _ended(place)
    return lives


def _started(place: Place, start: Sequence[str], waiting: Waiting, environ: Mapping[str, str]) -> Record:
    """Whoever stops waiting stops the start."""
    descriptor = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with closing(os.fdopen(descriptor, "wb")) as log:
        process = subprocess.Popen(  # noqa: S603  gemchat itself
            start, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place.directory,
            env=_environment(environ), start_new_session=True,
        )  # fmt: skip
    try:
        while process.poll() is None:
            record = place.read()
            if record is not None and record.pid == process.pid and _answers(record):
                process.returncode = 0  # it outlives this process on purpose
                return record
            waiting()
            time.sleep(_POLL_SECONDS)
    except BaseException:
        process.kill()
        process.wait()
        raise
    raise Unavailable(f"the local model could not be started: {_last_line(place.log)}", f"Its log: {place.log}")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Without keys, which the server does not need. Threads that spin while they wait starve on a busy machine."""
    kept = {name: value for name, value in environ.items() if not name.startswith(("GEMINI_", "GOOGLE_"))}
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        kept.setdefault("OMP_WAIT_POLICY", "passive")
    return kept


def _answers(record: Record) -> bool:
    from http.client import HTTPConnection, HTTPException

    address = urlsplit(record.url)
    if not address.hostname:
        return False
    for _ in range(_ANSWER_TRIES):
        with closing(HTTPConnection(address.hostname, address.port, timeout=_ANSWER_SECONDS)) as connection:
            try:
                connection.request("GET", "/v1/models", headers={"x-goog-api-key": record.token})
                return connection.getresponse().status == 200
            except TimeoutError:
                continue
            except (OSError, HTTPException):
                return False
    return False


def _lives(place: Place) -> bool:
    from filelock import FileLock, Timeout

    if not place.directory.is_dir():
        return False
    try:
        with FileLock(place.alive, timeout=0):
            return False
    except Timeout:
        return True


def _ended(place: Place) -> bool:
    until = time.monotonic() + _STOP_SECONDS
    while _lives(place):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a word"
