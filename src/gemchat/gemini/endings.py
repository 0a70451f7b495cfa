"""Reads an event stream to its very end, so that its connection can be used again.

The SDK stops at the mark after the last event and hangs up, a few bytes before the end of the answer. The HTTP
library is imported here, so this module is imported only where a client is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import httpx2

_MARK = b"[DONE]"
_PIECES = 8  # after the mark nothing is due but the end; who sends more is hung up on


class ReadToTheEnd(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream) -> None:
        self._inner = inner
        self._pieces = iter(inner)
        self._tail = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._tail = (self._tail + piece)[-2 * len(_MARK) :]
            yield piece

    def close(self) -> None:
        try:
            if self._tail.rstrip().endswith(_MARK):
                with suppress(httpx2.HTTPError):  # the answer is there; only the connection is lost
                    list(islice(self._pieces, _PIECES))
        finally:
            self._inner.close()


def read_to_the_end(response: httpx2.Response) -> None:
    """A hook for responses that have just begun."""
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = ReadToTheEnd(response.stream)
