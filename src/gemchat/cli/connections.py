"""Connections to the service: one for each use, or kept open for a process that has several turns.

Also imports the SDK in the background. How a connection is made is the caller's business.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gemchat.gemini import ContentsTransport, InteractionsTransport

    Gemini: TypeAlias = InteractionsTransport | ContentsTransport


class Connections:
    """Opened for each use and closed after it."""

    def open(
        self, connect: Callable[..., Gemini], *arguments: Hashable, **options: Hashable
    ) -> AbstractContextManager[Gemini]:
        return connect(*arguments, **options)


def _load() -> None:
    """What goes wrong is said by the turn that needs the SDK."""
    with suppress(Exception):
        from gemchat.gemini import load

        load()


class KeptConnections(Connections):
    """One of each kind is kept, until `close`: whoever connects in the same way again gets it.

    Not if its last use failed. With other options, such as another server's address and key, it is replaced.
    """

    def __init__(self, load: Callable[[], None] = _load) -> None:
        self._load = load
        self._idle: dict[Hashable, tuple[Mapping[str, Hashable], Gemini]] = {}
        self._loading: threading.Thread | None = None

    def load(self) -> None:
        """Begins to import the SDK, and returns at once. Further calls do nothing."""
        if self._loading is None:
            self._loading = threading.Thread(target=self._load, name="gemchat-load", daemon=True)
            self._loading.start()

    @contextmanager
    def open(self, connect: Callable[..., Gemini], *arguments: Hashable, **options: Hashable) -> Iterator[Gemini]:
        if self._loading is not None:
            self._loading.join()  # two threads in the middle of the same imports can see half of a module
        kind = (connect, arguments)
        used, connection = self._idle.pop(kind, (options, None))
        if connection is not None and used != options:
            connection.close()
            connection = None
        connection = connection or connect(*arguments, **options)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle[kind] = (options, connection)

    def close(self) -> None:
        while self._idle:
            _, (_, connection) = self._idle.popitem()
            connection.close()
