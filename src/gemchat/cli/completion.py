"""What a tab completes beyond commands and options: the names of settings and of models."""

from __future__ import annotations

import os
from contextlib import suppress

from gemchat.config import LOCAL_MODEL, config_directory
from gemchat.configfile import USER_FILE, read_settings
from gemchat.configtable import OPTIONS, PRICES, option
from gemchat.errors import ConfigError, GemchatError


def setting_names(incomplete: str) -> list[str]:
    names = (row.name.removesuffix("<model>") for row in OPTIONS)
    return [name for name in names if name.startswith(incomplete)]


def model_names(incomplete: str) -> list[str]:
    """The default, the local one, and those the user's file names."""
    names = [option("model", ConfigError).default, LOCAL_MODEL]
    with suppress(GemchatError):
        mine = read_settings(config_directory(os.environ) / USER_FILE, "user")
        names += [name.removeprefix(PRICES) for name in mine if name.startswith(PRICES)]
        names += [mine["model"].value] if "model" in mine else []
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
