"""One connection for many turns: opened ahead of the first one, and anew after an error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType

from gemchat.core.model import Transport


@dataclass
class KeptOpen:
    """A connection that stays open when a turn is left, unless by an error. `close` it at the end."""

    connect: Callable[[], AbstractContextManager[Transport]]
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)
    _transport: Transport | None = field(default=None, repr=False)
    _opening: threading.Thread | None = field(default=None, repr=False)

    def open_ahead(self) -> None:
        """Opens it in the background. What fails there is tried again, and told, by the first turn."""
        self._opening = threading.Thread(target=self._try_to_open, daemon=True)
        self._opening.start()

    def close(self) -> None:
        self._opened_ahead()
        self._transport = None
        self._stack.close()

    def __enter__(self) -> Transport:
        self._opened_ahead()
        return self._open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.close()

    def _opened_ahead(self) -> None:
        """Waits; a thread that still loads modules when the process ends would bring it down."""
        if self._opening is not None:
            self._opening.join()
            self._opening = None

    def _open(self) -> Transport:
        if self._transport is None:
            self._transport = self._stack.enter_context(self.connect())
        return self._transport

    def _try_to_open(self) -> None:
        with suppress(Exception):
            self._open()
