"""Whatever the service sends, the SDK and gemchat make of it a complete answer or a documented error."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gemchat.core.model import Backend, Event, Reply, Thought
from gemchat.errors import NoUsableReply, RejectedKey, RequestRefused, Unavailable

from .conftest import AnyTransport, Open
from .loopback import Answer, Service, as_events, as_json
from .script import REQUEST, assert_fit_to_show, chunk, chunks, events, interaction

DOCUMENTED = (Unavailable, RequestRefused, RejectedKey, NoUsableReply)
BACKENDS: tuple[Backend, ...] = ("interactions", "contents")

strange = ["", "\ud800", "\x1b[2J", "a\nb", "\u2028", "../x", "v1_b", "503", "STOP", "OTHER"]
known = ["text", "type", "error", "id", "completed", "failed", "model_output", "thought"]
events_known = ["interaction.completed", "step.delta", "step.start"]
words = st.sampled_from([*strange, *known, *events_known])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | words | st.text(max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=8
)


def places(value: object, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything inside a JSON value, itself included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def changed(value: Any, at: tuple[Any, ...], new: object) -> Any:
    if not at:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[at[0]] = changed(copied[at[0]], at[1:], new)
    return copied


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value with some of its parts replaced by others."""
    for _ in range(draw(st.integers(1, 3))):
        value = changed(value, draw(st.sampled_from(places(value))), draw(values))
    return value


@st.composite
def damaged_streams(draw: st.DrawFn, good: list[object]) -> Answer:
    """A good stream with events damaged, lost, doubled, out of order, or foreign to it."""
    stream = list(good)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(stream) - 1)) if stream else 0
        how = draw(st.sampled_from(["damage", "drop", "double", "insert", "bytes"]))
        if how == "insert" or not stream:
            stream.insert(at, draw(values))
        elif how == "bytes":
            stream.insert(at, draw(st.binary(max_size=20)))
        elif how == "drop":
            del stream[at]
        elif how == "double":
            stream.insert(at, stream[at])
        elif not isinstance(stream[at], bytes):
            stream[at] = draw(damaged(stream[at]))
    return as_events(stream, draw(st.sampled_from(["end", "cut"])))


@st.composite
def noise(draw: st.DrawFn, stream: bool) -> Answer:
    """Bytes under any flag, in any pieces."""
    line = st.sampled_from([b"data: ", b"event: error\n", b"\n\n", b"\r", b": x\n", b"id: 1\n", b"{}", b"[DONE]"])
    pieces = draw(st.lists(st.binary(min_size=1, max_size=12) | line, max_size=8))
    kind = draw(st.sampled_from(["application/json", "text/event-stream", "text/html", "image/png", ""]))
    status = draw(st.sampled_from([200, 200, 200, 201, 206, 302, 400, 429, 500, 599]))
    after: Literal["end", "cut"] = draw(st.sampled_from(["end", "cut"]))
    return Answer(tuple(pieces), status, kind, after=after, chunked=stream and draw(st.booleans()))


def good_stream(backend: Backend) -> list[object]:
    return events("Hel", "lo.") if backend == "interactions" else chunks("Hel", "lo.")


def good_whole(backend: Backend) -> dict[str, Any]:
    return interaction() if backend == "interactions" else chunk({"text": "Hello."}, finish="STOP")


def only_documented(transport: AnyTransport, service: Service, answer: Answer, stream: bool) -> None:
    """All text that is said to be complete was also given out before, in the same words."""
    service.forget()
    service.enqueue(answer)
    heard: list[Event] = []
    try:
        heard.extend(transport.send(replace(REQUEST, stream=stream)))
    except DOCUMENTED as error:
        assert_fit_to_show(error)
        return
    *texts, reply = heard
    assert isinstance(reply, Reply)
    assert reply.text == "".join(str(text) for text in texts if not isinstance(text, Thought))
    assert reply.text.encode()


deeply = b"[" * 100_000
fuzzed = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("backend", BACKENDS)
def test_damaged_streams(service: Service, open_transport: Open, backend: Backend) -> None:
    transport = open_transport(backend)

    @fuzzed
    @given(damaged_streams(good_stream(backend)))
    @example(as_events([deeply]))
    @example(as_events([{"event_type": "error", "error": {"code": 10**400, "message": ["x"]}}]))
    def check(answer: Answer) -> None:
        only_documented(transport, service, answer, stream=True)

    check()


@pytest.mark.parametrize("backend", BACKENDS)
def test_damaged_answers(service: Service, open_transport: Open, backend: Backend) -> None:
    transport = open_transport(backend)

    @fuzzed
    @given(damaged(good_whole(backend)))
    def check(value: object) -> None:
        only_documented(transport, service, as_json(value), stream=False)

    check()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_noise(service: Service, open_transport: Open, backend: Backend, stream: bool) -> None:
    transport = open_transport(backend)

    @fuzzed
    @given(noise(stream))
    @example(Answer((deeply,)))
    @example(Answer((deeply,), 500))
    @example(Answer((b'{"id":"v","status":"completed","steps":' + b"[" * 900 + b"]" * 900 + b"}",)))
    @example(Answer(content_type="text/html"))
    @example(Answer((b"9" * 5000,)))
    def check(answer: Answer) -> None:
        only_documented(transport, service, answer, stream=stream)

    check()
