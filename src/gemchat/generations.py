"""A session's file and its previous generation: their form, replacing them, and falling back when one is damaged.

Whatever happens at whatever moment, at least one of the two is whole. A damaged file is set aside under a name of
its own and never overwritten; when no generation can be read, nothing is started anew behind the user's back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from gemchat.atomic import write_atomically
from gemchat.core import history
from gemchat.core.model import Session
from gemchat.errors import SessionCorrupt, SessionError, SessionTooNew

SCHEMA = 2  # a field with a default may be added, if what was there still means the same; in 2 came Sent.kept


class _Schema(msgspec.Struct):
    schema: int


class _Document(msgspec.Struct):
    schema: int
    session: Session


def read(path: Path) -> Session | None:
    """None when there is no generation at all. Raises SessionCorrupt where `restore` may help."""
    data = read_bytes(path)
    if data is not None:
        return decode(data, path)
    if backup(path).exists():
        raise SessionCorrupt(f"{path} is missing")
    return None


def replace(path: Path, session: Session) -> None:
    """Makes the session the newest generation, and the newest the previous one. Raises OSError.

    The very first file is preceded by an empty session, so that there always is something to fall back on.
    """
    previous = read_bytes(path)
    if previous is None and not backup(path).exists():
        previous = encode(Session(name=session.name, created=session.created))
    if previous is not None:
        write_atomically(backup(path), previous, mode=0o600)
    write_atomically(path, encode(session), mode=0o600)


def restore(path: Path, note: Callable[[str], None]) -> Session | None:
    """Puts the previous generation in the place of one that cannot be read. Call with the lock held."""
    try:
        return read(path)
    except SessionCorrupt as error:
        damage = error.message
    previous = read_bytes(backup(path))
    try:
        session = decode(previous or b"", backup(path))
    except SessionCorrupt as error:
        raise _lost(path, damage, error.message if previous is not None else "there is none") from None
    said = (
        f"{path} is missing" if not path.exists() else f"{path} could not be read and was moved to {aside(path)}"
    )
    write_atomically(path, previous or b"", mode=0o600)
    note(f"{said}; the state before the last change is used")
    return session


def aside(path: Path) -> Path:
    """Moves a damaged file to a name where nothing overwrites it. Raises OSError."""
    for number in range(1, 1000):
        name = path.with_name(f"{path.name}.corrupt-{number}")
        if not name.exists():
            return path.rename(name)
    raise SessionError(f"{path} cannot be read, and too many copies of it were set aside", "Remove some of them.")


def backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")


def encode(session: Session) -> bytes:
    document = msgspec.json.encode(_Document(schema=SCHEMA, session=session))
    return msgspec.json.format(document, indent=1) + b"\n"


def decode(data: bytes, path: Path) -> Session:
    """A session that parses and makes sense as a whole. Raises SessionCorrupt and SessionTooNew."""
    try:
        try:
            document = msgspec.json.decode(data, type=_Document)
        except msgspec.ValidationError:  # what another schema looks like is not known here
            _check(msgspec.json.decode(data, type=_Schema).schema, path)
            raise
        _check(document.schema, path)
        session = document.session
        history.chain(history.current_path(session))
        history.undo_stack(session)
        history.pending_changes(session)
    except (msgspec.DecodeError, ValueError, LookupError, RecursionError) as error:
        raise SessionCorrupt(str(error)) from None
    return session


def _check(schema: int, path: Path) -> None:
    if schema > SCHEMA:
        raise SessionTooNew(
            f"{path} was written by a newer gemchat (schema {schema}, this one knows {SCHEMA})",
            "Update gemchat, or set GEMCHAT_STATE_DIR to another directory.",
        )
    if schema < 1:
        raise SessionCorrupt(f"there never was a schema {schema}")


def read_bytes(path: Path) -> bytes | None:
    """None when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}", "Look further: gemchat doctor") from error


def _lost(path: Path, damage: str, older: str) -> SessionCorrupt:
    return SessionCorrupt(
        f"{path} cannot be read ({damage}), nor can its previous generation ({older})",
        "Put a copy of it in its place, or set both aside and start anew: gemchat doctor --fix. "
        "To leave them as they are and go on beside them: gemchat new",
    )
