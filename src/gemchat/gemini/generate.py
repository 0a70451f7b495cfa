"""The transport for generate_content, whose service remembers nothing: the whole conversation goes out each time.

It owns the request, the reading of chunks, and the model's content as it must come back: with every signature, in
the same parts. Which messages are sent was decided before.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from gemchat.core.media import inline_parts
from gemchat.core.model import Event, MediaRef, Reply, Request, Thought, Usage
from gemchat.errors import GemchatError, NoUsableReply, ReplyTruncated, RequestRefused
from gemchat.gemini.client import Connection
from gemchat.gemini.errors import Asked, blocked, cut_short, not_gemini, one_line, translated
from gemchat.gemini.usage import read_usage

_MODEL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:-]*(/[A-Za-z0-9_-][A-Za-z0-9._:-]*)*")

_BLOCKED = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
}


class ContentsTransport(Connection):
    """`Request.contents` brings back what `Reply.content` gave out, to be sent again as it was received."""

    def send(self, request: Request) -> Iterator[Event]:
        asked = Asked(self.secret, request.model, signed=any(request.contents))
        with translated(asked), closing(self._ask(request)) as chunks:
            yield from _read(chunks)

    def _ask(self, request: Request) -> Generator[Any, None, None]:
        models: Any = self.client.models
        call = request_arguments(request)
        if request.stream:
            yield from models.generate_content_stream(**call)
        else:
            yield models.generate_content(**call)


def request_arguments(request: Request) -> dict[str, Any]:
    """The contents are given twice: the SDK would write signatures in another alphabet than they came in.

    What it writes is replaced, so it need not write images and PDFs.
    """
    if not _MODEL.fullmatch(request.model):
        raise RequestRefused("that is not the name of a model")
    contents = _contents(request)
    config: dict[str, Any] = {
        "system_instruction": request.system,
        "automatic_function_calling": {"disable": True},
        "http_options": {"extra_body": {"contents": contents}},
    }
    if request.schema is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": request.schema}
    if request.thinking is not None:
        config["thinking_config"] = {"thinking_level": request.thinking}
    return {"model": request.model, "contents": _without_media(contents), "config": config}


def _contents(request: Request) -> list[dict[str, Any]]:
    stored = request.contents or (None,) * len(request.messages)
    return [
        json.loads(content)
        if content
        else {"role": message.role, "parts": [_part(part, request) for part in inline_parts(message)]}
        for message, content in zip(request.messages, stored, strict=True)
    ]


def _without_media(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**content, "parts": [part for part in content["parts"] if "inlineData" not in part]}
        for content in contents
    ]


def _part(part: str | MediaRef, request: Request) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.mime_type, "data": request.base64(part)}}


def _read(chunks: Iterable[Any]) -> Iterator[Event]:
    parts: list[dict[str, Any]] = []
    finish, used, odd = None, Usage(), False
    for chunk in chunks:
        candidate = _candidate(chunk)
        odd = candidate is None and finish is None
        if _thinks(candidate):
            yield Thought()
        for part in _received(candidate):
            _append(parts, part)
            if text := _spoken(part):
                yield text
        finish = getattr(candidate, "finish_reason", None) or finish
        used = _usage(chunk.usage_metadata) if chunk.usage_metadata else used
    if finish is None:
        raise not_gemini() if odd else cut_short()
    yield _complete(finish.name, parts, used)


def _candidate(chunk: Any) -> Any:
    feedback = chunk.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        raise blocked(feedback.block_reason.name)
    return chunk.candidates[0] if chunk.candidates else None


def _thinks(candidate: Any) -> bool:
    content = getattr(candidate, "content", None)
    return any(part.thought for part in getattr(content, "parts", None) or [])


def _received(candidate: Any) -> Iterator[dict[str, Any]]:
    """The parts worth keeping, as JSON. A summary of thoughts is none of them unless it is signed."""
    content = getattr(candidate, "content", None)
    for part in getattr(content, "parts", None) or []:
        kept: dict[str, Any] = {} if part.text is None else {"text": part.text}
        if part.thought:
            kept["thought"] = True
        if part.thought_signature:
            kept["thoughtSignature"] = base64.b64encode(part.thought_signature).decode()
        if kept.get("thoughtSignature") or (kept.get("text") and not part.thought):
            yield kept


def _append(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    if parts and parts[-1].keys() == part.keys() == {"text"}:
        parts[-1]["text"] += part["text"]
    else:
        parts.append(dict(part))


def _spoken(part: dict[str, Any]) -> str:
    return "" if part.get("thought") else str(part.get("text") or "")


def _complete(finish: str, parts: list[dict[str, Any]], used: Usage) -> Reply:
    if finish != "STOP":
        raise _unfinished(finish)
    text = "".join(map(_spoken, parts))
    if not text:
        raise NoUsableReply("Gemini completed its answer without any text")
    content = json.dumps({"role": "model", "parts": parts}, separators=(",", ":"))
    return Reply(text=text, usage=used, content=content)


def _unfinished(finish: str) -> GemchatError:
    if finish == "MAX_TOKENS":
        return ReplyTruncated("the answer was cut off at the output limit of the model")
    if finish == "CONTINUATION":
        return ReplyTruncated("the answer broke off and could not be continued")
    if finish in _BLOCKED:
        return blocked(finish)
    return NoUsableReply(one_line(f"the model stopped without a usable answer: {finish}"))


def _usage(report: Any) -> Usage:
    return read_usage(
        report,
        total="prompt_token_count",
        cached="cached_content_token_count",
        output="candidates_token_count",
        thought="thoughts_token_count",
    )
