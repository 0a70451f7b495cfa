"""Sessions on disk: one readable JSON file each, the blobs they name, and the lock around both.

    <state>/projects/<name>-<hash of root>/project.json     the root, the session in use
                                          /sessions/<name>.json, .json.bak
                                          /blobs/<sha256>
                                          /lock

A session file is replaced atomically and its previous generation kept. One that cannot be read is set aside,
never overwritten; one from a newer gemchat is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gemchat.atomic import private_directory, write_atomically
from gemchat.blobs import Blobs, not_writable, sha256
from gemchat.core import history
from gemchat.core.model import Session
from gemchat.errors import SessionCorrupt, SessionError, SessionLocked, SessionTooNew, SessionUnknown

SCHEMA = 1
DEFAULT_SESSION = "main"
LOCK_PATIENCE = 20.0  # seconds
_QUIET_WAIT = 0.3  # seconds before the user is told that something is waited for
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Schema(msgspec.Struct):
    schema: int


class _Document(msgspec.Struct):
    schema: int
    session: Session


class _Project(msgspec.Struct):
    root: str
    current: str = DEFAULT_SESSION


def project_directory(state: Path, root: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", root.name) or "root"
    return state / "projects" / f"{name}-{sha256(os.fsencode(root))[:12]}"


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith((".bak", ".json")):
        raise SessionError(
            f"{name!r} is not a session name", "Use up to 64 letters, digits, dots, dashes and underscores."
        )
    return name


class Store:
    """One project's sessions. `note` is told, in a sentence, what the user should know about waiting or repair."""

    def __init__(
        self,
        directory: Path,
        root: Path,
        note: Callable[[str], None],
        *,
        patience: float = LOCK_PATIENCE,
        quiet_wait: float = _QUIET_WAIT,
    ) -> None:
        self._directory = directory
        self._root = root
        self._note = note
        self._patience = patience
        self._quiet_wait = quiet_wait
        self.blobs = Blobs(directory / "blobs")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held while state or files are read, changed and written back; never while the model thinks."""
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(private_directory(self._directory) / "lock", mode=0o600)
            try:
                lock.acquire(timeout=self._quiet_wait)
            except Timeout:
                self._note("waiting for another gemchat in this project …")
                lock.acquire(timeout=self._patience)
        except Timeout:
            raise SessionLocked(
                f"another gemchat has kept this project locked for {self._patience:.0f} seconds",
                "Wait for it to finish, or end it, and try again.",
            ) from None
        except OSError as error:
            raise not_writable(self._directory, error) from None
        try:
            yield
        finally:
            lock.release()

    def names(self) -> list[str]:
        found = (path.name.removesuffix(".json") for path in self._sessions.glob("*.json"))
        return sorted(name for name in found if _NAME.fullmatch(name))

    def exists(self, name: str) -> bool:
        return self._path(name).exists()

    def load(self, name: str) -> Session | None:
        """None when there is no such session."""
        path = self._path(name)
        data = _read(path)
        if data is None:
            return None
        try:
            return _decode(data, path)
        except SessionCorrupt as error:
            return self._from_backup(name, path, error)

    def peek(self, name: str) -> Session | None:
        """The session if its file is good as it is; repairs nothing and says nothing."""
        try:
            data = _read(self._path(name))
            return None if data is None else _decode(data, self._path(name))
        except SessionError:
            return None

    def save(self, session: Session) -> None:
        """Call with the lock held."""
        path = self._path(session.name)
        document = msgspec.json.encode(_Document(schema=SCHEMA, session=session))
        try:
            private_directory(self._sessions)
            _keep_previous(path)
            write_atomically(path, msgspec.json.format(document, indent=1) + b"\n", mode=0o600)
        except OSError as error:
            raise not_writable(self._directory, error) from None

    def rename(self, old: str, new: str) -> None:
        """Call with the lock held."""
        session = self.load(old)
        if session is None:
            raise unknown(old)
        if self.exists(new):
            raise SessionError(f"there is a session named {new} already")
        self.save(msgspec.structs.replace(session, name=new))
        if self.current() == old:
            self.use(new)
        self.remove(old)

    def remove(self, name: str) -> None:
        """Call with the lock held. The blobs stay: other sessions may share them."""
        if not self.exists(name):
            raise unknown(name)
        self._path(name).unlink()
        _backup(self._path(name)).unlink(missing_ok=True)
        if self.current() == name:
            self.use(DEFAULT_SESSION)

    def current(self) -> str:
        data = _read(self._directory / "project.json")
        try:
            return check_name(msgspec.json.decode(data, type=_Project).current) if data else DEFAULT_SESSION
        except (msgspec.DecodeError, SessionError):
            return DEFAULT_SESSION

    def use(self, name: str) -> None:
        document = msgspec.json.encode(_Project(root=str(self._root), current=name))
        path = private_directory(self._directory) / "project.json"
        write_atomically(path, msgspec.json.format(document, indent=1) + b"\n", mode=0o600)

    @property
    def _sessions(self) -> Path:
        return self._directory / "sessions"

    def _path(self, name: str) -> Path:
        return self._sessions / f"{check_name(name)}.json"

    def _from_backup(self, name: str, path: Path, error: SessionCorrupt) -> Session:
        aside = _set_aside(path)
        data = _read(_backup(path))
        if data is None:
            raise SessionCorrupt(
                f"session {name} cannot be read ({error.message}); it was moved to {aside}",
                "There is no older copy. The next command starts the session anew.",
            )
        session = _decode(data, _backup(path))
        shutil.copy2(_backup(path), path)
        self._note(f"session {name} could not be read and was moved to {aside}; its previous state is used")
        return session


def unknown(name: str) -> SessionUnknown:
    return SessionUnknown(f"there is no session named {name}", f"Create it with: gemchat new {name}")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error


def _decode(data: bytes, path: Path) -> Session:
    """A session that parses and makes sense as a whole."""
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema > SCHEMA:
            raise SessionTooNew(
                f"{path} was written by a newer gemchat (schema {schema}, this one knows {SCHEMA})",
                "Update gemchat, or set GEMCHAT_STATE_DIR to another directory.",
            )
        session = msgspec.json.decode(data, type=_Document).session
        history.current_path(session)
        history.undo_stack(session)
    except (msgspec.DecodeError, ValueError, IndexError, RecursionError) as error:
        raise SessionCorrupt(str(error)) from None
    return session


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")


def _keep_previous(path: Path) -> None:
    data = _read(path)
    if data is not None:
        write_atomically(_backup(path), data, mode=0o600)


def _set_aside(path: Path) -> Path:
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.corrupt-{number}")
        if not aside.exists():
            return path.rename(aside)
    raise SessionCorrupt(f"{path} cannot be read, and too many copies of it have been set aside already")
