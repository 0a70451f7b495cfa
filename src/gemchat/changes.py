"""What the user does with proposals: apply, discard, undo, redo. The only code that changes the user's files.

Every file is checked before the first is written, under the project lock; the versions to go back to are stored
and the intent recorded before that. So a conflict touches nothing, and a crash leaves something that the next
command completes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gemchat.core import history, textfile
from gemchat.core.merge import Conflict
from gemchat.core.merge import merge as merge_texts
from gemchat.core.model import Change, ChangeKind, FileChange, Session
from gemchat.core.picking import Selection, selection
from gemchat.errors import EditConflict, NothingPending, NothingToUndo, NotText, UsageError
from gemchat.moving import steps
from gemchat.project import Project

_CHANGED: Mapping[str, tuple[str, str]] = {
    "applied": (
        "the proposal was made",
        'Start again from the file as it is: gemchat edit "…", or drop the proposal: gemchat discard',
    ),
    "undone": ("it was applied", "To keep what was changed since: gemchat undo --merge"),
    "redone": ("it was undone", 'Ask for the change again: gemchat edit "…"'),
}


class PickedFile(NamedTuple):
    """A pending change, and which of its hunks are taken."""

    file: FileChange
    hunks: Selection


def apply(project: Project, paths: Collection[str] = (), *, merge: bool = False) -> Change:
    """Writes what is pending, for all files or the named ones; `merge` joins it with what was changed since."""
    with project.locked() as session:
        files = select(session, paths)
        ready = [_merged(project, file) for file in files] if merge else files
        return _write(project, session, "applied", ready, dropped=any(file.partial for file in ready))


def apply_hunks(
    project: Project, numbers: Collection[int], paths: Collection[str] = (), *, drop_rest: bool = False
) -> Change:
    """Writes some hunks of what is pending, counted from 1 through all its files; the rest stays or is dropped."""
    with project.locked() as session:
        picked = _numbered(project, select(session, paths), numbers)
        return _apply_picked(project, session, picked, drop_rest=drop_rest)


def apply_picked(project: Project, picked: Sequence[PickedFile], *, drop_rest: bool = False) -> Change:
    """Writes the hunks taken of what is pending; the rest stays, with edited hunks as they are now, or is dropped.

    Raises EditConflict when something else is pending meanwhile, and NothingPending when no hunk is taken.
    """
    with project.locked() as session:
        _check_pending(session, [file for file, _ in picked])
        return _apply_picked(project, session, picked, drop_rest=drop_rest)


def revise(project: Project, file: FileChange, text: bytes) -> Change:
    """Puts the user's own text in the place of a pending one; a text that is the file's own discards it.

    Raises EditConflict when something else is pending meanwhile, and NotText for what is no text.
    """
    try:
        textfile.decode(text)
    except NotText as error:
        raise NotText(f"the new text of {file.path} {error.message}", error.hint) from None
    with project.locked() as session:
        _check_pending(session, [file])
        new = _with_text(project, file, text.decode())
        kept = project.with_change(session, "revised", [new])
        revised = kept if new.after != file.before else project.with_change(session, "discarded", [file])
        project.store.save(revised)
        return _newest(revised)


def discard(project: Project, paths: Collection[str] = ()) -> Change:
    """Drops what is pending; no file is touched."""
    with project.locked() as session:
        discarded = project.with_change(session, "discarded", select(session, paths))
        project.store.save(discarded)
        return _newest(discarded)


def undo(project: Project, *, merge: bool = False) -> Change:
    """Takes back the newest change that was applied and not taken back; `merge` keeps what was changed since."""
    with project.locked() as session:
        stack = history.undo_stack(session).undo
        if not stack:
            raise NothingToUndo("nothing has been applied in this session", "See what is pending: gemchat diff")
        files = stack[-1].files
        return _write(project, session, "undone", [_unmerged(project, file) for file in files] if merge else files)


def redo(project: Project) -> Change:
    """Repeats the newest change that was taken back, unless something was applied since."""
    with project.locked() as session:
        stack = history.undo_stack(session).redo
        if not stack:
            raise NothingToUndo("nothing has been undone that could be repeated")
        return _write(project, session, "redone", stack[-1].files)


def select(session: Session, paths: Collection[str] = ()) -> tuple[FileChange, ...]:
    """What is pending for the named files, or for all. Raises NothingPending for a file without a proposal."""
    pending = history.pending_changes(session)
    if not pending:
        raise NothingPending("nothing is pending", 'Ask for a change first: gemchat edit "…" FILE')
    for path in paths:
        if path not in pending:
            raise NothingPending(f"nothing is pending for {path}", f"Pending: {', '.join(pending)}")
    return tuple(change for path, change in pending.items() if not paths or path in paths)


def hunks_of(project: Project, file: FileChange) -> Selection:
    """The hunks of a pending change, none of them decided."""
    old, new = (raw_text(project, file, version) for version in (file.before, file.after))
    return selection(old, new)


def raw_text(project: Project, file: FileChange, version: str | None) -> str:
    """A version as text with its own line ends and byte order mark; empty for no file."""
    return "" if version is None else textfile.raw_text(project.bytes_of(file.path, version), file.encoding)


def _merged(project: Project, file: FileChange) -> FileChange:
    """The change as it is from the file now. Raises EditConflict with the places that cannot be merged."""
    now, merged = _joined(project, file, file.before, file.after)
    if now != file.before:
        project.note(f"{file.path} had changed; both changes are in it now")
    return replace(file, before=now, after=merged)


def _unmerged(project: Project, file: FileChange) -> FileChange:
    """The change as it would have led to the file now. Raises EditConflict as `_merged` does."""
    now, merged = _joined(project, file, file.after, file.before)
    if now != file.after:
        project.note(f"{file.path} had changed; only what was applied is taken back")
    return replace(file, before=merged, after=now)


def _joined(
    project: Project, file: FileChange, base: str | None, wanted: str | None
) -> tuple[str | None, str | None]:
    """The version that the file has, and the one with the change from `base` to `wanted` in it as well."""
    now = project.remember(file.path, file.encoding)
    if now == base:
        return now, wanted
    if now is None or base is None or wanted is None:
        raise EditConflict(f"{file.path} was created or deleted meanwhile, so there is nothing to merge with")
    merged = merge_texts(*(raw_text(project, file, version).encode() for version in (base, now, wanted)))
    if not isinstance(merged, bytes):
        raise EditConflict(
            f"{file.path} was changed in the same places meanwhile; nothing was written",
            "\n".join(_shown(conflict) for conflict in merged),
        )
    return now, project.store.blobs.put(merged.decode().encode(file.encoding))


def _shown(conflict: Conflict) -> str:
    now, proposed = (text.decode("utf-8", "replace") for text in (conflict.now, conflict.proposed))
    return f"line {conflict.line}, now:\n{now}wanted:\n{proposed}".rstrip("\n")


def _numbered(project: Project, files: Sequence[FileChange], numbers: Collection[int]) -> list[PickedFile]:
    """The hunks with these numbers. Raises UsageError for a number that no hunk has."""
    first, picked = 1, []
    for file in files:
        found = hunks_of(project, file)
        taken = tuple(number in numbers for number in range(first, first + len(found.hunks)))
        picked.append(PickedFile(file, replace(found, taken=taken)))
        first += len(taken)
    missing = sorted(number for number in numbers if not 0 < number < first)
    if missing or not numbers:
        raise UsageError(f"there is no hunk {missing[0] if missing else 0}", f"There are hunks 1 to {first - 1}.")
    return picked


def _apply_picked(project: Project, session: Session, picked: Sequence[PickedFile], *, drop_rest: bool) -> Change:
    """Hunks that were edited become part of what is pending first, so that only what was left out stays so."""
    written, revised = [], []
    for file, hunks in picked:
        if not any(hunks.taken):
            continue
        old, new = (raw_text(project, file, version) for version in (file.before, file.after))
        chosen, proposed = hunks.chosen(old), hunks.proposed(old)
        if proposed != new:
            revised.append(_with_text(project, file, proposed))
        written.append(file if chosen == new else _with_text(project, file, chosen))
    if not written:
        raise NothingPending("no hunk was taken; nothing was written")
    if revised and not drop_rest:
        session = project.with_change(session, "revised", revised)
    change = _write(project, session, "applied", written, dropped=drop_rest)
    rest = [file for file, _ in picked if file.path not in {other.path for other in written}]
    if drop_rest and rest:
        project.store.save(project.with_change(project.load(), "discarded", rest))
    return change


def _with_text(project: Project, file: FileChange, text: str) -> FileChange:
    try:
        data = text.encode(file.encoding)
    except UnicodeEncodeError as error:
        raise NotText(f"{file.path}: {textfile.misfit(error, file.encoding)}") from None
    return replace(file, after=project.store.blobs.put(data), partial=True)


def _check_pending(session: Session, files: Sequence[FileChange]) -> None:
    """What is pending for these files is what it was when the user looked at it."""
    pending = history.pending_changes(session)
    for file in files:
        if pending.get(file.path) != file:
            raise EditConflict(
                f"something else is pending for {file.path} now; nothing was written", "See it: gemchat diff"
            )


def _write(
    project: Project, session: Session, kind: ChangeKind, files: Sequence[FileChange], *, dropped: bool = False
) -> Change:
    session = project.with_change(session, kind, files, dropped=dropped)
    change = _newest(session)
    moves = steps(change)
    project.workspace.check_distinct([move.path for move in moves])
    for file, (path, expected, target) in zip(files, moves, strict=True):
        _check(project, file, expected, kind)
        if target is not None:
            project.bytes_of(path, target)
        if expected is None:
            project.workspace.check_creatable(path)
    project.move(replace(session, journal=session.journal[:-1]), change)
    return change


def _check(project: Project, file: FileChange, expected: str | None, kind: ChangeKind) -> None:
    """The file is what the change starts from, and can be restored to it."""
    if project.remember(file.path, file.encoding) == expected:
        return
    what, hint = _CHANGED[kind]
    raise EditConflict(f"{file.path} has changed since {what}; nothing was written", hint)


def _newest(session: Session) -> Change:
    change = session.journal[-1]
    assert isinstance(change, Change)
    return change
