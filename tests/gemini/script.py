"""What the tests say and what the service answers: requests, replies of both APIs, and how to read them back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gemchat.core.model import Message, Reply, Request, Thought, Transport, Usage
from gemchat.errors import GemchatError

KEY = "AIza-not-a-real-key-0123456789"
USED = Usage(input=11, cached=3, output=7, thought=5)
SCHEMA = {"type": "object", "properties": {"explanation": {"type": "string"}, "edits": {"type": "array"}}}

INTERACTION_USAGE = {
    "total_input_tokens": 11,
    "total_cached_tokens": 3,
    "total_output_tokens": 7,
    "total_thought_tokens": 5,
    "total_tokens": 23,
}
CONTENTS_USAGE = {
    "promptTokenCount": 11,
    "cachedContentTokenCount": 3,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 23,
}


def user(*parts: str) -> Message:
    return Message(role="user", parts=parts)


def model(*parts: str) -> Message:
    return Message(role="model", parts=parts)


REQUEST = Request(model="gemini-x", system="Be brief.", messages=(user("hello"),))
WHOLE = replace(REQUEST, stream=False)


def collect(transport: Transport, request: Request) -> tuple[list[str], Reply]:
    """The texts as they came, and the reply that must be the last thing to come."""
    *events, reply = list(transport.send(request))
    texts = [event for event in events if not isinstance(event, Thought)]
    assert all(isinstance(text, str) for text in texts)
    assert isinstance(reply, Reply)
    return [str(text) for text in texts], reply


def failure(transport: Transport, request: Request) -> tuple[list[str], GemchatError]:
    """The texts that came before the error; whatever the error is, it must be fit to be shown."""
    texts: list[str] = []
    with pytest.raises(GemchatError) as caught:
        texts.extend(str(event) for event in transport.send(request) if not isinstance(event, Thought))
    assert_fit_to_show(caught.value)
    return texts, caught.value


def assert_fit_to_show(error: GemchatError) -> None:
    shown = error.message + error.hint
    assert error.message
    assert len(error.message) <= 200
    assert shown.isprintable()
    assert KEY not in shown
    assert "<" not in shown
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


# Interactions


def interaction(**fields: Any) -> dict[str, Any]:
    steps = [
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hmm"}]},
        {
            "type": "model_output",
            "content": [{"type": "text", "text": "Hello, "}, {"type": "text", "text": "you."}],
        },
    ]
    return {"id": "v1_a", "status": "completed", "steps": steps, "usage": INTERACTION_USAGE} | fields


def created(name: str = "v1_a") -> dict[str, Any]:
    return {"event_type": "interaction.created", "interaction": {"id": name, "status": "in_progress"}}


def delta(**fields: Any) -> dict[str, Any]:
    return {"event_type": "step.delta", "index": 1, "delta": fields}


def texts(*pieces: str) -> list[dict[str, Any]]:
    return [delta(type="text", text=piece) for piece in pieces]


def completed(**fields: Any) -> dict[str, Any]:
    whole = {"id": "v1_a", "status": "completed", "usage": INTERACTION_USAGE} | fields
    return {"event_type": "interaction.completed", "interaction": whole}


def thinking() -> list[dict[str, Any]]:
    return [
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        delta(type="thought_summary", content={"type": "text", "text": "hmm"}),
        delta(type="thought_signature", signature="c2ln"),
        {"event_type": "step.stop", "index": 0},
    ]


def events(*pieces: str) -> list[object]:
    return [created(), *thinking(), *texts(*pieces), completed(), b"[DONE]"]


# generate_content


def chunk(*parts: object, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": CONTENTS_USAGE} | fields


def chunks(*pieces: str) -> list[object]:
    *early, last = pieces
    return [*(chunk({"text": piece}) for piece in early), chunk({"text": last}, finish="STOP")]


def api_error(code: int, message: str, details: Iterable[object] = ()) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": "SOME_STATUS", "details": list(details)}}
