"""All that can go wrong between gemchat and the service, as answers of a scripted one, and what must come of it.

A fault is made for one way of asking: a backend, streamed or whole. Where a way of asking does not know it, there
is none. `code` is the exit code, `says` the words on stderr, `kept` the part of an answer that is recorded as
incomplete, None for no record at all, and `requests` how many requests gemchat may make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from gemchat.core.model import Backend
from tests.gemini.loopback import Answer, as_events, as_json
from tests.gemini.script import (
    CONTENTS_USAGE,
    api_error,
    chunk,
    chunks,
    completed,
    created,
    delta,
    events,
    interaction,
    texts,
    thinking,
)

HELLO = "Hello, you."
HTML = b"<html><body>Log in to the \x1b[31mnetwork</body></html>"
ATTEMPTS = 5


class Way(NamedTuple):
    backend: Backend
    stream: bool

    def __str__(self) -> str:
        return f"{self.backend}-{'stream' if self.stream else 'whole'}"


WAYS = tuple(Way(backend, stream) for backend in ("interactions", "contents") for stream in (True, False))
Answers: TypeAlias = Callable[[Way], Sequence[Answer]]


class Fault(NamedTuple):
    name: str
    answers: Answers
    code: int
    says: str
    kept: str | None = None
    requests: int = 1


def good(way: Way) -> Answer:
    if way.stream:
        return as_events(events("Hello, ", "you.") if way.backend == "interactions" else chunks("Hello, ", "you."))
    return as_json(interaction() if way.backend == "interactions" else chunk({"text": HELLO}, finish="STOP"))


def begun(way: Way, after: Literal["end", "cut", "hold"], *more: object) -> list[Answer]:
    """A stream that says part of it and comes to a bad end."""
    if not way.stream:
        return []
    first: list[object] = [chunk({"text": "Hel"})]
    if way.backend == "interactions":
        first = [created(), *thinking(), *texts("Hel")]
    return [as_events([*first, *more], after)]


def unbegun(way: Way, after: Literal["end", "cut", "hold"], *more: object) -> list[Answer]:
    """A stream that comes to a bad end before any text."""
    first = [created(), *thinking()] if way.backend == "interactions" else []
    return [as_events([*first, *more], after)] if way.stream else []


def error_event(way: Way, code: object) -> object:
    if way.backend == "contents":
        return api_error(503, "full")
    return {"event_type": "error", "error": {"code": code, "message": "full"}}


def always(*answers: Answer) -> Answers:
    return lambda _: answers


def of(backend: Backend, *answers: Answer, stream: bool) -> Answers:
    return lambda way: answers if way == Way(backend, stream) else ()


def in_both(backend: Backend, streamed: Sequence[object], whole: object) -> Answers:
    """The same, streamed and whole, of one backend."""
    return lambda way: (
        () if way.backend != backend else (as_events(streamed),) if way.stream else (as_json(whole),)
    )


def status_faults() -> Iterator[Fault]:
    """Every status, in four kinds of bodies. A 404 to a continued interaction makes it be told anew, once."""
    expected = {
        400: (6, "refused the request"),
        401: (3, "does not let this API key in"),
        403: (3, "does not let this API key in"),
        404: (6, "has no model"),
        408: (7, "is not available"),
        409: (6, "refused the request"),
        429: (7, "quota or request rate"),
        500: (7, "is not available"),
        502: (7, "is not available"),
        503: (7, "is not available"),
        504: (7, "is not available"),
    }
    for status, (code, says) in expected.items():
        requests = ATTEMPTS if code == 7 else 1
        bodies = {"err": as_json(api_error(status, "so it is"), status)}
        if status in (400, 404, 429, 503):
            bodies["errx"] = as_json({"error": {"code": "some_word", "message": "so it is"}}, status)
            bodies["errhtml"] = Answer((HTML,), status, "text/html")
            bodies["errempty"] = Answer(status=status, content_type="text/plain")
        for style, answer in bodies.items():
            yield Fault(f"{style}-{status}", always(*[answer] * ATTEMPTS), code, says, requests=requests)


def busy(**headers: str) -> Answer:
    return as_json(api_error(503, "full"), 503, **headers)


def broken_answers() -> Iterator[Fault]:
    """Answers with status 200 that are none."""
    nonsense = "what answered is not the Gemini API"
    wrong = {"id": 5, "status": 7, "steps": "nope", "usage": [], "candidates": "x", "usageMetadata": 3}
    yield Fault("html200", always(Answer((HTML,), 200, "text/html")), 7, nonsense)
    yield Fault("badjson", always(Answer((b'{"id": "x", "status": "comp',))), 7, nonsense)
    yield Fault("empty200", always(Answer()), 7, "answer")
    yield Fault("array200", always(as_json([])), 7, nonsense)
    yield Fault("number200", always(as_json(5)), 7, nonsense)
    yield Fault("shape200", always(as_json(wrong)), 7, nonsense)
    yield Fault("trunc", always(Answer((b'{"id": "x"',), after="cut")), 7, "the connection to Gemini broke")
    yield Fault("reset", always(Answer(status=0, after="cut")), 7, "the connection to Gemini broke")
    yield Fault("redirect", always(Answer(status=307, headers={"Location": "http://localhost:9/"})), 7, "307")
    yield Fault("hang", always(Answer(after="hold")), 7, "did not answer in time")


def broken_streams() -> Iterator[Fault]:
    damaged = "damaged"
    for name, ends in (("drop", "broke"), ("close", "cut short"), ("hang", "in time"), ("error", "full")):
        after: Literal["end", "cut", "hold"] = {"drop": "cut", "hang": "hold"}.get(name, "end")  # type: ignore[assignment]

        def late(way: Way, name: str = name, after: Literal["end", "cut", "hold"] = after) -> list[Answer]:
            return begun(way, after, *([error_event(way, "overloaded")] if name == "error" else []))

        def early(way: Way, name: str = name, after: Literal["end", "cut", "hold"] = after) -> list[Answer]:
            return unbegun(way, after, *([error_event(way, "overloaded")] if name == "error" else [])) * ATTEMPTS

        yield Fault(f"sse-{name}-late", late, 7, ends, kept="Hel")
        tries = ATTEMPTS if name == "error" else 1
        says = "answer" if name == "close" else ends
        yield Fault(f"sse-{name}-early", early, 7, says, requests=tries)
    yield Fault("sse-badjson", lambda way: begun(way, "end", b"{not json"), 7, damaged, kept="Hel")
    yield Fault("sse-badutf8", lambda way: begun(way, "end", b'{"x": "\xff\xfe"}'), 7, damaged, kept="Hel")
    yield Fault("sse-list", lambda way: begun(way, "end", [1, 2]), 7, damaged, kept="Hel")
    yield Fault("sse-status-failed", ended_as("failed"), 7, "ended as failed", kept=HELLO)
    yield Fault("sse-status-incomplete", ended_as("incomplete"), 8, "cut off at the output limit", kept=HELLO)
    yield Fault("sse-status-cancelled", ended_as("cancelled"), 7, "cancelled the answer", kept=HELLO)
    yield Fault("sse-status-unheard-of", ended_as("unheard_of"), 7, "ended as unheard_of", kept=HELLO)


def ended_as(status: str) -> Answers:
    streamed = [created(), *texts("Hello, ", "you."), completed(status=status)]
    return in_both("interactions", streamed, interaction(status=status))


def refusals() -> Iterator[Fault]:
    """The service says no within an answer of status 200."""
    tool = {
        "id": "v1_t",
        "status": "requires_action",
        "steps": [{"type": "function_call", "id": "c", "name": "f"}],
    }
    asks = in_both("interactions", [created(), completed(status="requires_action")], tool)
    yield Fault("tool", asks, 8, "asked for a tool", kept="")
    for reason, code, says in (
        ("MAX_TOKENS", 8, "cut off at the output limit"),
        ("SAFETY", 6, "blocked"),
        ("MALFORMED_FUNCTION_CALL", 8, "without a usable answer"),
        ("NEWLY_INVENTED", 8, "without a usable answer"),
    ):
        whole = chunk({"text": "Hel"}, finish=reason)
        yield Fault(f"fin-{reason}", in_both("contents", [whole], whole), code, says, kept="Hel")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": CONTENTS_USAGE}
    yield Fault("blocked-SAFETY", in_both("contents", [blocked], blocked), 6, "blocked", kept="")
    nothing = {"candidates": [], "usageMetadata": CONTENTS_USAGE}
    yield Fault("nocand", in_both("contents", [nothing], nothing), 7, "answer")
    silent = {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
    yield Fault("noparts", in_both("contents", [silent], silent), 8, "without any text", kept="")


def survived() -> Iterator[Fault]:
    """Faults that a user sees a remark of, or nothing at all."""
    yield Fault("ok", lambda way: [good(way)], 0, "")
    yield Fault("flaky-3-503", lambda way: [*[busy()] * 3, good(way)], 0, "attempt 4 of 5 in 4 s", requests=4)
    waited = "attempt 2 of 5 in 7 s"
    yield Fault("retryafter-7", lambda way: [busy(Retry_After="7"), good(way)], 0, waited, requests=2)
    yield Fault("retryafter-3600", always(busy(Retry_After="3600")), 7, "The service wants 60 min")
    yield Fault("slow", lambda way: [replace(good(way), delay=0.05)], 0, "")
    yield Fault("sse-pause", lambda way: [replace(good(way), pause=0.02)] if way.stream else [], 0, "")
    news = [{"event_type": "brand.new", "x": 1}, delta(type="hologram", z=2), *texts(HELLO), completed()]
    yield Fault("sse-unknown", of("interactions", as_events(news), stream=True), 0, "")
    many = [created(), *texts(*HELLO), completed(), b"[DONE]"]
    yield Fault("many", of("interactions", as_events(many), stream=True), 0, "")
    hop = {"status": "requires_continuation", "continuation_token": "t"}
    two = (as_events([created(), *texts("Hello, "), completed(**hop)]), as_events(events("you.")))
    yield Fault("cont", of("interactions", *two, stream=True), 0, "", requests=2)
    mark = {"event_type": "interaction.status_update", "interaction_id": "v1_a", "continuation_token": "t"}
    mark["status"] = "in_progress"
    torn = as_events([created(), *texts("Hello, "), mark], "cut")
    yield Fault("ckpt-drop", of("interactions", torn, as_events(events("you.")), stream=True), 0, "", requests=2)
    lost = as_events([created(), *texts("He"), mark, *texts("l")], "cut")
    yield Fault("ckpt-drop-content", of("interactions", lost, stream=True), 7, "broke", kept="Hel")


FAULTS = (*status_faults(), *broken_answers(), *broken_streams(), *refusals(), *survived())
CASES = [(fault, way) for fault in FAULTS for way in WAYS if fault.answers(way)]
