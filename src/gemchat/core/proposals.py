"""From a model's edit reply to new file bytes: schemas, parsing, matching, splicing.

A search text must have exactly one place in the text the model was told about (`matching`); nothing is guessed or
unescaped. What has none is listed with the reason, so that the model can be asked for it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from gemchat.core import guards
from gemchat.core.matching import TIERS, Match, match, nearest_lines
from gemchat.core.model import ReplyFormat, Tier, Value
from gemchat.core.textfile import UTF_8, Replacement, TextFile, blank, decode, misfit, splice
from gemchat.errors import ProposalRejected

SMALL_FILE_LINES = 60

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

    @property
    def whole(self) -> tuple[WholeFile, ...]:
        if self.proposedSource is None:
            return self.files
        return (*self.files, WholeFile(proposedSource=self.proposedSource))


class FailedEdit(Value, frozen=True):
    """An edit that could not be used, why, and the numbered lines that its search text may have meant."""

    path: str
    search: str
    reason: str
    nearest: str = ""


class Resolution(Value, frozen=True):
    """New bytes per changed file, how loosely its edits were matched, and what could not be used."""

    files: dict[str, bytes]
    tiers: dict[str, Tier]
    failed: tuple[FailedEdit, ...]


class _Placed(Value, frozen=True):
    what: str
    path: str
    search: str
    match: Match


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


def resolve(
    reply: EditReply,
    bases: Bases,
    *,
    may_shrink: bool = False,
    encodings: Mapping[str, str] = MappingProxyType({}),
) -> Resolution:
    """What the reply makes of the turn's targets; `bases` has None for a missing file, `encodings` its encoding.

    Edits that have no place, or leave text out, are listed as failed; the files are those the others make.
    """
    placed: dict[str, list[Match]] = {}
    failed: list[FailedEdit] = []
    for one in _placed(reply, bases):
        if isinstance(one, FailedEdit):
            failed.append(one)
        elif any(_overlap(one.match, other) for other in placed.get(one.path, ())):
            failed.append(
                FailedEdit(
                    path=one.path, search=one.search, reason=f"{one.what} changes the same place as another edit"
                )
            )
        else:
            placed.setdefault(one.path, []).append(one.match)
    files, tiers = {}, {}
    for path, matches in placed.items():
        base = bases[path] or blank(encodings.get(path, UTF_8))
        data = _spliced(path, matches, base)
        problem = (
            data
            if isinstance(data, str)
            else _doubt(path, base, data, whole=bool(reply.whole), may_shrink=may_shrink)
        )
        if isinstance(data, str) or problem:
            failed.append(FailedEdit(path=path, search="", reason=problem))
        elif bases[path] is None or data != splice(base, ()):
            files[path] = data
            tiers[path] = max((match.tier for match in matches), key=TIERS.index)
    return Resolution(files=files, tiers=tiers, failed=tuple(failed))


def _placed(reply: EditReply, bases: Bases) -> Iterator[_Placed | FailedEdit]:
    for file in reply.whole:
        path = _target(file.path, bases)
        text = _text(path, bases)
        whole = Match(start=0, end=len(text), text=_as_shown(file.proposedSource, text), tier="exact")
        placed = _Placed(what="the file", path=path or "", search="", match=whole)
        yield placed if path else _astray("the file", file.path)
    for number, edit in enumerate(reply.edits, 1):
        what = f"edit {number} of {len(reply.edits)}"
        path = _target(edit.path, bases)
        yield _place(what, edit, path, _text(path, bases)) if path else _astray(what, edit.path, edit.search)


def _place(what: str, edit: Edit, path: str, text: str) -> _Placed | FailedEdit:
    found = _match(edit, path, text)
    if isinstance(found, Match):
        return _Placed(what=what, path=path, search=edit.search, match=found)
    reason = f"the search text of {what} {found}"
    return FailedEdit(path=path, search=edit.search, reason=reason, nearest=nearest_lines(edit.search, text))


def _astray(what: str, path: str | None, search: str = "") -> FailedEdit:
    named = "does not say which file it changes"
    if path is not None:
        named = f"changes {path!r}, which is not a file of this turn"
    return FailedEdit(path=path or "", search=search, reason=f"{what} {named}")


def _target(path: str | None, bases: Bases) -> str | None:
    if path is None and len(bases) == 1:
        return next(iter(bases))
    return path if path in bases else None


def _text(path: str | None, bases: Bases) -> str:
    base = bases.get(path) if path is not None else None
    return base.text if base else ""


def _match(edit: Edit, path: str, text: str) -> Match | str:
    search, new = _as_shown(edit.search, text), _as_shown(edit.replace, text)
    if not search:
        return f"is empty, but {path} is not" if text else Match(start=0, end=0, text=new, tier="exact")
    found = match(search, new, text)
    return f"{found} in {path}" if isinstance(found, str) else found


def _overlap(one: Match, other: Match) -> bool:
    return one.start == other.start or (one.start < other.end and other.start < one.end)


def _spliced(path: str, matches: Sequence[Match], base: TextFile) -> bytes | str:
    """The new bytes, or why there can be none."""
    if any("\0" in match.text for match in matches):
        return f"the reply makes a binary file of {path}"
    ordered = sorted(matches, key=lambda match: match.start)
    try:
        return splice(base, [Replacement(start=m.start, end=m.end, text=m.text) for m in ordered])
    except UnicodeEncodeError as error:
        return f"the reply does not fit the encoding of {path}: {misfit(error, base.encoding)}"


def _doubt(path: str, base: TextFile, data: bytes, *, whole: bool, may_shrink: bool) -> str:
    """Why the text is not one to propose, or the empty string."""
    old, new = base.text, decode(data, base.encoding).text
    elided = guards.elided_line(path, old, new)
    if elided is not None:
        return f"the reply leaves text of {path} out: {elided}"
    if whole and not may_shrink and guards.has_shrunk(old, new):
        return f"the reply is much shorter than {path}; send it again if so much is to go"
    return ""


def _as_shown(text: str, base: str) -> str:
    """Models sometimes write CRLF where they were shown LF, or a byte order mark; texts without them get none."""
    text = text if base.startswith("\ufeff") else text.removeprefix("\ufeff")
    return text if "\r" in base else text.replace("\r\n", "\n")


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
