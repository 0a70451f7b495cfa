"""A keyring in a file, for processes that are told of it by PYTHON_KEYRING_BACKEND and TEST_KEYRING."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return self._load().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._save(self._load() | {f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        passwords = self._load()
        del passwords[f"{service}/{username}"]
        self._save(passwords)

    @property
    def _file(self) -> Path:
        return Path(os.environ["TEST_KEYRING"])

    def _load(self) -> dict[str, str]:
        loaded: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return loaded

    def _save(self, passwords: dict[str, str]) -> None:
        self._file.write_text(json.dumps(passwords))
