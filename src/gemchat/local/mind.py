"""What answers inside the loopback server: the question it gets, the shape of its answer, and how it declines.

A mind sees a conversation exactly as the service would, system instruction and all messages, and nothing else.
HTTP, storage and token counts are not its business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from gemchat.core.model import Message, Usage, Value


class Prompt(Value, frozen=True):
    """Everything one call of the service says. `schema` is the JSON schema the answer must follow, if any."""

    model: str
    system: str
    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None


class Refusal(Exception):
    """The service says no, in the terms of HTTP and of Google's status names."""

    def __init__(self, message: str, code: int = 400, status: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status

    @property
    def body(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "status": self.status}}


class Mind(Protocol):
    """Yields the answer in pieces; a `Usage` among them replaces the server's own count.

    A `Refusal` before the first piece becomes an HTTP error.
    """

    @property
    def name(self) -> str: ...

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]: ...
