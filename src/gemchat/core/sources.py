"""How the model is told about one target: nothing, a diff or the whole text - and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from gemchat.core.contents import Delta, Target
from gemchat.core.diff import short_diff
from gemchat.core.model import FileRef, SentFile, Source
from gemchat.errors import WorkspaceError

TextOf: TypeAlias = Callable[[str], str | None]


class Choice(NamedTuple):
    sent: SentFile
    target: Target


def choose(ref: FileRef, held: Mapping[str, str | None], mentioned: bool, text_of: TextOf) -> Choice:
    """In a continued conversation; `mentioned` says that it has heard of the file before."""
    if ref.sha256 is None:
        return _absent(ref)
    if ref.path not in held:
        unknown = "the last edit left its text in doubt" if mentioned else "new to this conversation"
        return _full(ref, unknown, text_of)
    before = held[ref.path]
    if before == ref.sha256:
        return _synchronized(ref, "unchanged since the model last saw it")
    old, new = None if before is None else text_of(before), text_of(ref.sha256)
    if old is None or before is None or new is None:
        return _full(ref, "the version the model knows is not at hand", text_of)
    if old == new:
        return _synchronized(ref, "only line ends or the byte order mark changed")
    return _delta_or_full(ref, before, old, new, text_of)


def choose_at_restart(ref: FileRef, shown: Mapping[str, str], rewritten: bool, text_of: TextOf) -> Choice:
    """After a history that shows the versions `shown`; `rewritten` unless it is empty."""
    if ref.sha256 is None:
        return _absent(ref)
    if shown.get(ref.path) == ref.sha256:
        return _synchronized(ref, "carried in the rewritten history")
    return _full(ref, "differs from the rewritten history" if rewritten else "new to this conversation", text_of)


def targets_of(choices: Sequence[Choice]) -> list[Target]:
    return [choice.target for choice in choices] or [Target()]


def _delta_or_full(ref: FileRef, before: str, old: str, new: str, text_of: TextOf) -> Choice:
    short = short_diff(old, new, ref.path, room=(len(new) - 1) // 2)
    if short is None:
        return _full(ref, "changed too much for a diff", text_of)
    diff, added, removed = short
    delta = Delta(before=before, after=ref.sha256 or "", diff=diff)
    target = Target(path=ref.path, delta=delta, sha256=ref.sha256)
    return Choice(_sent(ref, "delta", f"changed +{added} -{removed}"), target)


def _absent(ref: FileRef) -> Choice:
    return Choice(_sent(ref, "absent", "the file does not exist yet"), Target(path=ref.path, absent=True))


def _synchronized(ref: FileRef, reason: str) -> Choice:
    target = Target(path=ref.path, synchronized=True, sha256=ref.sha256)
    return Choice(_sent(ref, "synchronized", reason), target)


def _full(ref: FileRef, reason: str, text_of: TextOf) -> Choice:
    text = None if ref.sha256 is None else text_of(ref.sha256)
    if text is None:
        raise WorkspaceError(f"the stored text of {ref.path} cannot be read", "Try again, or see: gemchat doctor")
    return Choice(_sent(ref, "full", reason), Target(path=ref.path, text=text, sha256=ref.sha256))


def _sent(ref: FileRef, source: Source, reason: str) -> SentFile:
    return SentFile(path=ref.path, sha256=ref.sha256, source=source, reason=reason, encoding=ref.encoding)
