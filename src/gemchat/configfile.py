"""The two files of settings: the user's own, and the project's, which is not trusted. Both are TOML.

It owns reading them, what a project's file may say, and changing the user's so that its comments survive.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gemchat.atomic import private_directory, write_atomically
from gemchat.config import Found
from gemchat.configtable import Price, checked, flattened, option
from gemchat.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

PROJECT_FILE = ".gemchat.toml"
USER_FILE = "config.toml"
_LARGEST = 256 * 1024  # bytes; nobody writes that much by hand


def read_settings(file: Path, source: Literal["user", "project"]) -> dict[str, Found]:
    """What a file sets; nothing when there is none. Raises ConfigError with the file, the line or the name."""
    text = _read(file)
    if not text:
        return {}
    import tomllib

    document, found = _parsed(file, text, tomllib.loads), {}
    for name, value in flattened(document):
        where = f"{file}: "
        if not option(name, ConfigError, where).shared and source == "project":
            raise ConfigError(
                f"{where}a project's file may not set {name}",
                "It comes with the project and is not trusted with this. Remove it there; "
                f"to set it for yourself: gemchat config set {name} …",
            )
        found[name] = Found(value=checked(name, value, ConfigError, where=where), source=source, where=str(file))
    return found


def change(file: Path, name: str, value: Any) -> bool:
    """Sets a name in the user's file, or removes it if `value` is None. Returns whether that changed anything."""
    text = _read(file)
    import tomlkit

    document = _parsed(file, text, tomlkit.parse)
    changed = _remove(document, name) if value is None else _put(file, document, name, value)
    if changed:
        _write(file, tomlkit.dumps(document))
    return changed


def _put(file: Path, document: TOMLDocument, name: str, value: Any) -> bool:
    import tomlkit

    group, dot, key = name.partition(".")
    table: Any = document
    if dot:
        table = document.setdefault(group, tomlkit.table())
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {group} must be a table", f"Change it to: [{group}]")
    if isinstance(value, Price):
        priced = tomlkit.inline_table()
        priced.update({"fresh": value.fresh, "cached": value.cached, "output": value.output})
        value = priced
    table[key or group] = value
    return True


def _remove(document: TOMLDocument, name: str) -> bool:
    group, dot, key = name.partition(".")
    table: Any = document.get(group) if dot else document
    if not isinstance(table, dict) or (key or group) not in table:
        return False
    del table[key or group]
    return True


def _read(file: Path) -> str:
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ConfigError(f"{file} is no file of settings", "It must be a small text file; remove it.")
        return file.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 text (byte at offset {error.start})", "Save it as UTF-8."
        ) from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", "Check its permissions.") from None


def _parsed(file: Path, text: str, parse: Callable[[str], Any]) -> Any:
    """ValueError is what both parsers raise, and deeply nested text exhausts the stack."""
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:
        place = re.search(r"line (\d+)", str(error))
        reason = re.sub(r" ?\(?at line \d+.*$", "", str(error))
        line = f", line {place[1]}" if place else ""
        raise ConfigError(f"{file}{line} is not TOML: {reason}", "Correct it there, or remove the file.") from None


def _write(file: Path, text: str) -> None:
    try:
        target = file.resolve()
        private_directory(target.parent)
        if target.exists():
            write_atomically(target, text.encode(), like=target)
        else:
            write_atomically(target, text.encode(), mode=0o600)
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"{file} cannot be written: {error}", "Nothing was changed.") from None
