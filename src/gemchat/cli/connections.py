"""Connections to the service: one for each use, or kept open for a process that has several turns.

Also imports the SDK in the background. How a connection is made is the caller's business.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
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
    """Kept until `close`: whoever connects in the same way again gets the same one, unless its last use failed."""

    def __init__(self, load: Callable[[], None] = _load) -> None:
        self._load = load
        self._idle: dict[Hashable, Gemini] = {}
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
        way = (connect, arguments, frozenset(options.items()))
        connection = self._idle.pop(way, None) or connect(*arguments, **options)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle[way] = connection

    def close(self) -> None:
        while self._idle:
            self._idle.popitem()[1].close()
