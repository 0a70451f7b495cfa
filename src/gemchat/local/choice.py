"""Which local model it is: the embedded one, another GGUF file, or a server that runs already.

Reads the environment it is given and the metadata of installed packages; imports none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gemchat.core.model import Value
from gemchat.errors import ConfigError
from gemchat.local.engine import WINDOW
from gemchat.local.weights import INSTALL, QWEN, RUNTIME, Progress, cache_directory, is_installed, join

_SMALLEST_WINDOW = 2048


class Choice(Value, frozen=True):
    """`path` and `url` are the user's own model; with neither it is the embedded one."""

    path: str | None = None
    url: str | None = None
    window: int = WINDOW

    @property
    def title(self) -> str:
        if self.url:
            return f"the model at {self.url}"
        return Path(self.path).name if self.path else QWEN.title


def choice(environ: Mapping[str, str]) -> Choice:
    path, url = environ.get("GEMCHAT_LOCAL_MODEL"), environ.get("GEMCHAT_LOCAL_URL")
    if path and url:
        raise ConfigError(
            "there are two local models",
            "Set local.path (GEMCHAT_LOCAL_MODEL) or local.url (GEMCHAT_LOCAL_URL), not both.",
        )
    window = environ.get("GEMCHAT_LOCAL_WINDOW") or str(WINDOW)
    if not window.isdecimal() or int(window) < _SMALLEST_WINDOW:
        raise ConfigError(f"{window!r} is no size of a window", "GEMCHAT_LOCAL_WINDOW is in tokens, 2048 or more.")
    return Choice(path=_whole(path) if path else None, url=url or None, window=int(window))


def _whole(path: str) -> str:
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise ConfigError(f"there is no model file {path}", "Check local.path (GEMCHAT_LOCAL_MODEL).") from None


def is_available(environ: Mapping[str, str]) -> bool:
    """Whether something local can answer. Does not look whether it is complete."""
    if environ.get("GEMCHAT_LOCAL_URL"):
        return True
    return is_installed(RUNTIME) and bool(environ.get("GEMCHAT_LOCAL_MODEL") or is_installed(QWEN.parts[0]))


def ready(chosen: Choice, environ: Mapping[str, str], progress: Progress) -> Choice:
    """The choice with a file that is there to be loaded. Raises ConfigError for what is not installed."""
    if chosen.url:
        return chosen
    if not is_installed(RUNTIME):
        raise ConfigError("the local model is not installed", f"Install it: {INSTALL}")
    if chosen.path is None:
        file = join(QWEN, cache_directory(environ), progress)
        return Choice(path=str(file), window=chosen.window)
    if not Path(chosen.path).is_file():
        raise ConfigError(f"there is no model file {chosen.path}", "Check local.path (GEMCHAT_LOCAL_MODEL).")
    return chosen
