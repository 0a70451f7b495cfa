"""What the user does with proposals: apply, discard, undo, redo. The only code that changes the user's files.

Every file is checked before the first is written, under the project lock; the versions to go back to are stored
and the intent recorded before that. So a conflict touches nothing, and a crash leaves something that the next
command completes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from gemchat.core import diff, history
from gemchat.core.diff import hunks
from gemchat.core.merge import Conflict
from gemchat.core.merge import merge as merge_texts
from gemchat.core.model import Change, ChangeKind, FileChange, Session
from gemchat.errors import EditConflict, NothingPending, NothingToUndo, UsageError
from gemchat.moving import steps
from gemchat.project import Project


def apply(project: Project, paths: Collection[str] = (), *, merge: bool = False) -> Change:
    """Writes what is pending, for all files or the named ones; `merge` joins it with what was changed since."""
    with project.locked() as session:
        files = select(session, paths)
        return _write(project, session, "applied", [_merged(project, file) for file in files] if merge else files)


def apply_hunks(
    project: Project, numbers: Collection[int], paths: Collection[str] = (), *, drop_rest: bool = False
) -> Change:
    """Writes some hunks of what is pending, counted from 1 through all its files; the rest stays or is dropped."""
    with project.locked() as session:
        files = select(session, paths)
        some = _with_hunks(project, files, numbers)
        change = _write(project, session, "applied", some, dropped=drop_rest)
        rest = [file for file in files if file.path not in {written.path for written in some}]
        if drop_rest and rest:
            project.store.save(project.with_change(project.load(), "discarded", rest))
        return change


def discard(project: Project, paths: Collection[str] = ()) -> Change:
    """Drops what is pending; no file is touched."""
    with project.locked() as session:
        discarded = project.with_change(session, "discarded", select(session, paths))
        project.store.save(discarded)
        return _newest(discarded)


def undo(project: Project) -> Change:
    """Takes back the newest change that was applied and not taken back."""
    with project.locked() as session:
        stack = history.undo_stack(session).undo
        if not stack:
            raise NothingToUndo("nothing has been applied in this session", "See what is pending: gemchat diff")
        return _write(project, session, "undone", stack[-1].files)


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


def _merged(project: Project, file: FileChange) -> FileChange:
    """The change as it is from the file now. Raises EditConflict with the places that cannot be merged."""
    now = project.remember(file.path)
    if now == file.before:
        return file
    if now is None or file.before is None or file.after is None:
        raise EditConflict(f"{file.path} was created or deleted meanwhile, so there is nothing to merge with")
    base, here, there = (project.bytes_of(file.path, version) for version in (file.before, now, file.after))
    merged = merge_texts(base, here, there)
    if not isinstance(merged, bytes):
        raise EditConflict(
            f"{file.path} was changed in the same places as the proposal; nothing was written",
            "\n".join(_shown(conflict) for conflict in merged),
        )
    project.note(f"{file.path} had changed; both changes are in it now")
    return replace(file, before=now, after=project.store.blobs.put(merged))


def _shown(conflict: Conflict) -> str:
    now, proposed = (text.decode("utf-8", "replace") for text in (conflict.now, conflict.proposed))
    return f"line {conflict.line}, now:\n{now}proposed:\n{proposed}"


def _with_hunks(project: Project, files: Sequence[FileChange], numbers: Collection[int]) -> list[FileChange]:
    """The changes that the chosen hunks make; files without a chosen hunk are left out."""
    first, chosen = 1, []
    for file in files:
        old, new = (
            "" if version is None else project.bytes_of(file.path, version).decode()
            for version in (file.before, file.after)
        )
        found = hunks(old, new)
        picked = [hunk for number, hunk in enumerate(found, first) if number in numbers]
        first += len(found)
        if len(picked) == len(found):
            chosen.append(file)
        elif picked:
            after = project.store.blobs.put(diff.apply_hunks(old, picked).encode())
            chosen.append(replace(file, after=after, partial=True))
    missing = sorted(number for number in numbers if not 0 < number < first)
    if missing or not chosen:
        raise UsageError(f"there is no hunk {missing[0] if missing else 0}", f"There are hunks 1 to {first - 1}.")
    return chosen


def _raw_text(project: Project, path: str, version: str | None) -> str:
    return "" if version is None else project.bytes_of(path, version).decode()


def _write(
    project: Project, session: Session, kind: ChangeKind, files: Sequence[FileChange], *, dropped: bool = False
) -> Change:
    session = project.with_change(session, kind, files, dropped=dropped)
    change = _newest(session)
    moves = steps(change)
    project.workspace.check_distinct([move.path for move in moves])
    for path, expected, target in moves:
        _check(project, path, expected, kind)
        if target is not None:
            project.bytes_of(path, target)
        if expected is None:
            project.workspace.check_creatable(path)
    project.move(replace(session, journal=session.journal[:-1]), change)
    return change


def _check(project: Project, path: str, expected: str | None, kind: ChangeKind) -> None:
    """The file is what the change starts from, and can be restored to it."""
    if project.remember(path) == expected:
        return
    what = {"applied": "the proposal was made", "undone": "it was applied", "redone": "it was undone"}[kind]
    hint = 'Start again from the file as it is: gemchat edit "…", or drop the proposal: gemchat discard'
    raise EditConflict(f"{path} has changed since {what}; nothing was written", hint if kind == "applied" else "")


def _newest(session: Session) -> Change:
    change = session.journal[-1]
    assert isinstance(change, Change)
    return change
