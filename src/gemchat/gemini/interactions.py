"""The transport for the Interactions API, whose service remembers the conversation.

It owns the request body, the reading of events and whole interactions, and the judgement whether an answer is
complete. Which messages are sent, and which interaction they follow, was decided before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gemchat.core.kinds import PDF
from gemchat.core.media import inline_parts
from gemchat.core.model import Event, MediaRef, Message, Reply, Request, Thought, Usage
from gemchat.errors import ChainLost, GemchatError, NoUsableReply, ReplyTruncated, RequestRefused, Unavailable
from gemchat.gemini.client import Connection
from gemchat.gemini.errors import Asked, cut_short, not_gemini, reported, translated
from gemchat.gemini.usage import read_usage

_ID = re.compile(r"[A-Za-z0-9_-]{1,512}")

_UNFINISHED: dict[str, tuple[type[GemchatError], str]] = {
    "incomplete": (ReplyTruncated, "the answer was cut off at the output limit of the model"),
    "requires_continuation": (ReplyTruncated, "the answer broke off and could not be continued"),
    "requires_action": (NoUsableReply, "the model asked for a tool instead of answering"),
    "budget_exceeded": (RequestRefused, "the budget of this request is used up"),
    "cancelled": (Unavailable, "Gemini cancelled the answer"),
}


class InteractionsTransport(Connection):
    """One request is one interaction, stored by the service so that the next can follow it."""

    def send(self, request: Request) -> Iterator[Event]:
        asked = Asked(self.secret, request.model, request.previous)
        if request.previous is not None and not _ID.fullmatch(request.previous):
            raise ChainLost("the stored id of the conversation is damaged")
        with translated(asked):
            interactions: Any = self.client.interactions
            answer = interactions.create(**request_body(request))
            if hasattr(answer, "__next__"):
                with answer as events:
                    yield from _read_events(events, asked)
            else:
                yield from _read_whole(answer, _usage(answer), asked)

    def delete(self, interaction: str) -> None:
        """Removes one stored interaction. Ids go into a path as they are, so anything unlike an id is refused."""
        if not _ID.fullmatch(interaction):
            raise ChainLost("that is not the id of an interaction")
        with translated(Asked(self.secret, previous=interaction)):
            self.client.interactions.delete(interaction)


def request_body(request: Request) -> dict[str, Any]:
    """The service carries over nothing but the conversation: all else is said again with every request."""
    body: dict[str, Any] = {
        "model": request.model,
        "input": _input(request),
        "system_instruction": request.system,
        "store": True,
        "stream": request.stream,
    }
    if request.schema is not None:
        body["response_format"] = {"type": "text", "mime_type": "application/json", "schema": request.schema}
    if request.thinking is not None:
        body["generation_config"] = {"thinking_level": request.thinking}
    if request.previous is not None:
        body["previous_interaction_id"] = request.previous
    return body


def _input(request: Request) -> str | list[dict[str, Any]]:
    match request.messages:
        case (Message(role="user", parts=(text,), media=()),):
            return text
    steps = {"user": "user_input", "model": "model_output"}
    return [
        {"type": steps[message.role], "content": [_content(part, request) for part in inline_parts(message)]}
        for message in request.messages
    ]


def _content(part: str | MediaRef, request: Request) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = "document" if part.mime_type == PDF else "image"
    return {"type": kind, "data": request.base64(part), "mime_type": part.mime_type}


def _read_events(events: Iterable[Any], asked: Asked) -> Iterator[Event]:
    """A long answer may take several interactions; the last one's word counts, and the usage is their sum."""
    texts: list[str] = []
    used, last = Usage(), None
    for event in events:
        if _is_thought(event):
            yield Thought()
        for text in _event_texts(event, asked):
            texts.append(text)
            yield text
        if getattr(event, "event_type", None) == "interaction.completed":
            last = getattr(event, "interaction", None)
            used += _usage(last)
    if last is None:
        raise cut_short()
    if texts:
        yield _complete(last, "".join(texts), used, asked)
    else:
        yield from _read_whole(last, used, asked)


def _is_thought(event: Any) -> bool:
    return getattr(getattr(event, "step", None), "type", None) == "thought"


def _event_texts(event: Any, asked: Asked) -> Iterator[str]:
    """Events of a kind not known here say nothing; data that is no event at all means that something was lost."""
    kind = getattr(event, "event_type", None)
    if kind == "error":
        error = getattr(event, "error", None)
        if error is None:
            raise not_gemini()
        raise reported(getattr(error, "code", None), getattr(error, "message", None), asked)
    if kind == "step.start":
        yield from _step_texts(getattr(event, "step", None))
    elif kind == "step.delta":
        yield from _content_texts([getattr(event, "delta", None)])
    elif kind is None and event != "":
        raise not_gemini()


def _read_whole(interaction: Any, used: Usage, asked: Asked) -> Iterator[Event]:
    steps = getattr(interaction, "steps", None)
    texts = [text for step in (steps if isinstance(steps, list) else []) for text in _step_texts(step)]
    yield from texts
    yield _complete(interaction, "".join(texts), used, asked)


def _step_texts(step: Any) -> Iterator[str]:
    if getattr(step, "type", None) == "model_output":
        content = getattr(step, "content", None)
        yield from _content_texts(content if isinstance(content, list) else [])


def _content_texts(content: list[Any]) -> Iterator[str]:
    for item in content:
        text = getattr(item, "text", None)
        if getattr(item, "type", None) != "text" or text is None:
            continue
        if not isinstance(text, str):
            raise not_gemini()
        if text:
            yield text.encode("utf-8", "replace").decode()


def _complete(interaction: Any, text: str, used: Usage, asked: Asked) -> Reply:
    name, status = getattr(interaction, "id", None), getattr(interaction, "status", None)
    if not isinstance(name, str) or not _ID.fullmatch(name) or not isinstance(status, str):
        raise not_gemini()
    if status != "completed":
        raise _unfinished(status, interaction, asked)
    if not text:
        raise NoUsableReply("Gemini completed its answer without any text")
    return Reply(text=text, usage=used, interaction=name)


def _unfinished(status: str, interaction: Any, asked: Asked) -> GemchatError:
    if status in _UNFINISHED:
        kind, message = _UNFINISHED[status]
        return kind(message)
    errors = getattr(interaction, "errors", None)
    for error in errors if isinstance(errors, list) else []:
        return reported(getattr(error, "code", None), getattr(error, "message", None), asked)
    return reported(None, f"the answer ended as {status}", asked)


def _usage(interaction: Any) -> Usage:
    return read_usage(
        getattr(interaction, "usage", None),
        total="total_input_tokens",
        cached="total_cached_tokens",
        output="total_output_tokens",
        thought="total_thought_tokens",
    )
