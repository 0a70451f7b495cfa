"""From a model's edit reply to new file bytes: schemas, parsing, matching, splicing.

Search texts are matched literally and must occur exactly once in the text the model was told about; nothing is
guessed, unescaped or searched by similarity. Every failure is a ProposalRejected that says which edit and why,
and then none of the reply counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from gemchat.core.model import ReplyFormat, Value
from gemchat.core.textfile import Replacement, TextFile, splice
from gemchat.errors import ProposalRejected

SMALL_FILE_LINES = 60
_MAX_LINES_NAMED = 5

Bases: TypeAlias = Mapping[str, TextFile | None]


class Edit(Value, frozen=True):
    """Replace the one occurrence of `search` by `replace`. An empty search stands for an empty or new file."""

    search: str
    replace: str
    path: str | None = None


class WholeFile(Value, frozen=True):
    """A file's complete new text."""

    proposedSource: str  # noqa: N815  the name on the wire
    path: str | None = None


class EditReply(Value, frozen=True):
    explanation: str
    edits: tuple[Edit, ...] = ()
    files: tuple[WholeFile, ...] = ()
    proposedSource: str | None = None  # noqa: N815  the name on the wire


def choose_format(bases: Bases) -> ReplyFormat:
    """Whole files while they are short or new, else edits: a long file's text costs more than a few anchors."""
    short = all(base is None or base.text.count("\n") <= SMALL_FILE_LINES for base in bases.values())
    return "whole" if short else "edits"


def schema(reply_format: ReplyFormat, targets: int) -> dict[str, Any] | None:
    """The JSON schema a reply must follow, None for free text. `explanation` comes first so that it can stream."""
    text = {"type": "string"}
    path = {"path": text} if targets > 1 else {}
    if reply_format == "text":
        return None
    if reply_format == "edits":
        return _object(explanation=text, edits=_list(_object(**path, search=text, replace=text)))
    if targets == 1:
        return _object(explanation=text, proposedSource=text)
    return _object(explanation=text, files=_list(_object(**path, proposedSource=text)))


def parse(reply: str) -> EditReply:
    try:
        return msgspec.json.decode(reply, type=EditReply)
    except msgspec.DecodeError as error:
        raise ProposalRejected(f"the reply is not the JSON that was asked for ({error})") from None


def resolve(reply: EditReply, bases: Bases) -> dict[str, bytes]:
    """The new bytes of each file that the reply changes. `bases` are the turn's targets, None for a missing file.

    A file whose bytes would not change is left out; a reply that changes nothing resolves to {}.
    """
    changes: dict[str, list[Replacement]] = {}
    for path, change in _replacements(reply, bases):
        changes.setdefault(path, []).append(change)
    resolved = {}
    for path, replacements in changes.items():
        base = bases[path]
        data = splice(base or TextFile(), _in_order(path, replacements))
        if base is None or data != splice(base, ()):
            resolved[path] = data
    return resolved


def _replacements(reply: EditReply, bases: Bases) -> Iterator[tuple[str, Replacement]]:
    whole = [*reply.files]
    if reply.proposedSource is not None:
        whole.append(WholeFile(proposedSource=reply.proposedSource))
    for file in whole:
        path, text = _base_text(file.path, bases)
        yield path, Replacement(start=0, end=len(text), text=_as_shown(file.proposedSource, text))
    for number, edit in enumerate(reply.edits, 1):
        path, text = _base_text(edit.path, bases)
        yield path, _match(f"edit {number} of {len(reply.edits)}", edit, path, text)


def _base_text(path: str | None, bases: Bases) -> tuple[str, str]:
    if path is None and len(bases) == 1:
        path = next(iter(bases))
    if path is None:
        raise ProposalRejected("the reply does not say which file it changes")
    if path not in bases:
        raise ProposalRejected(f"the reply changes {path!r}, which is not a file of this turn")
    base = bases[path]
    return path, base.text if base else ""


def _match(what: str, edit: Edit, path: str, text: str) -> Replacement:
    search = _as_shown(edit.search, text)
    if not search and text:
        raise ProposalRejected(f"{what} has no search text, but {path} is not empty")
    starts = list(_occurrences(search, text)) if search else [0]
    if not starts:
        raise ProposalRejected(f"the search text of {what} does not occur in {path}")
    if len(starts) > 1:
        raise ProposalRejected(
            f"the search text of {what} occurs {len(starts)} times in {path} ({_line_numbers(text, starts)})"
        )
    return Replacement(start=starts[0], end=starts[0] + len(search), text=_as_shown(edit.replace, text))


def _occurrences(search: str, text: str) -> Iterator[int]:
    start = text.find(search)
    while start >= 0:
        yield start
        start = text.find(search, start + 1)


def _line_numbers(text: str, starts: Sequence[int]) -> str:
    numbers = [str(text.count("\n", 0, start) + 1) for start in starts[:_MAX_LINES_NAMED]]
    more = ", …" if len(starts) > _MAX_LINES_NAMED else ""
    return f"lines {', '.join(numbers)}{more}"


def _in_order(path: str, replacements: Sequence[Replacement]) -> list[Replacement]:
    ordered = sorted(replacements, key=lambda change: (change.start, change.end))
    for first, second in pairwise(ordered):
        if second.start < first.end or first.start == second.start:
            raise ProposalRejected(f"two edits change the same place in {path}")
    return ordered


def _as_shown(text: str, base: str) -> str:
    """Models sometimes write CRLF where they were shown LF; a file that has no CR in its text gets none."""
    return text if "\r" in base else text.replace("\r\n", "\n")


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
