"""What runs a language model: messages in, pieces of text and the tokens they took out.

Which model it is, where it runs and how it is loaded is the engine's business; what it is asked, the mind's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, Protocol

from gemchat.core.model import Usage, Value

WINDOW = 8192
_BYTES_PER_TOKEN = 3


class Say(Value, frozen=True):
    """One message of a chat, in plain words."""

    role: Literal["system", "user", "assistant"]
    text: str


class Call(Value, frozen=True):
    """One request of an engine. The answer ends after `limit` tokens, or as soon as its text is `enough`."""

    messages: tuple[Say, ...]
    limit: int
    temperature: float = 0.0
    seed: int = 1
    schema: dict[str, Any] | None = None
    enough: Callable[[str], bool] | None = None


class Engine(Protocol):
    """`window` is how many tokens question and answer may have together.

    `chat` yields the text in pieces, an empty one as a sign of life, and the tokens as the last item. Closing it
    stops the model. An engine serves one call at a time.
    """

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int: ...

    def chat(self, call: Call) -> Generator[str | Usage, None, None]: ...


def weigh(*texts: str) -> int:
    """Tokens of a text, estimated from above: source code has three to four bytes in each."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES_PER_TOKEN + 1


def as_openai(call: Call) -> dict[str, Any]:
    """The call as the body of an OpenAI chat completion, streamed."""
    body: dict[str, Any] = {
        "messages": [{"role": say.role, "content": say.text} for say in call.messages],
        "max_tokens": call.limit,
        "temperature": call.temperature,
        "seed": call.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if call.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": call.schema},
        }
    return body


def piece_of(chunk: dict[str, Any]) -> str:
    """The text in one chunk of a streamed chat completion."""
    choices: Sequence[dict[str, Any]] = chunk.get("choices") or ()
    return "".join((choice.get("delta") or {}).get("content") or "" for choice in choices)


def usage_of(chunk: dict[str, Any]) -> Usage | None:
    """The tokens so far, if the chunk says so: llama.cpp's own numbers first, else those of the OpenAI format."""
    timings = chunk.get("timings") or {}
    if "prompt_n" in timings:
        cached = timings.get("cache_n") or 0
        return Usage(input=cached + timings["prompt_n"], cached=cached, output=timings.get("predicted_n") or 0)
    if usage := chunk.get("usage"):
        details = usage.get("prompt_tokens_details") or {}
        return Usage(
            input=usage.get("prompt_tokens") or 0,
            cached=details.get("cached_tokens") or 0,
            output=usage.get("completion_tokens") or 0,
        )
    return None


def added(one: Usage, other: Usage) -> Usage:
    return Usage(input=one.input + other.input, cached=one.cached + other.cached, output=one.output + other.output)
