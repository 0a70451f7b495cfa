"""Where the API key comes from and where it is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemchat.apikey import api_key, has_key, remove_key, store_key
from gemchat.errors import ConfigError, MissingKey

ROOT = Path(__file__).parent.parent
KEY = "AIza-not-a-real-key"


def test_without_any_key_all_ways_to_one_are_named(tmp_path: Path) -> None:
    assert not has_key({}, tmp_path)
    with pytest.raises(MissingKey) as caught:
        api_key({}, tmp_path / "nowhere")
    for way in ("GEMINI_API_KEY", "gemchat config set-key", "gemchat demo", "gemchat[local]"):
        assert way in caught.value.hint


def test_a_stored_key_is_private_and_the_environment_goes_before_it(tmp_path: Path) -> None:
    directory = tmp_path / "config"
    assert store_key(KEY, directory) == f"{directory / 'key'}, readable by you alone"
    assert (directory / "key").stat().st_mode & 0o777 == 0o600
    assert directory.stat().st_mode & 0o777 == 0o700
    assert has_key({}, directory)
    assert api_key({}, directory) == KEY
    assert api_key({"GOOGLE_API_KEY": "b"}, directory) == "b"
    assert api_key({"GEMINI_API_KEY": "a", "GOOGLE_API_KEY": "b"}, directory) == "a"
    assert api_key({"GEMINI_API_KEY": ""}, directory) == KEY


def test_a_key_is_replaced_and_removed(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("old")
    (tmp_path / "key").chmod(0o644)
    store_key(KEY, tmp_path)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert api_key({}, tmp_path) == KEY
    assert remove_key(tmp_path)
    assert not remove_key(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    for fails in (lambda: api_key({}, tmp_path), lambda: store_key(KEY, tmp_path), lambda: remove_key(tmp_path)):
        with pytest.raises(ConfigError) as caught:
            fails()
        assert KEY not in caught.value.message
    assert api_key({"GEMINI_API_KEY": KEY}, tmp_path) == KEY


def test_a_keyring_that_does_not_work_is_said(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("keyring:gemchat\n")
    assert has_key({}, tmp_path)
    with pytest.raises(ConfigError, match="NoKeyringError"):
        api_key({}, tmp_path)
    with pytest.raises(ConfigError, match="cannot be removed from the keyring"):
        remove_key(tmp_path)
    assert not has_key({}, tmp_path)


PROGRAM = """
import json, sys
from pathlib import Path
from gemchat import apikey, errors
directory, installed, function, arguments = sys.argv[1:]
if installed == "no":
    sys.modules["keyring"] = None
try:
    said = getattr(apikey, function)(*json.loads(arguments), Path(directory))
except errors.GemchatError as error:
    said = [error.kind, error.message]
print(json.dumps([said, sys.modules.get("keyring") is not None]))
"""


def with_keyring(
    directory: Path, function: str, *arguments: object, installed: str = "yes"
) -> tuple[object, bool]:
    """What the function returns or raises in a process with a keyring, and whether it was loaded."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHON_KEYRING_BACKEND": "tests.keyring_backend.FileKeyring",
        "TEST_KEYRING": str(directory.parent / "keyring.json"),
    }
    command = [sys.executable, "-c", PROGRAM, str(directory), installed, function, json.dumps(arguments)]
    said, loaded = json.loads(subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
    return said, loaded


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Settings whose key is in the keyring."""
    assert with_keyring(tmp_path / "config", "store_key", KEY) == ("the keyring", True)
    return tmp_path / "config"


def test_a_keyring_is_used_where_there_is_one(directory: Path) -> None:
    keyring = directory.parent / "keyring.json"
    assert json.loads(keyring.read_text()) == {"gemchat/gemini-api-key": KEY}
    assert KEY not in (directory / "key").read_text()
    assert with_keyring(directory, "api_key", {}) == (KEY, True)
    assert with_keyring(directory, "remove_key") == (True, True)
    assert json.loads(keyring.read_text()) == {}
    assert list(directory.iterdir()) == []


def test_the_keyring_is_asked_only_for_a_key_that_is_there(directory: Path) -> None:
    assert with_keyring(directory, "has_key", {}) == (True, False)
    assert with_keyring(directory, "api_key", {"GEMINI_API_KEY": "k"}) == ("k", False)
    store_key(KEY, directory)
    assert with_keyring(directory, "api_key", {}) == (KEY, False)


def test_a_key_that_left_the_keyring_is_missed(directory: Path) -> None:
    (directory.parent / "keyring.json").unlink()
    said, _ = with_keyring(directory, "api_key", {})
    assert said == ["MissingKey", "the API key is not in the keyring any more"]


def test_without_the_package_the_extra_is_named_and_a_file_takes_the_key(directory: Path) -> None:
    said, _ = with_keyring(directory, "api_key", {}, installed="no")
    assert said == ["ConfigError", "the API key is in the keyring, which needs: pip install 'gemchat[keyring]'"]
    said, _ = with_keyring(directory, "store_key", KEY, installed="no")
    assert said == f"{directory / 'key'}, readable by you alone"
