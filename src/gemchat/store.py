"""A project's sessions on disk, the blobs they name, and the lock around both.

    <state>/projects/<name>-<hash of root>/project.json     the root, the session in use
                                          /sessions/<name>.json, .json.bak
                                          /blobs/<sha256>
                                          /lock

How a session file is replaced, and what happens to a damaged one, is said in `generations`.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gemchat import generations
from gemchat.atomic import is_leftover, private_directory, write_atomically
from gemchat.blobs import Blobs, not_writable, sha256
from gemchat.core.model import Session
from gemchat.errors import SessionCorrupt, SessionError, SessionLocked, SessionTooNew, SessionUnknown

if TYPE_CHECKING:
    from filelock import FileLock

DEFAULT_SESSION = "main"
LOCK_PATIENCE = 20.0  # seconds
GRACE = 3600.0  # seconds for which a blob is kept although nothing refers to it yet
_QUIET_WAIT = 0.3  # seconds before the user is told that something is waited for
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RECORD = "project.json"
_HASH = re.compile(rb"[0-9a-f]{64}")


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What project.json says. `changed` names the session that last began to change files."""

    root: str
    current: str = DEFAULT_SESSION
    changed: str = ""


def project_directory(state: Path, root: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", root.name) or "root"
    return state / "projects" / f"{name}-{sha256(os.fsencode(root))[:12]}"


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith((".bak", ".json")):
        raise SessionError(
            f"{name!r} is not a session name", "Use up to 64 letters, digits, dots, dashes and underscores."
        )
    return name


def read_record(directory: Path) -> Record | None:
    """None when there is none. Raises SessionCorrupt."""
    path = directory / RECORD
    data = generations.read_bytes(path)
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=Record)
        for name in {record.current, record.changed} - {""}:
            check_name(name)
    except (msgspec.DecodeError, SessionError, RecursionError):
        raise SessionCorrupt(f"{path} is damaged") from None
    return record


def describe(directory: Path, record: Record) -> None:
    """Replaces what is said about a project. Raises OSError."""
    document = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    write_atomically(private_directory(directory) / RECORD, document, mode=0o600)


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
        self.directory = directory
        self._root = root
        self._note = note
        self._patience = patience
        self._quiet_wait = quiet_wait
        self.blobs = Blobs(directory / "blobs")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held while state or files are read, changed and written back; never while the model thinks.

        A process that holds it may ask for it again.
        """
        from filelock import Timeout

        try:
            private_directory(self.directory)
            try:
                self._acquire(self._quiet_wait)
            except Timeout:
                self._note("waiting for another gemchat in this project …")
                self._acquire(self._patience)
        except Timeout:
            raise SessionLocked(
                f"another gemchat has kept this project locked for {self._patience:.0f} seconds",
                "Wait for it to finish, or end it, and try again. What holds the lock: gemchat doctor",
            ) from None
        except (OSError, NotImplementedError) as error:
            raise not_writable(self.directory, error) from None
        try:
            yield
        finally:
            self._lock.release()

    def names(self) -> list[str]:
        """Sessions of which at least one generation is there."""
        found = (path.name.removesuffix(".bak").removesuffix(".json") for path in self.sessions.glob("*.json*"))
        return sorted({name for name in found if _NAME.fullmatch(name) and self.exists(name)})

    def exists(self, name: str) -> bool:
        path = self.path(name)
        return path.exists() or generations.backup(path).exists()

    def load(self, name: str) -> Session | None:
        """None when there is no such session. Of one that is damaged, the previous generation."""
        path = self.path(name)
        try:
            session = generations.read(path)
        except SessionCorrupt:
            with self.lock(), self._writing():
                session = generations.restore(path, self._note)
        return session if session is None else msgspec.structs.replace(session, name=name)

    def peek(self, name: str) -> Session | None:
        """The session if its file is good as it is; repairs nothing and says nothing."""
        try:
            return generations.read(self.path(name))
        except SessionError:
            return None

    def save(self, session: Session) -> None:
        """Call with the lock held."""
        with self._writing():
            private_directory(self.sessions)
            if not (self.directory / RECORD).exists():
                self._describe(self.record())
            generations.replace(self.path(session.name), session)

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
        """Call with the lock held. The blobs stay, as other sessions may share them: `collect` knows."""
        if not self.exists(name):
            raise unknown(name)
        if self.current() == name:
            self.use(DEFAULT_SESSION)
        with self._writing():
            # In this order, since a backup without its file is taken for a file that got lost.
            generations.backup(self.path(name)).unlink(missing_ok=True)
            self.path(name).unlink(missing_ok=True)

    def collect(self, now: float) -> int | None:
        """Removes blobs that no session needs; returns how many, None if it cannot be known which those are.

        Call with the lock held. `now` is in Unix seconds.
        """
        needed = self.needed()
        return None if needed is None else self.blobs.sweep(needed, now - GRACE)

    def needed(self) -> set[str] | None:
        """Every hash in every file about a session, those set aside too. None if one of them cannot be read."""
        found: set[str] = set()
        for path in sorted(self.sessions.iterdir()) if self.sessions.is_dir() else ():
            if is_leftover(path):
                continue
            try:
                data = generations.read_bytes(path) or b""
                if path.name.endswith((".json", ".bak")):
                    generations.decode(data, path)
            except (SessionCorrupt, SessionTooNew, SessionError):
                return None
            found.update(match.decode() for match in _HASH.findall(data))
        return found

    def current(self) -> str:
        return self.record().current

    def use(self, name: str) -> None:
        """Call with the lock held."""
        self._describe(msgspec.structs.replace(self.record(), current=name))

    def set_changed(self, name: str) -> None:
        """Remembers whose change of files begins, so that any session can finish it. Call with the lock held."""
        record = self.record()
        if record.changed != name:
            self._describe(msgspec.structs.replace(record, changed=name))

    def record(self) -> Record:
        """What is known about the project itself; the user is told when that cannot be read."""
        try:
            record = read_record(self.directory) or Record(root="")
        except SessionCorrupt as error:
            self._note(f"{error.message}; session {DEFAULT_SESSION} is used until you choose another")
            record = Record(root="")
        return msgspec.structs.replace(record, root=str(self._root))

    def holder(self) -> str | None:
        """Who holds the lock, as far as that can be known; None if it is free."""
        from filelock import Timeout

        if not self.directory.is_dir():
            return None
        try:
            self._acquire(0)
        except Timeout:
            return holder_of(self.directory / "lock")
        except (OSError, NotImplementedError) as error:
            raise not_writable(self.directory, error) from None
        self._lock.release()
        return None

    @property
    def sessions(self) -> Path:
        return self.directory / "sessions"

    def path(self, name: str) -> Path:
        return self.sessions / f"{check_name(name)}.json"

    @cached_property
    def _lock(self) -> FileLock:
        from filelock import FileLock

        return FileLock(self.directory / "lock", mode=0o600)

    def _acquire(self, timeout: float) -> None:
        with warnings.catch_warnings():  # it says so when it makes do with a file, which is no concern of the user
            warnings.simplefilter("ignore", UserWarning)
            self._lock.acquire(timeout=timeout)

    def _describe(self, record: Record) -> None:
        with self._writing():
            describe(self.directory, record)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise not_writable(self.directory, error) from None


def holder_of(lock: Path) -> str:
    """Where the file system knows no locks the lock file names its process; elsewhere the kernel knows it."""
    pid, host, *_ = [*(generations.read_bytes(lock) or b"").decode("utf-8", "replace").split(), "", ""]
    if pid and host:
        return f"process {pid} on {host}"
    inode = f":{lock.stat().st_ino}"
    known = (generations.read_bytes(Path("/proc/locks")) or b"").decode().splitlines()
    found = [words[4] for words in map(str.split, known) if len(words) > 5 and words[5].endswith(inode)]
    return f"process {found[0]}" if found else "another process"


def unknown(name: str) -> SessionUnknown:
    return SessionUnknown(f"there is no session named {name}", f"Create it with: gemchat new {name}")
