"""Reads an event stream to its very end, so that its connection can be used again.

The SDK stops at the mark after the last event and hangs up, a few bytes before the end of the answer. The HTTP
library is imported here, so this module is imported only where a client is built.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from threading import Timer
from typing import Any

import httpx2

_MARK = b"[DONE]"
_PIECES = 8  # after the mark nothing is due but the end; who sends more is hung up on
_PATIENCE = 1.0  # seconds for all of it: a new connection is made in less


class ReadToTheEnd(httpx2.SyncByteStream):
    """If the end has not come `patience` seconds after the mark, `hang_up` is called in another thread.

    It has to end the reading: the library's own timeout is that of the request, and begins anew with each piece.
    """

    def __init__(
        self, inner: httpx2.SyncByteStream, hang_up: Callable[[], None], patience: float = _PATIENCE
    ) -> None:
        self._inner = inner
        self._pieces = iter(inner)
        self._tail = b""
        self._hang_up = hang_up
        self._patience = patience

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._tail = (self._tail + piece)[-2 * len(_MARK) :]
            yield piece

    def close(self) -> None:
        try:
            if self._tail.rstrip().endswith(_MARK):
                self._read_the_rest()
        finally:
            self._inner.close()

    def _read_the_rest(self) -> None:
        timer = Timer(self._patience, self._hang_up)
        timer.daemon = True
        timer.start()
        try:
            with suppress(httpx2.HTTPError):  # the answer is there; only the connection is lost
                list(islice(self._pieces, _PIECES))
        finally:
            timer.cancel()


def read_to_the_end(response: httpx2.Response) -> None:
    """A hook for responses that have just begun."""
    network = response.extensions.get("network_stream")
    if network is not None and isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = ReadToTheEnd(response.stream, partial(_hang_up, network))


def _hang_up(network: Any) -> None:
    with suppress(OSError):  # it is closed already
        # The method of plain sockets: that of TLS takes itself apart while another thread reads from it.
        socket.socket.shutdown(network.get_extra_info("socket"), socket.SHUT_RDWR)
