"""Counts tokens, and how many of them a prefix cache like Gemini's would serve.

A token is four characters, rounded up over the whole request; images and PDFs weigh what they are documented to.
Every prefix of a conversation that was billed is
remembered by digest, its reply included; the longest one still warm is what the next request has cached. Which
API a conversation came through, and how a message is cut into parts, makes no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from gemchat.core.model import Message, Usage
from gemchat.local.mind import Prompt

CACHE_FLOOR = 4096
CACHE_TTL = 300.0
_CHARS_PER_TOKEN = 4


def tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def count(prompt: Prompt) -> int:
    return tokens(len(prompt.system) + sum(map(_chars, prompt.messages)))


def _chars(message: Message) -> int:
    return sum(map(len, message.parts)) + _CHARS_PER_TOKEN * sum(ref.tokens for ref in message.media)


class Meter:
    """Not locked: its owner sees to it that calls do not overlap."""

    def __init__(self, floor: int = CACHE_FLOOR, ttl: float = CACHE_TTL) -> None:
        self._floor = floor
        self._ttl = ttl
        self._seen: dict[bytes, float] = {}

    def quote(self, prompt: Prompt, now: float) -> Usage:
        """What the prompt costs before anything is answered. Remembers nothing."""
        warm = [chars for digest, chars in _prefixes(prompt) if self._is_warm(digest, now)]
        cached = tokens(max(warm, default=0))
        return Usage(input=count(prompt), cached=cached if cached >= self._floor else 0)

    def bill(self, prompt: Prompt, reply: str, now: float) -> Usage:
        """What the prompt and its reply cost. Both are warm from now on."""
        quoted = self.quote(prompt, now)
        self._seen = {digest: at for digest, at in self._seen.items() if now - at < self._ttl}
        answered = Prompt(
            model=prompt.model,
            system=prompt.system,
            messages=(*prompt.messages, Message(role="model", parts=(reply,))),
        )
        self._seen.update((digest, now) for digest, _ in _prefixes(answered))
        return Usage(input=quoted.input, cached=quoted.cached, output=tokens(len(reply)))

    def _is_warm(self, digest: bytes, now: float) -> bool:
        at = self._seen.get(digest)
        return at is not None and now - at < self._ttl


def _prefixes(prompt: Prompt) -> Iterator[tuple[bytes, int]]:
    """The digest and the characters of each prefix, from the bare system instruction to all messages."""
    digest = _digest(prompt.model, prompt.system)
    chars = len(prompt.system)
    yield digest, chars
    for message in prompt.messages:
        digest = _digest(digest.hex(), message.role, "".join(message.parts), *_named(message))
        chars += _chars(message)
        yield digest, chars


def _named(message: Message) -> list[str]:
    return [ref.sha256 for ref in message.media]


def _digest(*texts: str) -> bytes:
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:%b" % (len(data), data))
    return digest.digest()
