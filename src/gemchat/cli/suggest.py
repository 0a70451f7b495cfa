"""What `gemchat chat` offers at the tab key: commands, files that are not ignored, and what is stored."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import typer

from gemchat.cli import complete
from gemchat.cli.surroundings import Surroundings
from gemchat.core.chatline import TALKING
from gemchat.errors import GemchatError
from gemchat.selection import listing

_STORED: Mapping[str, Callable[[typer.Context, str], list[str]]] = {
    "apply": complete.pending_files,
    "diff": complete.pending_files,
    "discard": complete.pending_files,
    "model": complete.models,
    "pick": complete.pending_files,
    "session": complete.session_names,
    "sessions": complete.session_names,
    "show": complete.turn_numbers,
}


class Suggestions(NamedTuple):
    """Words that may stand in the place of the text from `start` on."""

    start: int
    words: list[str]


def suggestions(here: Surroundings, commands: Iterable[str], text: str) -> Suggestions:
    """For the text before the cursor."""
    if re.fullmatch(r"/\S*", text):
        return Suggestions(0, [f"/{name} " for name in sorted(commands) if f"/{name}".startswith(text)])
    named = re.match(r"/(\S+)\s", text)
    command = named[1] if named else "ask"
    word = "" if text[-1:].isspace() else re.split(r"\s", text)[-1]
    start = len(text) - len(word)
    if command == "help":
        return Suggestions(start, [name for name in sorted(commands) if name.startswith(word)])
    if command in TALKING:
        return Suggestions(start, list(_files(here, word)))
    word, start = _last_word(text)
    if command in _STORED:
        from gemchat.cli.app import app

        found = _STORED[command](typer.Context(typer.main.get_command(app), obj=here), word)
    else:
        found = list(_files(here, word))
    return Suggestions(start, [shlex.quote(name) for name in found])


def _last_word(text: str) -> tuple[str, int]:
    """What the last word, which may still be open, means in a shell, and where it begins."""
    found = re.search(r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|\\.|[^\s'"\\])*$""", text)
    start = found.start() if found else len(text)
    return re.sub(r"""\\(.)|['"]""", r"\1", text[start:]), start


def _files(here: Surroundings, word: str) -> Iterator[str]:
    """The files and directories that a word begins the name of, as they are called from here."""
    folder, _, beginning = word.rpartition("/")
    prefix = word[: len(word) - len(beginning)]
    try:
        root = here.workspace(None).root
        directory = (here.directory / (folder or ("/" if prefix else "."))).resolve()
        if not directory.is_relative_to(root):
            return
        for path, is_directory in listing(root, directory):
            hidden = path.name.startswith(".") and not beginning.startswith(".")
            if path.name.startswith(beginning) and not hidden:
                yield f"{prefix}{path.name}{os.sep if is_directory else ''}"
    except (GemchatError, OSError, ValueError):
        return
