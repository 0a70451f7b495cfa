"""A content-addressed store: bytes go in, their SHA-256 comes out, and gives the same bytes back for ever."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from gemchat.atomic import is_leftover, private_directory, write_atomically
from gemchat.errors import SessionError

_NAME = re.compile(r"[0-9a-f]{64}")
_UNNEEDED = ".unneeded"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def not_writable(directory: Path, error: Exception) -> SessionError:
    return SessionError(
        f"the state directory {directory} cannot be written: {getattr(error, 'strerror', None) or error}",
        "Check its permissions and the disk, or set GEMCHAT_STATE_DIR.",
    )


class Blobs:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, data: bytes) -> str:
        name = sha256(data)
        try:
            if not self._is_fresh(name, data):
                write_atomically(private_directory(self.directory) / name, data, mode=0o600)
        except OSError as error:
            raise not_writable(self.directory, error) from None
        return name

    def get(self, name: str) -> bytes | None:
        """None when the blob is not there, or its bytes are not those that were stored."""
        if not _NAME.fullmatch(name):
            return None
        try:
            data = (self.directory / name).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == name else None

    def sweep(self, needed: Collection[str], before: float) -> int:
        """Removes what is not needed and was last put before a time in Unix seconds; returns how many blobs.

        A blob is put before anything refers to it, so the young ones are kept. One is moved aside first: if it is
        put again at that very moment, either its new time is seen here and it comes back, or it is written anew.
        """
        removed = 0
        try:
            for aside in self._files(f"*{_UNNEEDED}"):
                aside.rename(aside.with_suffix(""))
            for path in self._unneeded(needed, before):
                aside = path.rename(path.with_name(f"{path.name}{_UNNEEDED}"))
                if aside.stat().st_mtime >= before:
                    aside.rename(path)
                    continue
                aside.unlink()
                removed += 1
            for leftover in self._files("*"):
                if is_leftover(leftover) and leftover.stat().st_mtime < before:
                    leftover.unlink()
        except OSError as error:
            raise not_writable(self.directory, error) from None
        return removed

    def unneeded(self, needed: Collection[str], before: float) -> int:
        """How many blobs `sweep` would remove."""
        return sum(1 for _ in self._unneeded(needed, before))

    def _unneeded(self, needed: Collection[str], before: float) -> Iterator[Path]:
        """Files of other origin are left alone."""
        for path in self._files("*"):
            if _NAME.fullmatch(path.name) and path.name not in needed and path.stat().st_mtime < before:
                yield path

    def _files(self, pattern: str) -> list[Path]:
        return sorted(self.directory.glob(pattern))

    def _is_fresh(self, name: str, data: bytes) -> bool:
        """Whether the blob is there and sound; if so it counts as just put."""
        path = self.directory / name
        with suppress(OSError):  # a state directory that cannot be written is still read
            os.utime(path)
        try:
            return path.read_bytes() == data
        except OSError:
            return False


class Drafts(Blobs):
    """Reads what is stored, but keeps what is put to itself."""

    def __init__(self, stored: Blobs) -> None:
        super().__init__(stored.directory)
        self._kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        name = sha256(data)
        self._kept[name] = data
        return name

    def get(self, name: str) -> bytes | None:
        return self._kept[name] if name in self._kept else super().get(name)
