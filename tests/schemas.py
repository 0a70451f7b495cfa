"""The schemas of everything that --json prints, and which of them a command line is about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from gemchat.cli.app import app
from gemchat.cli.table import with_commands

SCHEMAS: dict[str, Any] = json.loads(files("gemchat").joinpath("schemas.json").read_text("utf-8"))
COMMANDS: Any = with_commands(app)
COMMANDS.commands = {name: command.loaded() for name, command in COMMANDS.commands.items()}


def validator(name: str) -> Draft202012Validator:
    """The check for one command's object, or for that of an `error`."""
    return Draft202012Validator({**SCHEMAS["properties"][name], "$defs": SCHEMAS["$defs"]})


def command_of(arguments: Sequence[str]) -> str:
    """The command that a command line names, with the group it is in: `sessions list`."""
    names, commands = [], COMMANDS.commands
    for word in arguments:
        if word in commands:
            names.append(word)
            commands = getattr(commands[word], "commands", {})
    return " ".join(names)


def commands(group: Any = COMMANDS, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its definition."""
    for name, command in group.commands.items():
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield " ".join((*before, name)), command
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))


def check(arguments: Sequence[str], code: int, out: str, err: str) -> None:
    """With --json: a result is one valid object and nothing else, an error is one in the last line on stderr."""
    if "--json" not in arguments or "--" in arguments or "--help" in arguments:
        return
    if code == 0 or arguments[0] == "doctor":  # whose result is what is wrong
        validator(command_of(arguments)).validate(json.loads(out))
    else:
        assert out == ""
        validator("error").validate(json.loads(err.splitlines()[-1]))
