"""Examines what is stored, says what is wrong with it, and repairs what can be repaired without losing anything.

It talks to nobody, and without being asked to repair it writes nothing. The order is that of the harm done:
what cannot be entered, who holds the lock, what is damaged, what is missing, what is merely in the way.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from gemchat import generations
from gemchat.atomic import is_leftover, private_directory
from gemchat.blobs import sha256
from gemchat.core.references import references
from gemchat.errors import GemchatError, SessionCorrupt, SessionError, WorkspaceError
from gemchat.project import Project
from gemchat.store import DEFAULT_SESSION, GRACE, RECORD, Record, Store, describe, read_record

FIX = "gemchat doctor --fix"
_HOW_TO_FIX = f"Mend it: {FIX}"
_DO_WITHOUT = "Continue with --restart; if a proposal is pending, drop it: gemchat discard"

State: TypeAlias = Literal["ok", "note", "fixed", "problem"]


class Finding(NamedTuple):
    """`check` names what was looked at, `state` how it is: a problem needs the user, a note may interest them."""

    check: str
    state: State
    message: str
    hint: str = ""


def examine(project: Project, state: Path, *, fix: bool) -> Iterator[Finding]:
    """Everything that is stored for the project. With `fix` call with the lock held."""
    store = project.store
    yield from _permissions(state, fix=fix)
    yield from _record(store, fix=fix)
    for name in store.names():
        yield from _session(store, name, fix=fix)
    yield from _blobs(project, fix=fix)
    yield from _litter(store, project.clock(), fix=fix)


def lock(store: Store) -> Finding:
    holder = store.holder()
    if holder is None:
        return Finding("lock", "ok", "nobody holds the project's lock")
    return Finding(
        "lock",
        "problem",
        f"{holder} holds the project's lock",
        "A lock ends with its process: wait for it, or end it. Only if that was on another machine which is gone, "
        f"remove {store.directory / 'lock'}",
    )


def _permissions(state: Path, *, fix: bool) -> Iterator[Finding]:
    entries = list(_entries(state))
    wrong = [(path, wanted) for path, wanted in entries if stat.S_IMODE(path.lstat().st_mode) != wanted]
    for path, wanted in wrong:
        if fix:
            path.chmod(wanted)
            yield Finding("permissions", "fixed", f"{path} may be used by you alone now")
        else:
            yield Finding("permissions", "problem", f"{path} has other permissions than {wanted:o}", _HOW_TO_FIX)
    if not wrong:
        yield Finding("permissions", "ok", f"{state} is yours alone" if entries else f"{state} is not there yet")


def _entries(state: Path) -> Iterator[tuple[Path, int]]:
    """All directories and files of the state, and what their permissions should be."""
    if state.is_dir():
        yield state, 0o700
    for directory, directories, files in os.walk(state):
        for name in (*directories, *files):
            path = Path(directory, name)
            if not path.is_symlink() and (path.is_file() or path.is_dir()):
                yield path, 0o700 if path.is_dir() else 0o600


def _record(store: Store, *, fix: bool) -> Iterator[Finding]:
    try:
        read_record(store.directory)
    except SessionCorrupt as error:
        if not fix:
            yield Finding("project", "problem", error.message, _HOW_TO_FIX)
            return
        aside = generations.aside(store.directory / RECORD)
        store.use(DEFAULT_SESSION)
        yield Finding("project", "fixed", f"{error.message} and was set aside as {aside}")


def _session(store: Store, name: str, *, fix: bool) -> Iterator[Finding]:
    path = store.path(name)
    files = (path, generations.backup(path))
    damaged = {file: error for file in files if (error := _damage(file)) is not None}
    for file, error in damaged.items():
        said = f"{file}: {error.message}"
        if not isinstance(error, SessionCorrupt):
            yield Finding("sessions", "problem", said, error.hint)
        elif not fix:
            yield Finding("sessions", "problem", said, f"Set it aside and use what is left: {FIX}")
        else:
            yield Finding("sessions", "fixed", f"{said}; it was set aside as {generations.aside(file)}")
    if fix and isinstance(damaged.get(path), SessionCorrupt) and len(damaged) == 1:
        store.load(name)
    if not damaged:
        yield Finding("sessions", "ok", f"session {name} is in order")


def _damage(path: Path) -> SessionError | None:
    """What is wrong with a generation of a session; one that is not there is not damaged."""
    try:
        data = generations.read_bytes(path)
        if data is not None:
            generations.decode(data, path)
    except SessionError as error:
        return error
    return None


def _blobs(project: Project, *, fix: bool) -> Iterator[Finding]:
    sound = 0
    for name in project.store.names():
        session = None if _damage(project.store.path(name)) else project.store.load(name)
        for path, blob in sorted(set(references(session))) if session else ():
            if project.store.blobs.get(blob) is not None:
                sound += 1
            elif fix and path and _is_on_disk(project, path, blob):
                yield Finding(
                    "blobs", "fixed", f"{path}: its stored text {blob[:12]} was read from the file again"
                )
            else:
                said = f"{path or 'what was said'}: the stored text {blob[:12]} is missing or damaged"
                yield Finding("blobs", "problem", f"session {name}: {said}", _DO_WITHOUT)
    yield Finding("blobs", "ok", f"{sound} stored texts are what they should be")


def _is_on_disk(project: Project, path: str, blob: str) -> bool:
    try:
        data = project.workspace.read(path)
    except WorkspaceError:
        return False
    return data is not None and sha256(data) == blob == project.store.blobs.put(data)


def _litter(store: Store, now: float, *, fix: bool) -> Iterator[Finding]:
    aside = sorted(store.directory.glob("**/*.corrupt-*"))
    if aside:
        listed = ", ".join(map(str, aside))
        yield Finding("set aside", "note", f"damaged files are kept: {listed}", "Delete them when you are sure.")
    leftovers = [path for path in (*store.directory.glob("*"), *store.sessions.glob("*")) if is_leftover(path)]
    if fix:
        for path in leftovers:
            path.unlink(missing_ok=True)
    needed = store.needed()
    if needed is None:
        yield Finding("unneeded", "note", "nothing is removed while a session cannot be read")
        return
    count = store.blobs.sweep(needed, now - GRACE) if fix else store.blobs.unneeded(needed, now - GRACE)
    if count or leftovers:
        said = f"{count} stored texts and {len(leftovers)} unfinished files that nothing needs"
        yield Finding("unneeded", "fixed" if fix else "note", said, "" if fix else f"Remove them: {FIX}")


def orphans(state: Path, present: Store, root: Path) -> list[tuple[Path, str]]:
    """Projects whose root is not there any more, by their directory, with that root.

    One that says it belongs to the present root but lies elsewhere is half adopted and counts too.
    """
    found = []
    for directory in sorted((state / "projects").glob("*")):
        try:
            record = read_record(directory)
        except GemchatError:
            continue
        if record is None or directory == present.directory:
            continue
        if record.root == str(root) or not Path(record.root).is_dir():
            found.append((directory, record.root))
    return found


def moved_here(state: Path, present: Store, root: Path) -> list[Path]:
    """Where its conversations may be: a project without any, and others of its name that have lost their root."""
    if present.names():
        return []
    return [found for found, lost in orphans(state, present, root) if Path(lost).name == root.name]


def adopt(present: Store, orphan: Path, root: Path) -> Finding:
    """Makes the conversations of a project that moved those of the present one, which must not have any."""
    abandoned = Store(orphan, root, lambda _: None)
    with abandoned.lock(), present.lock():
        if present.names():
            raise SessionError(
                f"{root} has conversations of its own: {', '.join(present.names())}",
                "Remove them first: gemchat sessions rm NAME",
            )
        record = read_record(orphan) or Record(root="")
        describe(orphan, msgspec.structs.replace(record, root=str(root)))
        for blob in present.blobs.directory.glob("*"):
            blob.rename(private_directory(abandoned.blobs.directory) / blob.name)
        shutil.rmtree(present.directory)
        orphan.rename(present.directory)
    return Finding("moved", "fixed", f"the conversations of {record.root} are now those of {root}")
