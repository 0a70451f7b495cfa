"""The API key: from the environment, or stored by `config set-key` in the system's keyring or a private file.

The file says which: it holds the key, or the word that it is in the keyring. So the package keyring is loaded only
when a key is needed that is there. What a key looks like is checked where it is used; no message quotes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gemchat.atomic import private_directory, write_atomically
from gemchat.errors import ConfigError, MissingKey

VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_FILE = "key"
_SERVICE, _ACCOUNT = "gemchat", "gemini-api-key"
_IN_KEYRING = f"keyring:{_SERVICE}"
_AGAIN = "Store it again: gemchat config set-key, or set GEMINI_API_KEY."


def has_key(environ: Mapping[str, str], directory: Path) -> bool:
    """Whether there is one, as far as can be told without the keyring. `directory` is that of the settings."""
    return bool(_from_environment(environ) or _stored(directory))


def api_key(environ: Mapping[str, str], directory: Path) -> str:
    key = _from_environment(environ) or _stored(directory)
    if key == _IN_KEYRING:
        return _from_keyring()
    if not key:
        raise MissingKey(
            "there is no Gemini API key",
            "Get one at https://aistudio.google.com/apikey and set GEMINI_API_KEY, or store it: "
            "gemchat config set-key. To try gemchat without a key: gemchat demo. "
            "For a small model on this machine: pip install 'gemchat[local]'",
        )
    return key


def own_keys(environ: Mapping[str, str], directory: Path) -> tuple[str, ...]:
    """The user's keys, to be kept out of everything that is sent, shown or stored; not those in the keyring."""
    stored = _stored(directory)
    named = (*(environ.get(name, "").strip() for name in VARIABLES), "" if stored == _IN_KEYRING else stored or "")
    return tuple(dict.fromkeys(filter(None, named)))


def store_key(key: str, directory: Path) -> str:
    """Keeps the key in the keyring if there is one, else in a file; returns where in words."""
    in_keyring = _into_keyring(key)
    file = directory / _FILE
    try:
        write_atomically(
            private_directory(directory) / _FILE, f"{_IN_KEYRING if in_keyring else key}\n".encode(), mode=0o600
        )
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}", "Set GEMINI_API_KEY instead.") from None
    return "the keyring" if in_keyring else f"{file}, readable by you alone"


def remove_key(directory: Path) -> bool:
    """Forgets the stored key. Returns whether there was one."""
    stored = _stored(directory)
    try:
        (directory / _FILE).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{directory / _FILE} cannot be removed: {error.strerror}") from None
    if stored == _IN_KEYRING:
        _out_of_keyring()
    return bool(stored)


def _from_environment(environ: Mapping[str, str]) -> str:
    return next((environ[name] for name in VARIABLES if environ.get(name)), "")


def _stored(directory: Path) -> str:
    file = directory / _FILE
    try:
        return file.read_text("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", _AGAIN) from None


def _into_keyring(key: str) -> bool:
    try:
        import keyring

        keyring.set_password(_SERVICE, _ACCOUNT, key)
    except Exception:  # noqa: BLE001  not installed, no keyring, locked: each system's raises its own
        return False
    return True


def _from_keyring() -> str:
    try:
        import keyring

        key = keyring.get_password(_SERVICE, _ACCOUNT)
    except ImportError:
        raise ConfigError(
            "the API key is in the keyring, which needs: pip install 'gemchat[keyring]'", _AGAIN
        ) from None
    except Exception as error:  # noqa: BLE001  each system's keyring raises its own
        raise ConfigError(f"the keyring with the API key cannot be read: {type(error).__name__}", _AGAIN) from None
    if not key:
        raise MissingKey("the API key is not in the keyring any more", _AGAIN)
    return key


def _out_of_keyring() -> None:
    try:
        import keyring

        keyring.delete_password(_SERVICE, _ACCOUNT)
    except Exception as error:  # noqa: BLE001  each system's keyring raises its own
        raise ConfigError(
            f"the API key cannot be removed from the keyring: {type(error).__name__}", "Remove it there by hand."
        ) from None
