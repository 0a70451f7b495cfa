"""A content-addressed store: bytes go in, their SHA-256 comes out, and gives the same bytes back for ever."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gemchat.atomic import private_directory, write_atomically
from gemchat.errors import SessionError


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def not_writable(directory: Path, error: OSError) -> SessionError:
    return SessionError(
        f"the state directory {directory} cannot be written: {error.strerror}",
        "Check its permissions and the disk, or set GEMCHAT_STATE_DIR.",
    )


class Blobs:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, data: bytes) -> str:
        name = sha256(data)
        try:
            if self.get(name) is None:
                write_atomically(private_directory(self.directory) / name, data, mode=0o600)
        except OSError as error:
            raise not_writable(self.directory, error) from None
        return name

    def get(self, name: str) -> bytes | None:
        """None when the blob is not there, or its bytes are not those that were stored."""
        try:
            data = (self.directory / name).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == name else None


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
