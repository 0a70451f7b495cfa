"""A content-addressed store: bytes go in, their SHA-256 comes out, and gives the same bytes back for ever."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gemchat.atomic import private_directory, write_atomically


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Blobs:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes) -> str:
        name = sha256(data)
        path = self._directory / name
        if not path.exists():
            write_atomically(private_directory(self._directory) / name, data, mode=0o600)
        return name

    def get(self, name: str) -> bytes | None:
        """None when the blob is not there, or its bytes are not those that were stored."""
        try:
            data = (self._directory / name).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == name else None
