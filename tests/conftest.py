"""Every test runs without the developer's environment: no key, no proxy, no home, no state but its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

_FOREIGN = ("GEMINI_", "GOOGLE_", "GEMCHAT_", "XDG_", "SSL_CERT_")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower().endswith("_proxy") or name == "NO_COLOR":
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GEMCHAT_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture
def project_root(tmp_path: Path) -> Path:
    """A directory that gemchat takes for a project."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").touch()
    return root
