"""The names that a request gives: what a change that was asked for by name must show, and what must be gone.

Only what is plainly said counts: `rename X to Y`, and new things that look like identifiers.
"""

from __future__ import annotations

import re

_KIND = (
    r"(?:function|method|class|constant|variable|parameter|argument|field|attribute|type|key|option|property|enum"
    r"|struct|interface|module)"
)
_RENAMED = re.compile(
    rf"\brenam(?:e|es|ed|ing)\s+(?:the\s+)?(?:{_KIND}\s+)?[`'\"]?(\w+)(?:\(\))?[`'\"]?"
    r"\s+(?:to|as|into)\s+[`'\"]?(\w+)",
    re.IGNORECASE,
)
_CREATES = re.compile(r"\b(?:add|creat|writ|defin|introduc|implement|insert|extract|provid|rename)", re.IGNORECASE)
_NEW = re.compile(
    rf"\b(?:{_KIND}(?:\s+(?:called|named))?|called|named)\s+(?P<open>`?)(?P<name>[^\W\d]\w*)`?(?P<call>\(?)",
    re.IGNORECASE,
)


def renamed(request: str) -> tuple[str, str] | None:
    """The old and the new name, if something is to be renamed."""
    found = _RENAMED.search(request)
    return (found[1], found[2]) if found else None


def unfulfilled(request: str, old: str, new: str) -> str:
    """Which of the names that `request` wants in the text it did not get, or did not get rid of; "" if none."""
    missing = sorted(name for name in _wanted(request, old) if not occurs(name, new))
    return f"{', '.join(missing)} is missing" if missing else ""


def occurs(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _wanted(request: str, old: str) -> set[str]:
    names = set()
    if (pair := renamed(request)) and occurs(pair[0], old):
        names.add(pair[1])
    if _CREATES.search(request):
        names |= {found["name"] for found in _NEW.finditer(request) if _is_identifier(found)}
    return {name for name in names if not occurs(name, old)}


def _is_identifier(found: re.Match[str]) -> bool:
    """Not any word: `add a function that …`."""
    name = found["name"]
    return bool(found["open"] or found["call"] or "_" in name or name[1:] != name[1:].lower())
