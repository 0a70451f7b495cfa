"""Writes a proposal down in whichever reply format a schema asks for.

New texts go in; edits with search texts that occur exactly once, or whole files, come out. What the new texts
are is the mind's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemchat.core.contents import to_json
from gemchat.core.diff import hunks

_CONTEXTS = (0, 1, 2, 3, 6, 12, 25, 50, 100)


def write(
    schema: dict[str, Any], explanation: str, before: Mapping[str, str | None], after: Mapping[str, str]
) -> str:
    """`before` are the turn's targets, None for a missing file; `after` those that change."""
    wanted = schema.get("properties", {})
    if "edits" in wanted:
        named = "path" in wanted["edits"].get("items", {}).get("properties", {})
        return to_json({"explanation": explanation, "edits": _edits(before, after, named=named)})
    if "files" in wanted:
        files = [{"path": path, "proposedSource": text} for path, text in after.items()]
        return to_json({"explanation": explanation, "files": files})
    if "proposedSource" in wanted:
        text = next(iter([*after.values(), *before.values()]), None)
        return to_json({"explanation": explanation, "proposedSource": text or ""})
    return to_json({"explanation": explanation})


def edits(old: str, new: str) -> list[tuple[str, str]]:
    """Pairs of search and replacement that turn `old` into `new`, as small as their uniqueness allows."""
    for context in _CONTEXTS:
        found = [("".join(hunk.old), "".join(hunk.new)) for hunk in hunks(old, new, context)]
        if all(_occurs_once(search, old) for search, _ in found):
            return found
    return [(old, new)]


def _edits(before: Mapping[str, str | None], after: Mapping[str, str], *, named: bool) -> list[dict[str, str]]:
    return [
        {**({"path": path} if named else {}), "search": search, "replace": replace}
        for path, text in after.items()
        for search, replace in edits(before.get(path) or "", text)
    ]


def _occurs_once(search: str, text: str) -> bool:
    start = text.find(search)
    return bool(search) and start >= 0 and text.find(search, start + 1) < 0
