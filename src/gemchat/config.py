"""Settings: options first, then the environment, then defaults. Reads nothing but what it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from gemchat.core.model import Backend, Value
from gemchat.errors import ConfigError, MissingKey, UsageError

DEFAULT_MODEL = "gemini-3.8-flash"
LOCAL_MODEL = "local"
DEFAULT_BACKEND: Backend = "interactions"
_BACKENDS: Mapping[str, Backend] = {
    "auto": DEFAULT_BACKEND,
    "interactions": "interactions",
    "contents": "contents",
}


class Settings(Value, frozen=True):
    """What a turn is sent with."""

    model: str
    backend: Backend
    base_url: str | None
    insecure: bool = False


def settings(
    environ: Mapping[str, str], *, model: str | None, backend: str | None, insecure: bool = False
) -> Settings:
    """`model` and `backend` are the options; None leaves the choice to the environment or the default."""
    named = backend or environ.get("GEMCHAT_BACKEND") or "auto"
    if named not in _BACKENDS:
        kind = UsageError if backend else ConfigError
        raise kind(f"there is no backend {named!r}", f"Choose one of: {', '.join(_BACKENDS)}.")
    return Settings(
        model=model or environ.get("GEMCHAT_MODEL") or DEFAULT_MODEL,
        backend=_BACKENDS[named],
        base_url=environ.get("GOOGLE_GEMINI_BASE_URL") or None,
        insecure=insecure,
    )


def has_key(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY"))


def api_key(environ: Mapping[str, str]) -> str:
    """The key as the environment has it; its form is checked where it is used."""
    key = environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY")
    if not key:
        raise MissingKey(
            "there is no Gemini API key",
            "Get one at https://aistudio.google.com/apikey and set GEMINI_API_KEY. "
            "To try gemchat without a key: gemchat demo. For a small model on this machine: "
            "pip install 'gemchat[local]'",
        )
    return key


def service_mark(key: str, base_url: str | None) -> str:
    """Tells one account at one address from another. 48 bits of a hash: far too few to find a key by."""
    said = f"{key.strip()}\n{(base_url or '').rstrip('/')}"
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=6, person=b"gemchat").hexdigest()


def state_directory(environ: Mapping[str, str]) -> Path:
    named = environ.get("GEMCHAT_STATE_DIR")
    if named:
        try:
            return Path(named).expanduser().absolute()
        except RuntimeError:
            raise ConfigError(f"there is no directory {named}", "Check GEMCHAT_STATE_DIR.") from None
    from platformdirs import user_state_path

    return user_state_path("gemchat", appauthor=False)
