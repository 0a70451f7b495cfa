"""The HTTP side, spoken to over plain sockets: what the SDK does not do, or does not show."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gemchat.core.model import Usage
from gemchat.local.mind import Prompt
from gemchat.local.server import Exchange, LoopbackServer
from tests.local.conftest import Connect, ScriptedMind

KEY = {"x-goog-api-key": "k"}
HELLO = {"model": "m", "input": "hello"}
TEXT = {"type": "text", "text": "a"}
STEP = {"type": "user_input", "content": [TEXT]}


def call(
    server: LoopbackServer, method: str, path: str, body: object = None, headers: dict[str, str] = KEY
) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection(address(server)[0], address(server)[1], timeout=5)
    try:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        kind, content = response.headers["Content-Type"], response.read()
    finally:
        connection.close()
    return response.status, kind, json.loads(content) if kind == "application/json" else content


def address(server: LoopbackServer) -> tuple[str, int]:
    url = urlsplit(server.url)
    assert url.hostname
    assert url.port
    return url.hostname, url.port


def test_it_listens_on_this_machine_only(server: LoopbackServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")


def test_a_port_can_be_chosen(mind: ScriptedMind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    with LoopbackServer(mind, port=free) as running:
        assert running.url.endswith(f":{free}")
        with pytest.raises(OSError, match="in use"):
            LoopbackServer(mind, port=free)


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_both_versions_are_served_alike(server: LoopbackServer, connect: Connect, version: str) -> None:
    client: Any = connect(server, version=version)
    first = client.interactions.create(model="m", input="one")
    assert client.interactions.get(first.id).output_text == first.output_text
    assert client.models.generate_content(model="m", contents="one").text == first.output_text


def test_events_are_framed_as_the_service_does(server: LoopbackServer) -> None:
    status, kind, body = call(server, "POST", "/v1/interactions", {**HELLO, "stream": True})
    assert (status, kind) == (200, "text/event-stream")
    events = body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    for event in events[:-2]:
        name, data = event.split("\n")
        assert name == f"event: {json.loads(data.removeprefix('data: '))['event_type']}"
    contents = {"contents": [{"parts": [{"text": "hello"}]}]}
    status, kind, body = call(server, "POST", "/v1/models/m:streamGenerateContent?alt=sse", contents)
    assert (status, kind) == (200, "text/event-stream")
    assert all(json.loads(chunk.removeprefix(b"data: ")) for chunk in body.split(b"\r\n\r\n")[:-1])


@pytest.mark.parametrize("several", [False, True])
def test_bare_texts_are_one_message(server: LoopbackServer, mind: ScriptedMind, several: bool) -> None:
    texts = [TEXT, {"type": "text", "text": "b"}]
    status, _, _ = call(
        server, "POST", "/v1/interactions", {"model": "m", "input": texts if several else texts[0]}
    )
    assert status == 200
    (message,) = mind.prompts[0].messages
    assert message.parts == (("a", "b") if several else ("a",))


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/", None, 404, "GET / was not found."),
        ("GET", "/v2/models", None, 404, "/v2/models"),
        ("POST", "/v1/models/m:dance", {}, 404, "dance"),
        ("GET", "/v1/interactions", None, 404, "/v1/interactions"),
        ("GET", "/v1/interactions/v1_x", None, 404, "'v1_x'"),
        ("GET", "/v1/interactions/..%2Fmodels", None, 404, "'../models'"),
        ("POST", "/v1/interactions", b"{", 400, "Invalid JSON payload received."),
        ("POST", "/v1/interactions", None, 400, "Invalid JSON payload received."),
        ("POST", "/v1/interactions", b'{"model":"m","input":"\xff"}', 400, "Invalid JSON payload received."),
        ("POST", "/v1/interactions", {"input": "x"}, 400, "`model`"),
        ("POST", "/v1/interactions", {"model": "m"}, 400, "`input`"),
        ("POST", "/v1/interactions", {"model": "m", "input": 7}, 400, "$.input"),
        ("POST", "/v1/interactions", {"model": "m", "input": [TEXT, STEP]}, 400, "'input'"),
        ("POST", "/v1/models/m:generateContent", {}, 400, "`contents`"),
        ("POST", "/v1/models/m:generateContent", {"contents": []}, 400, "'contents'"),
        ("POST", "/v1/models/m:streamGenerateContent", {"contents": []}, 400, "'alt=sse'"),
        ("POST", "/v1/models/m:countTokens", b"[]", 400, "Expected `object`"),
        ("PUT", "/v1/interactions", {}, 501, "PUT"),
    ],
)
def test_errors_have_googles_shape(
    server: LoopbackServer, method: str, path: str, body: object, status: int, says: str
) -> None:
    code, kind, answer = call(server, method, path, body)
    assert (code, kind) == (status, "application/json")
    assert answer["error"]["code"] == status
    assert says in answer["error"]["message"]
    assert answer["error"]["status"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-goog-api-key": ""}, 401),
        ({"x-goog-api-key": "wrong"}, 403),
        ({"x-goog-api-key": "right"}, 200),
    ],
)
def test_a_token_is_asked_for(mind: ScriptedMind, headers: dict[str, str], status: int) -> None:
    with LoopbackServer(mind, token="right") as running:
        assert call(running, "POST", "/v1/interactions", HELLO, headers)[0] == status
        assert len(mind.prompts) == (status == 200)


def test_without_a_token_any_key_will_do_but_none(server: LoopbackServer) -> None:
    assert call(server, "GET", "/v1/models")[0] == 200
    assert call(server, "GET", "/v1/models", headers={})[0] == 401


def test_a_body_without_an_end_is_refused_before_it_is_read(server: LoopbackServer) -> None:
    assert call(server, "POST", "/v1/interactions", b"", {**KEY, "Content-Length": str(10**12)})[0] == 413


def test_a_body_of_unknown_length_is_refused(server: LoopbackServer) -> None:
    for headers in ({"Transfer-Encoding": "chunked"}, {"Content-Length": "-1"}):
        assert call(server, "POST", "/v1/interactions", b"", {**KEY, **headers})[0] == 411


def test_a_request_that_is_none_is_answered_too(server: LoopbackServer) -> None:
    with socket.create_connection(address(server), timeout=5) as connection:
        connection.sendall(b"GET /v1/models HTTP/nonsense\r\n\r\n")
        answer = connection.makefile("rb").read()
    assert b"400" in answer.split(b"\r\n")[0]
    assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]["status"] == "INVALID_ARGUMENT"


def test_every_request_is_shown_with_its_bytes(mind: ScriptedMind) -> None:
    seen: list[Exchange] = []
    with LoopbackServer(mind, on_request=seen.append) as running:
        call(running, "POST", "/v1/interactions", HELLO)
        call(running, "GET", "/nowhere?a=b", headers={})
    assert [(one.method, one.path, one.status) for one in seen] == [
        ("POST", "/v1/interactions", 200),
        ("GET", "/nowhere?a=b", 401),
    ]
    assert json.loads(seen[0].body) == HELLO
    assert seen[0].headers["x-goog-api-key"] == "k"


class Gate:
    """A mind that says one word and then waits."""

    name = "gate"

    def __init__(self) -> None:
        self.open = threading.Event()
        self.left = threading.Event()

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        try:
            yield "first "
            assert self.open.wait(5)
            while prompt.system != "once":
                yield "more "
            yield "last"
        finally:
            self.left.set()


def test_answers_stream_at_the_same_time(connect: Connect) -> None:
    gate = Gate()
    with LoopbackServer(gate) as running:
        client: Any = connect(running)
        calls = [
            client.models.generate_content_stream(model="m", contents="x", config={"system_instruction": "once"})
            for _ in range(3)
        ]
        assert [next(stream).text for stream in calls] == ["first "] * 3
        gate.open.set()
        assert ["".join(chunk.text for chunk in stream) for stream in calls] == ["last"] * 3


def test_hanging_up_ends_the_answer_quietly(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    gate = Gate()
    with LoopbackServer(gate) as running:
        client: Any = connect(running)
        with client.interactions.create(model="m", input="x", stream=True) as stream:
            name = next(iter(stream)).interaction.id
        gate.open.set()
        assert gate.left.wait(5), "the mind is told"
        assert call(running, "GET", f"/v1/interactions/{name}")[0] == 404
    assert capfd.readouterr() == ("", "")


def test_closing_ends_connections_that_idle(mind: ScriptedMind) -> None:
    before = threading.active_count()
    running = LoopbackServer(mind)
    with socket.create_connection(address(running), timeout=5) as connection, connection.makefile("rb") as answer:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nx-goog-api-key: k\r\n\r\n")
        head = iter(answer.readline, b"\r\n")
        (length,) = (int(line.split(b":")[1]) for line in head if line.startswith(b"Content-Length"))
        assert len(answer.read(length)) == length
        running.close()
        running.close()
        assert answer.read() == b""
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(running), timeout=5)


def test_a_defect_is_answered_and_the_server_goes_on(connect: Connect) -> None:
    def broken() -> float:
        return float("nan")

    with LoopbackServer(ScriptedMind(), clock=broken) as running:
        status, _, answer = call(running, "POST", "/v1/interactions", HELLO)
        assert (status, answer["error"]["status"]) == (500, "INTERNAL")
        assert call(running, "GET", "/v1/models")[0] == 200
