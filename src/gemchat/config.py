"""Settings: options first, then the environment, the project's file, the user's file, defaults.

It decides which value wins and reads nothing but what it is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from gemchat.configtable import OPTIONS, PRICES, Mode, Price, checked
from gemchat.core import economics
from gemchat.core.model import Backend, Value
from gemchat.errors import ConfigError, UsageError

LOCAL_MODEL = "local"

Source = Literal["option", "environment", "project", "user", "default"]


class Found(Value, frozen=True):
    """A setting's value and where it comes from; `where` is the option, the variable or the file."""

    value: Any
    source: Source
    where: str = ""


class Settings(Value, frozen=True):
    """What is in force; what each means is said in `configtable`."""

    model: str
    backend: Backend
    thinking: str | None
    base_url: str | None
    insecure: bool
    vertex: bool
    project: str | None
    location: str
    compaction: Mode
    horizon: int
    cache_ttl: float
    attachments_limit: int
    prices: dict[str, Price]
    deadline: float
    check: str | None
    check_timeout: float
    side_by_side: bool
    pager: bool
    warm: str
    local_path: str | None
    local_url: str | None

    @property
    def own_prices(self) -> dict[str, economics.Price]:
        """By the name of the model; beyond what is set, as of any model."""
        return {
            name: economics.Price(fresh=price.fresh, cached=price.cached, output=price.output)
            for name, price in self.prices.items()
        }


def resolve(
    environ: Mapping[str, str],
    *,
    user: Mapping[str, Found],
    project: Mapping[str, Found],
    options: Mapping[str, str | None],
) -> dict[str, Found]:
    """Every setting with its value, which is None where nobody set it and there is no default."""
    defaults = {row.name: Found(value=row.default, source="default") for row in OPTIONS if row.name[-1] != ">"}
    given = {
        name: Found(
            value=checked(name, text, UsageError, where="--", text=True), source="option", where=f"--{name}"
        )
        for name, text in options.items()
        if text is not None
    }
    return _one_local_model({**defaults, **user, **project, **_environment(environ), **given})


def settings(found: Mapping[str, Found]) -> Settings:
    """What was found as one value. Where both are asked for, the local model has no use for Vertex AI."""
    values = {name.replace(".", "_"): entry.value for name, entry in found.items() if not name.startswith(PRICES)}
    prices = {name.removeprefix(PRICES): entry.value for name, entry in found.items() if name.startswith(PRICES)}
    contents = values["vertex"] and values["model"] != LOCAL_MODEL
    automatic: Backend = "contents" if contents else "interactions"
    backend = values.pop("backend")
    return Settings(**values, prices=prices, backend=automatic if backend == "auto" else backend)


def service_mark(key: str, base_url: str | None) -> str:
    """Tells one account at one address from another. 48 bits of a hash: far too few to find a key by."""
    said = f"{key.strip()}\n{(base_url or '').rstrip('/')}"
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=6, person=b"gemchat").hexdigest()


def state_directory(environ: Mapping[str, str]) -> Path:
    if chosen := _named(environ, "GEMCHAT_STATE_DIR"):
        return chosen
    from platformdirs import user_state_path

    return user_state_path("gemchat", appauthor=False)


def config_directory(environ: Mapping[str, str]) -> Path:
    if chosen := _named(environ, "GEMCHAT_CONFIG_DIR"):
        return chosen
    from platformdirs import user_config_path

    return user_config_path("gemchat", appauthor=False)


def _named(environ: Mapping[str, str], variable: str) -> Path | None:
    named = environ.get(variable)
    try:
        return Path(named).expanduser().absolute() if named else None
    except RuntimeError:
        raise ConfigError(f"there is no directory {named}", f"Check {variable}.") from None


def _environment(environ: Mapping[str, str]) -> dict[str, Found]:
    named = [(row.name, row.variable, environ[row.variable]) for row in OPTIONS if environ.get(row.variable)]
    return {
        name: Found(
            value=checked(name, text, ConfigError, where=f"{variable}: ", text=True),
            source="environment",
            where=variable,
        )
        for name, variable, text in named
    }


def _one_local_model(found: dict[str, Found]) -> dict[str, Found]:
    """Either of the two names the local model, so the environment's wins over the other one in a file."""
    path, url = found["local.path"], found["local.url"]
    if path.value and url.value and path.source != url.source:
        found["local.path" if url.source == "environment" else "local.url"] = Found(value=None, source="default")
    return found
