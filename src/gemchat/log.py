"""gemchat.log in the state directory: tracebacks of bugs, and a line about each request.

A line says when, to which model, how much and with what result: no prompt, no path, no text of a file or reply.
Two files of limited size are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gemchat.atomic import private_directory
from gemchat.core.media import message_bytes
from gemchat.core.model import Backend, Event, Reply, Request, Transport

LIMIT = 500_000  # bytes, after which a new file is begun


class Log(NamedTuple):
    path: Path
    clock: Callable[[], float]

    def write(self, text: str) -> None:
        """Raises OSError."""
        private_directory(self.path.parent)
        if self.path.exists() and self.path.stat().st_size > LIMIT:
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            at = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")
            os.write(descriptor, f"{at} {text.rstrip()}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)


@contextmanager
def logged(connection: AbstractContextManager[Transport], backend: Backend, log: Log) -> Iterator[Transport]:
    """The same connection; each request through it leaves a line in the log, if that can be written."""
    with connection as transport:
        yield _Logged(transport, backend, log)


class _Logged:
    def __init__(self, transport: Transport, backend: Backend, log: Log) -> None:
        self._transport = transport
        self._backend = backend
        self._log = log

    def send(self, request: Request) -> Iterator[Event]:
        result = "abandoned"
        try:
            for event in self._transport.send(request):
                if isinstance(event, Reply):
                    used = event.usage
                    result = f"complete, {used.input} tokens in ({used.cached} cached), {used.output} out"
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            result = type(error).__name__
            raise
        finally:
            with suppress(OSError):
                self._log.write(f"{self._outline(request)}: {result}")

    def _outline(self, request: Request) -> str:
        size = sum(map(message_bytes, request.messages))
        return f"{self._backend} {request.model!r} {len(request.messages)} messages, {size} bytes"
