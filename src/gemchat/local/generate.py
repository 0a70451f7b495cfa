"""The generateContent family: whole answers, streamed ones, token counts and the list of models.

It keeps nothing between calls. A reply is signed; a model content that comes back with a signature must be the
text that was signed, so a client that does not return what it got word for word is told.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator, Sequence
from typing import Any, Literal

import msgspec

from gemchat.core.contents import to_json
from gemchat.core.media import joined
from gemchat.core.model import MediaRef, Message, Usage
from gemchat.local.answer import Answer, Desk
from gemchat.local.inline import received
from gemchat.local.meter import count
from gemchat.local.mind import Prompt, Refusal

_METHODS = ["generateContent", "streamGenerateContent", "countTokens"]


class _Blob(msgspec.Struct):
    """The service takes a field's name in both ways of writing; the SDK writes this one with an underscore."""

    data: str
    mime_type: str = ""
    camel: str = msgspec.field(default="", name="mimeType")


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    inline_data: _Blob | None = None
    thought: bool = False
    thought_signature: str | None = None


class _Content(msgspec.Struct):
    parts: list[_Part]
    role: Literal["user", "model"] = "user"


class _Config(msgspec.Struct, rename="camel"):
    response_mime_type: str = ""
    response_json_schema: dict[str, Any] | None = None


class _Call(msgspec.Struct, rename="camel"):
    contents: list[_Content]
    system_instruction: _Content | None = None
    generation_config: _Config | None = None
    tools: Any = None
    cached_content: Any = None


class Generate:
    """The calls, each with the model's name from the address and the body as it came."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def generate(self, model: str, body: bytes) -> dict[str, Any]:
        answer = self._desk.answer(_prompt(model, body))
        answer.read()
        return _chunk(model, answer, [_signed(answer.text, answer.text)], finished=True)

    def stream(self, model: str, body: bytes) -> Generator[str, None, None]:
        """As the service does, the signature comes last, on a part without text."""
        return _stream(model, self._desk.answer(_prompt(model, body)))

    def count_tokens(self, model: str, body: bytes) -> dict[str, Any]:
        return {"totalTokens": count(_prompt(model, body))}

    def models(self) -> dict[str, Any]:
        return {"models": [self._described()]}

    def model(self, name: str) -> dict[str, Any]:
        if name != self._desk.mind.name:
            raise Refusal(f"Model '{name}' was not found.", 404, "NOT_FOUND")
        return self._described()

    def _described(self) -> dict[str, Any]:
        name = self._desk.mind.name
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": _METHODS}


def _prompt(model: str, body: bytes) -> Prompt:
    call = msgspec.json.decode(body, type=_Call)
    if call.tools or call.cached_content:
        raise Refusal("'tools' and 'cachedContent' are not served here.")
    if not call.contents or call.contents[-1].role != "user":
        raise Refusal("'contents' must end with a content of the user's.")
    return Prompt(
        model=model,
        system="\n".join(part.text or "" for part in call.system_instruction.parts)
        if call.system_instruction
        else "",
        messages=tuple(_message(content, model) for content in call.contents),
        schema=_schema(call.generation_config or _Config()),
    )


def _schema(config: _Config) -> dict[str, Any] | None:
    if config.response_json_schema is not None and config.response_mime_type != "application/json":
        raise Refusal("'responseJsonSchema' needs 'responseMimeType' to be application/json.")
    return config.response_json_schema


def _message(content: _Content, model: str) -> Message:
    message = joined(content.role, [_received(part, model) for part in content.parts if not part.thought])
    _check_signatures(content.parts, "".join(message.parts))
    return message


def _received(part: _Part, model: str) -> str | MediaRef:
    if part.inline_data is not None:
        blob = part.inline_data
        return received(blob.data, blob.camel or blob.mime_type, model)
    if part.text is None:
        raise Refusal("A part needs 'text' or 'inlineData'.")
    return part.text


def _check_signatures(parts: Sequence[_Part], text: str) -> None:
    for part in parts:
        given = part.thought_signature
        if given is not None and given.replace("-", "+").replace("_", "/") != _signature(text):
            raise Refusal("Thought signature is not valid.")


def _signature(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _signed(text: str, reply: str) -> dict[str, Any]:
    return {"text": text, "thoughtSignature": _signature(reply)}


def _stream(model: str, answer: Answer) -> Generator[str, None, None]:
    try:
        for piece in answer:
            yield _event(_chunk(model, answer, [{"text": piece}]))
        yield _event(_chunk(model, answer, [_signed("", answer.text)], finished=True))
    except Refusal as refusal:
        yield _event(refusal.body)


def _event(value: dict[str, Any]) -> str:
    return f"data: {to_json(value)}\r\n\r\n"


def _chunk(model: str, answer: Answer, parts: list[dict[str, Any]], *, finished: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finished:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": _usage(answer.usage), "modelVersion": model}


def _usage(usage: Usage) -> dict[str, Any]:
    cached = {"cachedContentTokenCount": usage.cached} if usage.cached else {}
    thought = {"thoughtsTokenCount": usage.thought} if usage.thought else {}
    return {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output + usage.thought,
        **cached,
        **thought,
    }
