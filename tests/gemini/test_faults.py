"""Every way an exchange can go wrong, in both APIs, streamed and whole: which error it becomes, in what words."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from gemchat.core.model import Backend
from gemchat.errors import GemchatError, RejectedKey, RequestRefused, Unavailable

from .conftest import Open
from .loopback import Answer, Service, as_events, as_json
from .script import KEY, REQUEST, api_error, chunk, created, failure, texts

BACKENDS: tuple[Backend, ...] = ("interactions", "contents")
HTML = b"<html><body>" + b"oops " * 500 + b"</body></html>"
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}
INVALID = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


@dataclass(frozen=True)
class Fault:
    answer: Answer
    kind: type[GemchatError]
    says: str
    hints: str = ""


def html(status: int) -> Answer:
    return Answer((HTML,), status, "text/html")


FAULTS = {
    "400": Fault(
        as_json(api_error(400, "bad\x1b[31m\nschema"), 400), RequestRefused, "refused the request: bad [31m"
    ),
    "400 key": Fault(
        as_json(api_error(400, "API key not valid."), 400), RejectedKey, "not valid", "aistudio.google"
    ),
    "400 key reason": Fault(as_json(api_error(400, "no", [INVALID]), 400), RejectedKey, "API key: no"),
    "401": Fault(as_json(api_error(401, "who?"), 401), RejectedKey, "who?", "aistudio.google"),
    "403": Fault(
        as_json(api_error(403, f"key {KEY} lacks"), 403), RejectedKey, "key *** lacks", "aistudio.google"
    ),
    "404": Fault(
        as_json(api_error(404, "nope"), 404), RequestRefused, "no model gemini-x: nope", "name of the model"
    ),
    "409": Fault(as_json(api_error(409, "busy"), 409), RequestRefused, "busy"),
    "422": Fault(as_json(api_error(422, "x" * 900), 422), RequestRefused, "…"),
    "418 empty": Fault(Answer(status=418), RequestRefused, "HTTP 418"),
    "408": Fault(as_json(api_error(408, "slow"), 408), Unavailable, "not available: slow"),
    "429": Fault(as_json(api_error(429, "calm"), 429, Retry_After="7"), Unavailable, "calm", "in 7 s."),
    "429 body": Fault(as_json(api_error(429, "calm", [5, RETRY]), 429), Unavailable, "quota", "in 35 s."),
    "429 date": Fault(as_json(api_error(429, ""), 429, Retry_After="Mon, 1"), Unavailable, "HTTP 429", "quota"),
    "500": Fault(as_json({"error": {"code": "internal", "message": "ouch"}}, 500), Unavailable, "ouch"),
    "500 empty": Fault(
        Answer(status=500, content_type="text/plain"), Unavailable, "HTTP 500 Internal Server Error"
    ),
    "500 list": Fault(as_json([api_error(500, "listed")], 500), Unavailable, "listed"),
    "500 odd": Fault(as_json({"error": [1, 2]}, 500), Unavailable, "HTTP 500"),
    "502 html": Fault(html(502), Unavailable, "HTTP 502 Bad Gateway"),
    "503": Fault(as_json(api_error(503, "full"), 503), Unavailable, "full"),
    "504": Fault(as_json(api_error(504, "late"), 504), Unavailable, "late"),
    "599": Fault(Answer(status=599), Unavailable, "HTTP 599"),
    "200 html": Fault(html(200), Unavailable, "not the Gemini API", "captive portal"),
    "200 broken json": Fault(Answer((b'{"id": "x", "status": "comp',)), Unavailable, "damaged"),
    "200 empty": Fault(Answer(), Unavailable, "answer"),
    "200 truncated": Fault(Answer((b'{"id": "x"',), after="cut"), Unavailable, "broke", "network"),
    "no answer": Fault(Answer(status=0, after="cut"), Unavailable, "broke", "network"),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_fault(service: Service, open_transport: Open, fault: Fault, backend: Backend, stream: bool) -> None:
    service.enqueue(fault.answer)
    pieces, error = failure(open_transport(backend), replace(REQUEST, stream=stream))
    assert pieces == []
    assert type(error) is fault.kind
    assert fault.says in error.message
    assert fault.hints in error.hint
    assert len(service.seen) == 1, "a failed request must not be sent again behind the user's back"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_redirect_is_not_followed(
    service: Service, open_transport: Open, backend: Backend, stream: bool
) -> None:
    with Service() as other:
        service.enqueue(Answer(status=307, headers={"Location": f"{other.url}/v1/interactions"}))
        error = failure(open_transport(backend), replace(REQUEST, stream=stream))[1]
        assert other.seen == []
    assert type(error) is Unavailable
    assert "307" in error.message


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_silence_is_waited_for_only_so_long(
    service: Service, open_transport: Open, backend: Backend, stream: bool
) -> None:
    service.enqueue(Answer(after="hold"))
    error = failure(open_transport(backend, idle_timeout=0.2), replace(REQUEST, stream=stream))[1]
    assert type(error) is Unavailable
    assert "in time" in error.message


@pytest.mark.parametrize("backend", BACKENDS)
def test_nobody_listens(open_transport: Open, backend: Backend) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        transport = open_transport(backend, f"http://127.0.0.1:{unused.getsockname()[1]}")
        error = failure(transport, REQUEST)[1]
    assert type(error) is Unavailable
    assert error.message == "Gemini cannot be reached: Connection refused"
    assert "base URL" in error.hint


@pytest.mark.parametrize("backend", BACKENDS)
def test_tls_that_is_none(service: Service, open_transport: Open, backend: Backend) -> None:
    error = failure(open_transport(backend, service.url.replace("http:", "https:")), REQUEST)[1]
    assert type(error) is Unavailable
    assert "cannot be reached" in error.message
    assert service.seen == []


def begun(backend: Backend) -> list[object]:
    return [created(), *texts("par")] if backend == "interactions" else [chunk({"text": "par"})]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("answer_ends", "says"), [("cut", "connection to Gemini broke"), ("end", "cut short"), ("hold", "in time")]
)
def test_a_stream_that_breaks_off(
    service: Service, open_transport: Open, backend: Backend, answer_ends: str, says: str
) -> None:
    service.enqueue(replace(as_events(begun(backend)), after=answer_ends))
    pieces, error = failure(open_transport(backend, idle_timeout=0.3), REQUEST)
    assert pieces == ["par"]
    assert type(error) is Unavailable
    assert says in error.message


def test_a_continuation_that_fails_is_told_by_its_cause(service: Service, open_transport: Open) -> None:
    status = {"id": "v1_a", "status": "requires_continuation", "continuation_token": "t"}
    hop = as_events([*begun("interactions"), {"event_type": "interaction.completed", "interaction": status}])
    service.enqueue(hop, as_json(api_error(503, "full"), 503))
    pieces, error = failure(open_transport("interactions"), REQUEST)
    assert pieces == ["par"]
    assert type(error) is Unavailable
    assert "full" in error.message


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_closed_transport_says_so(open_transport: Open, backend: Backend) -> None:
    with open_transport(backend) as transport:
        pass
    error = failure(transport, REQUEST)[1]
    assert type(error) is Unavailable
    assert "closed" in error.message


@pytest.fixture
def interrupt_while_held(service: Service) -> Iterator[None]:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        if service.holding.wait(20):
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    yield
    thread.join()


@pytest.mark.usefixtures("interrupt_while_held")
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_passes_through_and_hangs_up(
    service: Service, open_transport: Open, backend: Backend
) -> None:
    service.enqueue(as_events(begun(backend), after="hold"))
    with pytest.raises(KeyboardInterrupt):
        list(open_transport(backend).send(REQUEST))
    assert service.closed_by_client.wait(20)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_answer_that_is_left_halfway_is_hung_up_on(
    service: Service, open_transport: Open, backend: Backend
) -> None:
    service.enqueue(as_events(begun(backend), after="hold"))
    arriving = open_transport(backend).send(REQUEST)
    assert next(arriving) == "par"
    assert not service.closed_by_client.is_set()
    getattr(arriving, "close")()  # noqa: B009 - the Protocol promises an iterator; that it is a generator is ours
    assert service.closed_by_client.wait(20)
