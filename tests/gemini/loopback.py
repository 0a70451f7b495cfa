"""A scripted service on 127.0.0.1: it records every request and gives the answers that were enqueued, in order.

An answer is a status, headers and the pieces of a body; an event stream is an answer whose pieces arrive one by
one. `delay` is before all of it, `pause` after each piece, in seconds. `after` says how the body ends: properly,
by cutting the connection, or by holding it open; status 0 is no answer at all. What the bodies mean is the tests'
business.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Literal, Self

from msgspec import Struct


class Answer(Struct, frozen=True):
    pieces: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = MappingProxyType({})
    after: Literal["end", "cut", "hold"] = "end"
    chunked: bool = False
    delay: float = 0.0
    pause: float = 0.0


def as_json(value: object, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer((json.dumps(value).encode(),), status, headers=named)


def as_events(events: Iterable[object], after: Literal["end", "cut", "hold"] = "end") -> Answer:
    """An event stream; an event given as bytes is sent as its data, whatever it is."""
    data = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    pieces = tuple(b"data: " + one + b"\n\n" for one in data)
    return Answer(pieces, content_type="text/event-stream", after=after, chunked=True)


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about; nothing is printed for it."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Service:
    """Use as a context manager; `url` is its base URL and `seen` what it was asked."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.released = threading.Event()
        self.holding = threading.Event()
        self.closed_by_client = threading.Event()
        self._answers: deque[Answer] = deque()
        service = self

        class Handler(_Handler):
            def next_answer(self, seen: Seen) -> Answer:
                return service.take(seen)

            def hold(self) -> None:
                service.hold(self.connection)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def enqueue(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    def forget(self) -> None:
        """Whatever was seen, and answers that nobody asked for."""
        self.seen.clear()
        self._answers.clear()

    def take(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        return self._answers.popleft() if self._answers else as_json({"error": {"message": "no answer"}}, 599)

    def hold(self, connection: socket.socket) -> None:
        """Keeps an unfinished answer open until the client hangs up or the test is over."""
        connection.settimeout(0.02)
        self.holding.set()
        while not self.released.is_set():
            try:
                if not connection.recv(1):
                    self.closed_by_client.set()
                    return
            except TimeoutError:
                continue
            except OSError:
                self.closed_by_client.set()
                return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def next_answer(self, seen: Seen) -> Answer:
        raise NotImplementedError

    def hold(self) -> None:
        raise NotImplementedError

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Says nothing: the tests assert that nothing is printed."""

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_form = "urlencoded" in (self.headers.get("Content-Type") or "")
        body = raw.decode() if is_form else json.loads(raw) if raw else None
        answer = self.next_answer(Seen(self.command, self.path, dict(self.headers.items()), body))
        time.sleep(answer.delay)
        if answer.status:
            self._send(answer)
        self._finish(answer)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, text in answer.headers.items():
            self.send_header(name, text)
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(sum(map(len, answer.pieces)) + (answer.after != "end")))
        self.end_headers()
        for piece in answer.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if answer.chunked else piece)
            self.wfile.flush()
            time.sleep(answer.pause)

    def _finish(self, answer: Answer) -> None:
        if answer.after == "end":
            self.wfile.write(b"0\r\n\r\n" if answer.chunked else b"")
            return
        if answer.after == "hold":
            self.hold()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    do_POST = answer  # noqa: N815 - the names are the base class's
    do_DELETE = answer  # noqa: N815
