"""Images and PDFs through the real SDK: the parts of both APIs, byte for byte, also when they are said again."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from gemchat.core.media import described
from gemchat.core.model import MediaRef, Message
from gemchat.gemini import ContentsTransport, InteractionsTransport
from gemchat.gemini.generate import request_arguments
from tests import pictures

from .loopback import Service, as_events, as_json
from .script import REQUEST, WHOLE, chunks, collect, events, interaction, model, user

PNG, PDF = pictures.png(), pictures.pdf(2)
ENCODED = {data: base64.b64encode(data).decode() for data in (PNG, PDF)}


def ref(path: str, data: bytes) -> MediaRef:
    found = described(path, data, "gemini-x")
    assert found is not None
    return found


BOTH = (ref("a.png", PNG), ref("b.pdf", PDF))
SHOWN = Message(role="user", parts=("header", "text"), media=BOTH)
BYTES = {one.sha256: data for one, data in zip(BOTH, (PNG, PDF), strict=True)}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


INTERACTIONS_CONTENT = [
    text("header"),
    text("text"),
    text("--- inline 1: a.png ---\n"),
    {"type": "image", "data": ENCODED[PNG], "mime_type": "image/png"},
    text("--- inline 2: b.pdf ---\n"),
    {"type": "document", "data": ENCODED[PDF], "mime_type": "application/pdf"},
]
CONTENTS_PARTS = [
    {"text": "header"},
    {"text": "text"},
    {"text": "--- inline 1: a.png ---\n"},
    {"inlineData": {"mimeType": "image/png", "data": ENCODED[PNG]}},
    {"text": "--- inline 2: b.pdf ---\n"},
    {"inlineData": {"mimeType": "application/pdf", "data": ENCODED[PDF]}},
]


@pytest.mark.parametrize("stream", [True, False])
def test_interactions(service: Service, interactions: InteractionsTransport, stream: bool) -> None:
    service.enqueue(as_events(events("ok")) if stream else as_json(interaction()))
    collect(interactions, replace(REQUEST, stream=stream, messages=(SHOWN,), media=BYTES))
    assert service.seen[0].body["input"] == [{"type": "user_input", "content": INTERACTIONS_CONTENT}]


def test_a_single_text_with_an_image_is_no_plain_string(
    service: Service, interactions: InteractionsTransport
) -> None:
    service.enqueue(as_json(interaction()))
    shown = Message(role="user", parts=("header",), media=BOTH[:1])
    collect(interactions, replace(WHOLE, messages=(shown,), media=BYTES))
    (step,) = service.seen[0].body["input"]
    assert [item["type"] for item in step["content"]] == ["text", "text", "image"]


@pytest.mark.parametrize("stream", [True, False])
def test_generate_content_says_them_again(service: Service, contents: ContentsTransport, stream: bool) -> None:
    """As stored: the model's own content word for word, with its signature in the alphabet it came in."""
    service.enqueue(as_events(chunks("ok")) if stream else as_json(chunks("ok")[0]))
    said = '{"role":"model","parts":[{"text":"grey","thoughtSignature":"+/+/"}]}'
    request = replace(
        REQUEST,
        stream=stream,
        messages=(SHOWN, model("grey"), user("and?")),
        contents=(None, said, None),
        media=BYTES,
    )
    collect(contents, request)
    assert service.seen[0].body["contents"] == [
        {"role": "user", "parts": CONTENTS_PARTS},
        {"role": "model", "parts": [{"text": "grey", "thoughtSignature": "+/+/"}]},
        {"role": "user", "parts": [{"text": "and?"}]},
    ]


def test_the_sdk_is_not_made_to_encode_what_it_does_not_send() -> None:
    given: list[dict[str, Any]] = request_arguments(replace(REQUEST, messages=(SHOWN,), media=BYTES))["contents"]
    assert [part for content in given for part in content["parts"] if "text" not in part] == []
