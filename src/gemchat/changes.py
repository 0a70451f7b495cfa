"""What the user does with proposals: apply, discard, undo, redo. The only code that changes the user's files.

Every file is checked before the first is written, under the project lock; the versions to go back to are stored
and the intent recorded before that. So a conflict touches nothing, and a crash leaves something that the next
command completes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.model import Change, ChangeKind, FileChange, Session
from gemchat.errors import EditConflict, NothingPending, NothingToUndo
from gemchat.project import Project


def apply(project: Project, paths: Collection[str] = ()) -> Change:
    """Writes what is pending, for all files or the named ones."""
    with project.locked() as session:
        return _write(project, session, "applied", select(session, paths))


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


def _write(project: Project, session: Session, kind: ChangeKind, files: Sequence[FileChange]) -> Change:
    steps = [
        (file.path, file.after, file.before) if kind == "undone" else (file.path, file.before, file.after)
        for file in files
    ]
    for path, expected, target in steps:
        _check(project, path, expected, kind)
        if target is not None:
            project.bytes_of(path, target)
    session = project.with_change(session, kind, files)
    change = _newest(session)
    project.store.save(replace(session, journal=session.journal[:-1], intent=change))
    for path, _, target in steps:
        project.put_version(path, target)
    project.store.save(session)
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
