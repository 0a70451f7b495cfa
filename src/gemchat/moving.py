"""Moving several files from one version to another, so that all of them get there or none does.

All new bytes are on the disk before the first file is replaced, so a full disk is met while nothing has happened
yet. A process that is killed leaves its intent in the session, which says enough to finish the move or to take it
back. What somebody else wrote meanwhile is never overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from gemchat.blobs import sha256
from gemchat.core.model import Change, Session
from gemchat.errors import EditConflict, Ended, SessionError, WorkspaceError
from gemchat.workspace import Workspace

BytesOf: TypeAlias = Callable[[str, str], bytes]  # the bytes of a path's version


class HalfMoved(WorkspaceError):
    """Some files are moved and cannot be moved back now, so the intent must be kept."""


class Step(NamedTuple):
    """One file's move between two versions; None is for no file."""

    path: str
    start: str | None
    end: str | None


def steps(change: Change) -> list[Step]:
    if change.kind == "undone":
        return [Step(file.path, file.after, file.before) for file in change.files]
    return [Step(file.path, file.before, file.after) for file in change.files]


def version_of(workspace: Workspace, path: str) -> str | None:
    """The hash of the file on disk."""
    data = workspace.read(path)
    return None if data is None else sha256(data)


@contextmanager
def files_moved(workspace: Workspace, moves: Sequence[Step], bytes_of: BytesOf) -> Iterator[None]:
    """Moves the files, and moves them back if that, or what the block then does, fails or is interrupted.

    Raises WorkspaceError for a file that cannot be moved, EditConflict for one that is not at its start any more.
    """
    done: list[Step] = []
    try:
        with ExitStack() as staged:
            ready = []
            for move in moves:
                replacement = workspace.stage(move.path, _bytes(move.path, move.end, bytes_of))
                staged.callback(replacement.abandon)
                ready.append(replacement)
            for move, replacement in zip(moves, ready, strict=True):
                if version_of(workspace, move.path) != move.start:
                    raise EditConflict(f"{move.path} was changed this very moment; nothing was written")
                workspace.publish(replacement)
                done.append(move)
        yield
    except (WorkspaceError, SessionError) as error:
        _move_back(workspace, done, bytes_of, error)
        raise
    except (KeyboardInterrupt, Ended) as stop:  # it may come between a move and its note
        moved = [move for move in moves if version_of(workspace, move.path) == move.end != move.start]
        _move_back(workspace, moved, bytes_of, stop)
        raise


def recover(session: Session, workspace: Workspace, bytes_of: BytesOf, note: Callable[[str], None]) -> Session:
    """Completes a move of files that was interrupted, or forgets it if no file was replaced yet.

    A file that is neither as it was nor as it should become was changed by somebody else since and is left
    alone; the change then counts as made for the files that have it. Raises WorkspaceError, to be tried again, if
    files can be moved neither on nor back.
    """
    intent = session.intent
    if intent is None:
        return session
    session = replace(session, intent=None)
    moves = [move for move in steps(intent) if _is_usable(workspace, move.path)]
    for move in moves:
        workspace.remove_leftovers(move.path)
    there = [move for move in moves if version_of(workspace, move.path) == move.end]
    if not there:
        return session
    missing = [move for move in moves if version_of(workspace, move.path) == move.start]
    try:
        with files_moved(workspace, missing, bytes_of):
            note("an interrupted change of files was completed")
            return replace(session, journal=(*session.journal, intent))
    except HalfMoved:
        raise
    except WorkspaceError as error:
        _move_back(workspace, there, bytes_of, error)
        note(f"an interrupted change of files was taken back: {error.message}")
        return session


def _move_back(workspace: Workspace, moves: Sequence[Step], bytes_of: BytesOf, reason: BaseException) -> None:
    back = [Step(move.path, move.end, move.start) for move in reversed(moves)]
    try:
        with files_moved(workspace, back, bytes_of) if back else ExitStack():
            pass
    except WorkspaceError as error:
        raise HalfMoved(
            f"{reason}, and what was written before cannot be taken back: {error.message}",
            "Make it writable. The next command completes the change or takes it back.",
        ) from error


def _bytes(path: str, version: str | None, bytes_of: BytesOf) -> bytes | None:
    return None if version is None else bytes_of(path, version)


def _is_usable(workspace: Workspace, path: str) -> bool:
    try:
        workspace.read(path)
    except WorkspaceError:
        return False
    return True
