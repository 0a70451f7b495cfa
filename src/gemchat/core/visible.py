"""Making text harmless to look at: whatever could move the cursor or reorder a line is written out instead."""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_DANGEROUS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff{_BIDI}]")


def visible(text: str) -> str:
    """The text with control characters, direction marks and lone surrogates as escapes like `\\x1b`.

    Line feeds and tabs stay.
    """
    return _DANGEROUS.sub(_escape, text)


def visible_line(text: str) -> str:
    """The same on one line, so that no part of a name can pass for a line of its own."""
    return visible(text).replace("\n", "\\x0a")


def indented(text: str) -> str:
    """The same, of which only the first line begins at the margin."""
    return visible(text).replace("\n", "\n  ")


def harmless_json(text: str) -> str:
    """The same JSON with such characters as `\\u` escapes, so that it is ASCII where it could act on anything."""
    return _DANGEROUS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
