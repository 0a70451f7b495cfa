"""The HTTP side of the loopback Gemini: addresses, keys, streaming, errors in Google's shape.

It listens on 127.0.0.1 only and prints nothing: what goes wrong is told to the client. What the calls mean is the
business of `interactions` and `generate`.
"""

from __future__ import annotations

import hmac
import re
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from gemchat.core.contents import to_json
from gemchat.core.model import Value
from gemchat.local.answer import Desk
from gemchat.local.generate import Generate
from gemchat.local.interactions import Interactions
from gemchat.local.mind import Mind, Refusal

_POLL_SECONDS = 0.02
_CLOSE_SECONDS = 2.0
_LONGEST_BODY = 64 * 1024 * 1024  # read before the key is looked at

Events: TypeAlias = Generator[str, None, None]
Query: TypeAlias = dict[str, str]
Result: TypeAlias = dict[str, Any] | Events
Route: TypeAlias = tuple[str, re.Pattern[str], Callable[[str, bytes, Query], Result]]


class Exchange(Value, frozen=True):
    """One request as it came, and the status it was answered with."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int


class LoopbackServer:
    """Serves from construction to `close`. Calls run in parallel, one thread per connection."""

    def __init__(
        self,
        mind: Mind,
        *,
        token: str | None = None,
        clock: Callable[[], float] = time.time,
        on_request: Callable[[Exchange], None] | None = None,
        port: int = 0,
    ) -> None:
        desk = Desk(mind, clock)
        self._interactions = Interactions(desk)
        routes = _routes(self._interactions, Generate(desk))
        self._server = _Server(port, routes, token, on_request or _ignore)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="gemchat-loopback", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def forget(self) -> None:
        """Drops all stored interactions, as the service does when they expire."""
        self._interactions.forget()

    def close(self) -> None:
        """Stops listening and hangs up on everyone. Closing twice does no harm."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ignore(exchange: Exchange) -> None:
    """What happens to an exchange nobody wants to see."""


def _routes(interactions: Interactions, generate: Generate) -> list[Route]:
    def get(name: str, _: bytes, query: Query) -> Result:
        if query.get("stream") == "true":
            raise Refusal("A stored interaction is not streamed here.")
        return interactions.get(name, include_input=query.get("include_input") == "true")

    def stream(model: str, body: bytes, query: Query) -> Result:
        if query.get("alt") != "sse":
            raise Refusal("Streams are served with 'alt=sse' only.")
        return generate.stream(model, body)

    return [
        _route("POST", "/interactions()", lambda _, body, __: interactions.create(body)),
        _route("GET", "/interactions/([^/]+)", get),
        _route("DELETE", "/interactions/([^/]+)", lambda name, _, __: interactions.delete(name)),
        _route("GET", "/models()", lambda *_: generate.models()),
        _route("GET", "/models/([^/:]+)", lambda name, _, __: generate.model(name)),
        _route("POST", "/models/([^/:]+):generateContent", lambda name, body, _: generate.generate(name, body)),
        _route("POST", "/models/([^/:]+):streamGenerateContent", stream),
        _route("POST", "/models/([^/:]+):countTokens", lambda name, body, _: generate.count_tokens(name, body)),
    ]


def _route(method: str, pattern: str, serve: Callable[[str, bytes, Query], Result]) -> Route:
    return method, re.compile(f"/v1(?:beta)?{pattern}"), serve


class _Server(ThreadingHTTPServer):
    def __init__(
        self, port: int, routes: list[Route], token: str | None, on_request: Callable[[Exchange], None]
    ) -> None:
        self.routes = routes
        self.token = token
        self.on_request = on_request
        self._open: dict[threading.Thread, socket] = {}
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Like the base class, but keeps track: a connection that idles must not outlive the server."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), name="gemchat-call", daemon=True
        )
        self._open[thread] = request
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._open[threading.current_thread()]

    def hang_up(self) -> None:
        for thread, connection in list(self._open.items()):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)
            thread.join(_CLOSE_SECONDS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reached only when the client has hung up: whatever else goes wrong is answered."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = default_request_version = "HTTP/1.1"
    server_version = "gemchat-loopback"
    sys_version = ""
    disable_nagle_algorithm = True
    _body = b""

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the inherited name
        """Says nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class finds wrong with a request, in Google's shape."""
        self.close_connection = True
        self._send_json(code, Refusal(message or explain or "Bad request.", code).body)

    def _serve(self) -> None:
        try:
            self._body = self._read_body()
            self._check_key()
            result = self._dispatch()
        except Refusal as refusal:
            self._answer(refusal.code, refusal.body)
        except msgspec.DecodeError as error:
            self._answer(400, Refusal(f"Invalid JSON payload received. {error}").body)
        except Exception as error:  # noqa: BLE001  a defect must reach the client, there is no other place
            defect = Refusal(f"Internal error: {type(error).__name__}: {error}", 500, "INTERNAL")
            self._answer(defect.code, defect.body)
        else:
            self._answer(200, result)

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.close_connection = True
            raise Refusal("A body needs a 'Content-Length'.", 411)
        if int(length) > _LONGEST_BODY:
            self.close_connection = True
            raise Refusal("The body is too long.", 413)
        return self.rfile.read(int(length))

    def _check_key(self) -> None:
        key = self.headers.get("x-goog-api-key")
        if not key:
            raise Refusal("No API key was sent.", 401, "UNAUTHENTICATED")
        token = self.server.token
        if token is not None and not hmac.compare_digest(key.encode(), token.encode()):
            raise Refusal("The API key is not valid.", 403, "PERMISSION_DENIED")

    def _dispatch(self) -> Result:
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        for method, pattern, serve in self.server.routes:
            found = pattern.fullmatch(address.path) if method == self.command else None
            if found:
                return serve(unquote(found[1]), self._body, query)
        raise Refusal(f"{self.command} {address.path} was not found.", 404, "NOT_FOUND")

    def _answer(self, status: int, result: Result) -> None:
        self.server.on_request(
            Exchange(
                method=self.command,
                path=self.path,
                headers=dict(self.headers.items()),
                body=self._body,
                status=status,
            )
        )
        if isinstance(result, dict):
            self._send_json(status, result)
        else:
            self._send_events(result)

    def _send_json(self, status: int, value: dict[str, Any]) -> None:
        data = to_json(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send_events(self, events: Events) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with closing(events):
            for event in events:
                data = event.encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")
