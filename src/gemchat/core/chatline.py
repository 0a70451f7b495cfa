"""Lines typed into `gemchat chat`: which command line each stands for.

Knows the form of a line and nothing of what commands do.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator

from gemchat.core.model import Value
from gemchat.errors import UsageError

TALKING = ("ask", "edit")  # their argument is a prompt: the rest of the line, word for word


class Line(Value, frozen=True):
    """A command and its words. `prompt` is what follows the options of `ask` and `edit`, None for all others."""

    command: str
    words: tuple[str, ...] = ()
    prompt: str | None = None

    def arguments(self, files: Iterable[str]) -> list[str]:
        """The same as a command line; a prompt is about `files`."""
        if self.prompt is None:
            return [self.command, *self.words]
        return [self.command, *self.words, "--", self.prompt, *files]


def parse(text: str, commands: Collection[str], valued: Collection[str] = ()) -> Line | None:
    """What a line says, None if it says nothing. Raises UsageError.

    A line that begins with a slash names one of `commands`, any other is a prompt for `ask`. `valued` are the
    options of `ask` and `edit` that take a value.
    """
    if not text.strip():
        return None
    if "\0" in text:
        raise UsageError("the line has a NUL character in it", "gemchat works on text only.")
    if not text.startswith("/"):
        return Line(command="ask", prompt=text.strip())
    name, rest = re.split(r"\s+|$", text[1:], maxsplit=1)
    if name not in commands:
        raise UsageError(f"there is no command /{name}", "See /help. After a blank, a slash begins a prompt.")
    if name in TALKING:
        words, prompt = _options(rest, valued)
        return Line(command=name, words=tuple(words), prompt=prompt)
    return Line(command=name, words=_words(rest, name))


def continues(line: str) -> bool:
    """Whether the next line belongs to this one."""
    return line.endswith("\\")


def joined(lines: Iterable[str]) -> Iterator[str]:
    """The lines, without their ends, each together with those it continues on."""
    held: list[str] = []
    for line in lines:
        held.append(line[:-1] if continues(line) else line)
        if not continues(line):
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held)


def _options(text: str, valued: Collection[str]) -> tuple[list[str], str]:
    """The options that a text begins with, and the text after them."""
    taken: list[str] = []
    while re.match(r"\s*-\S", text):
        word, text = _word(text)
        if word == "--":
            break
        taken.append(word)
        if _lacks_value(word, valued):
            value, text = _word(text)
            taken.append(value)
    return taken, text.strip()


def _lacks_value(word: str, valued: Collection[str]) -> bool:
    """Whether the next word is a value. What follows an option in a bundle like -qm is it, if it takes one."""
    if word.startswith("--"):
        return word in valued
    first = next((at for at in range(1, len(word)) if f"-{word[at]}" in valued), 0)
    return first == len(word) - 1


def _word(text: str) -> tuple[str, str]:
    """The first word as a shell reads it, and the text after it."""
    reader = shlex.shlex(text, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        word = reader.get_token() or ""
    except ValueError as error:
        raise _unreadable(text, error) from None
    return word, "".join(iter(lambda: reader.instream.read(1), ""))


def _words(text: str, name: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _unreadable(text, error) from None
    return ("--", *words) if name == "run" and words[:1] != ["--"] else tuple(words)


def _unreadable(text: str, error: ValueError) -> UsageError:
    reason = str(error)[:1].lower() + str(error)[1:]
    return UsageError(f"{text.strip()!r} cannot be read: {reason}", "Words are quoted as in a shell.")
