"""The Interactions API: reading a call, keeping what was said, and writing an interaction or its events.

An interaction keeps the whole conversation up to and including its own reply, so it can be continued whatever
becomes of those before it. System instruction and response format hold for one call only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from gemchat.core.contents import to_json
from gemchat.core.kinds import PDF
from gemchat.core.media import inline_parts, joined
from gemchat.core.model import MediaRef, Message, Usage, Value
from gemchat.local.answer import Answer, Desk
from gemchat.local.inline import received
from gemchat.local.mind import Prompt, Refusal

_UNSERVED = ("agent", "background", "continuation_token", "tools")


class _Text(msgspec.Struct, tag="text", tag_field="type"):
    text: str


class _Image(msgspec.Struct, tag="image", tag_field="type"):
    data: str
    mime_type: str


class _Document(msgspec.Struct, tag="document", tag_field="type"):
    data: str
    mime_type: str


_Content: TypeAlias = _Text | _Image | _Document


class _UserInput(msgspec.Struct, tag="user_input", tag_field="type"):
    content: list[_Content]


class _ModelOutput(msgspec.Struct, tag="model_output", tag_field="type"):
    content: list[_Text]


class _Thought(msgspec.Struct, tag="thought", tag_field="type"):
    pass


class _Format(msgspec.Struct):
    type: Literal["text"] = "text"
    schema: dict[str, Any] | None = None


_Item: TypeAlias = _Content | _UserInput | _ModelOutput | _Thought


class _Call(msgspec.Struct):
    model: str
    input: str | _Content | list[_Item]
    previous_interaction_id: str | None = None
    system_instruction: str = ""
    response_format: _Format | list[_Format] | None = None
    store: bool = True
    stream: bool = False
    agent: Any = None
    background: Any = None
    continuation_token: Any = None
    tools: Any = None


class Interaction(Value, frozen=True):
    """A finished exchange. `history` is all that was said before `input`."""

    id: str
    model: str
    created: float
    previous: str | None
    history: tuple[Message, ...]
    input: tuple[Message, ...]
    reply: str
    usage: Usage

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.history, *self.input, Message(role="model", parts=(self.reply,)))


class Interactions:
    """The stored interactions and the calls on them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._stored: dict[str, Interaction] = {}

    def create(self, body: bytes) -> dict[str, Any] | Generator[str, None, None]:
        call = msgspec.json.decode(body, type=_Call)
        for name in _UNSERVED:
            if getattr(call, name):
                raise Refusal(f"'{name}' is not served here.")
        history = self._chain(call.previous_interaction_id)
        said = _messages(call.input, call.model)
        prompt = Prompt(
            model=call.model,
            system=call.system_instruction,
            messages=(*history, *said),
            schema=_schema(call.response_format),
        )
        exchange = _Exchange(self._desk, prompt, said, call.previous_interaction_id)
        keep = self._keep if call.store else _drop
        return exchange.events(keep) if call.stream else exchange.whole(keep)

    def get(self, name: str, *, include_input: bool) -> dict[str, Any]:
        return _as_json(self._find(name), include_input=include_input)

    def delete(self, name: str) -> dict[str, Any]:
        self._find(name)
        with self._desk.lock:
            self._stored.pop(name, None)
        return {}

    def forget(self) -> None:
        with self._desk.lock:
            self._stored.clear()

    def _chain(self, previous: str | None) -> tuple[Message, ...]:
        return self._find(previous).messages if previous is not None else ()

    def _find(self, name: str) -> Interaction:
        with self._desk.lock:
            found = self._stored.get(name)
        if found is None:
            raise Refusal(f"Interaction '{name}' was not found.", 404, "NOT_FOUND")
        return found

    def _keep(self, interaction: Interaction) -> None:
        with self._desk.lock:
            self._stored[interaction.id] = interaction


def _drop(interaction: Interaction) -> None:
    """What happens to an interaction that its caller did not want stored."""


class _Exchange:
    """One call being answered. Constructing it asks the mind, so a refusal comes before any output."""

    def __init__(self, desk: Desk, prompt: Prompt, said: tuple[Message, ...], previous: str | None) -> None:
        self._answer: Answer = desk.answer(prompt)
        self._prompt = prompt
        self._said = said
        self._previous = previous
        self._id = f"v1_{secrets.token_urlsafe(24)}"
        self._created = desk.clock()

    def whole(self, keep: Callable[[Interaction], None]) -> dict[str, Any]:
        self._answer.read()
        done = self._finished()
        keep(done)
        return _as_json(done)

    def events(self, keep: Callable[[Interaction], None]) -> Generator[str, None, None]:
        yield _event("interaction.created", interaction=self._head("in_progress"))
        try:
            yield _event("step.start", index=0, step={"type": "model_output"})
            for piece in self._answer:
                yield _event("step.delta", index=0, delta={"type": "text", "text": piece})
            yield _event("step.stop", index=0)
            done = self._finished()
            keep(done)
            completed = {**self._head("completed"), "updated": _time(done.created), "usage": _usage(done.usage)}
            yield _event("interaction.completed", interaction=completed)
        except Refusal as refusal:
            yield _event("error", **refusal.body)
        yield "data: [DONE]\n\n"

    def _head(self, status: str) -> dict[str, Any]:
        return _head(self._id, self._prompt.model, status, self._created)

    def _finished(self) -> Interaction:
        before = len(self._prompt.messages) - len(self._said)
        return Interaction(
            id=self._id,
            model=self._prompt.model,
            created=self._created,
            previous=self._previous,
            history=self._prompt.messages[:before],
            input=self._said,
            reply=self._answer.text,
            usage=self._answer.usage,
        )


def _messages(given: str | _Content | list[_Item], model: str) -> tuple[Message, ...]:
    if isinstance(given, str):
        return (Message(role="user", parts=(given,)),)
    items = given if isinstance(given, list) else [given]
    contents = [item for item in items if isinstance(item, _Text | _Image | _Document)]
    if contents and len(contents) == len(items):
        return (_message("user", contents, model),)
    said = [
        _message("user" if isinstance(item, _UserInput) else "model", item.content, model)
        for item in items
        if isinstance(item, _UserInput | _ModelOutput)
    ]
    if contents or not said or said[-1].role != "user":
        raise Refusal("'input' must be a text, a list of contents, or a list of steps that ends with the user's.")
    return tuple(said)


def _message(role: Literal["user", "model"], contents: Sequence[_Content], model: str) -> Message:
    return joined(role, [item.text if isinstance(item, _Text) else _received(item, model) for item in contents])


def _received(item: _Image | _Document, model: str) -> MediaRef:
    ref = received(item.data, item.mime_type, model)
    if isinstance(item, _Document) != (ref.mime_type == PDF):
        raise Refusal(f"'{ref.mime_type}' has another type of content.")
    return ref


def _schema(given: _Format | list[_Format] | None) -> dict[str, Any] | None:
    formats = given if isinstance(given, list) else [given] if given else []
    return next((item.schema for item in formats if item.schema is not None), None)


def _as_json(interaction: Interaction, *, include_input: bool = False) -> dict[str, Any]:
    said = [_step(message) for message in interaction.input] if include_input else []
    previous = {"previous_interaction_id": interaction.previous} if interaction.previous else {}
    return {
        **_head(interaction.id, interaction.model, "completed", interaction.created),
        "updated": _time(interaction.created),
        **previous,
        "steps": [*said, _step(interaction.messages[-1])],
        "usage": _usage(interaction.usage),
    }


def _head(name: str, model: str, status: str, created: float) -> dict[str, Any]:
    return {
        "id": name,
        "object": "interaction",
        "model": model,
        "status": status,
        "created": _time(created),
    }


def _step(message: Message) -> dict[str, Any]:
    kind = "user_input" if message.role == "user" else "model_output"
    return {"type": kind, "content": [_content(part) for part in inline_parts(message)]}


def _content(part: str | MediaRef) -> dict[str, Any]:
    """Of images and PDFs no bytes are kept."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "document" if part.mime_type == PDF else "image", "mime_type": part.mime_type}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "total_input_tokens": usage.input,
        "total_cached_tokens": usage.cached,
        "total_output_tokens": usage.output,
        "total_thought_tokens": usage.thought,
        "total_tool_use_tokens": 0,
        "total_tokens": usage.input + usage.output + usage.thought,
        "input_tokens_by_modality": [{"modality": "text", "tokens": usage.input}],
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _event(name: str, **fields: Any) -> str:
    return f"event: {name}\ndata: {to_json({'event_type': name, **fields})}\n\n"
