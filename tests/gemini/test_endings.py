"""What is read of an event stream after its last event."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx2
import pytest
from msgspec.structs import replace

from gemchat.gemini.endings import ReadToTheEnd

from .conftest import Open
from .loopback import Service, as_events
from .script import REQUEST, collect, events


class Pieces(httpx2.SyncByteStream):
    """Pieces of a body, an exception among them, and how many were taken."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces
        self.taken = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


def never() -> None:
    raise AssertionError("nobody was to be hung up on")


@pytest.mark.parametrize(
    "begun",
    [(b"data: 1\n\ndata: [DONE]\n\n",), (b"data: 1\n\ndata: [DO", b"NE]\n\n"), (b"data:[DONE]\r\n\r", b"\n")],
)
def test_after_the_mark_the_rest_is_read(begun: tuple[bytes, ...]) -> None:
    pieces = Pieces(*begun, b"", b"")
    stream = ReadToTheEnd(pieces, never)
    reading = iter(stream)
    assert [next(reading) for _ in begun] == list(begun)
    stream.close()
    assert pieces.taken == len(begun) + 2
    assert pieces.closed


def test_an_answer_that_is_given_up_is_not_read() -> None:
    pieces = Pieces(b"data: [DONE] said the model\n\n", b"more", b"more")
    stream = ReadToTheEnd(pieces, never)
    next(iter(stream))
    stream.close()
    assert (pieces.taken, pieces.closed) == (1, True)


def test_who_sends_more_and_more_is_hung_up_on() -> None:
    pieces = Pieces(b"data: [DONE]\n\n", *[b": still here\n\n"] * 1000)
    stream = ReadToTheEnd(pieces, never)
    next(iter(stream))
    stream.close()
    assert pieces.taken < 20
    assert pieces.closed


def test_what_goes_wrong_after_the_mark_does_not_matter() -> None:
    pieces = Pieces(b"data: [DONE]\n\n", httpx2.ReadError("cut"))
    stream = ReadToTheEnd(pieces, never)
    next(iter(stream))
    stream.close()
    assert (pieces.taken, pieces.closed) == (2, True)


def test_who_says_nothing_more_is_hung_up_on() -> None:
    hung_up = threading.Event()

    class Silent(Pieces):
        def __iter__(self) -> Iterator[bytes]:
            yield b"data: [DONE]\n\n"
            assert hung_up.wait(30), "it would be waited for"

    silent = Silent()
    stream = ReadToTheEnd(silent, hung_up.set, patience=0.01)
    next(iter(stream))
    stream.close()
    assert silent.closed


@pytest.mark.timeout(60)
def test_an_answer_whose_end_does_not_come_is_complete(service: Service, open_transport: Open) -> None:
    answer = as_events(events("ok"), after="hold")
    alive = replace(answer, pieces=(*answer.pieces, b": still here\n\n"))
    service.enqueue(alive, as_events(events("again")))
    transport = open_transport("interactions", idle_timeout=300.0)
    assert collect(transport, REQUEST)[0] == ["ok"]
    assert service.closed_by_client.wait(20)
    assert collect(transport, REQUEST)[0] == ["again"]
