"""File bytes and the text a model sees: UTF-8, byte order mark, line ends.

A model sees LF line ends and no byte order mark. `decode` remembers what was taken away, `encode` puts it back:
`encode(decode(data)) == data`. `splice` turns replacements in that text into new bytes in which every untouched
line keeps its exact bytes and a new line end is that of its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemchat.core.diff import opcodes
from gemchat.core.model import Value
from gemchat.errors import NotText

_BOM = "\ufeff"


class Replacement(Value, frozen=True):
    """Characters `start` to `end` of a text give way to `text`."""

    start: int
    end: int
    text: str


class TextFile(Value, frozen=True):
    """A decoded file. `mixed` lists each line end of a file that uses more than one kind, else `eol` is all."""

    text: str = ""
    bom: bool = False
    eol: str = "\n"
    mixed: tuple[str, ...] = ()

    @property
    def line_ends(self) -> Sequence[str]:
        return self.mixed or [self.eol] * self.text.count("\n")


def decode(data: bytes) -> TextFile:
    """Raises NotText for anything but UTF-8 without NUL characters."""
    if b"\0" in data:
        raise NotText("is a binary file", "gemchat works on text files only.")
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotText(
            f"is not UTF-8 text (byte {data[error.start]:#04x} at offset {error.start})",
            "Convert the file to UTF-8 first.",
        ) from None
    bom = decoded.startswith(_BOM)
    raw = decoded.removeprefix(_BOM)
    crlf, lf = raw.count("\r\n"), raw.count("\n")
    if not lf and "\r" in raw:
        return TextFile(text=raw.replace("\r", "\n"), bom=bom, eol="\r")
    if not crlf:
        return TextFile(text=raw, bom=bom)
    if crlf == lf:
        return TextFile(text=raw.replace("\r\n", "\n"), bom=bom, eol="\r\n")
    ends = tuple(re.findall(r"\r?\n", raw))
    eol = "\r\n" if 2 * crlf > lf else "\n"
    return TextFile(text=raw.replace("\r\n", "\n"), bom=bom, eol=eol, mixed=ends)


def encode(file: TextFile) -> bytes:
    if file.mixed:
        raw = _with_line_ends(file.text, file.mixed)
    else:
        raw = file.text if file.eol == "\n" else file.text.replace("\n", file.eol)
    return f"{_BOM if file.bom else ''}{raw}".encode()


def replace(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with all replacements made at once; they must be sorted and may not overlap."""
    pieces: list[str] = []
    done = 0
    for change in replacements:
        pieces += (text[done : change.start], change.text)
        done = change.end
    return "".join([*pieces, text[done:]])


def splice(base: TextFile, replacements: Sequence[Replacement]) -> bytes:
    """The file's new bytes after `replacements`, sorted and without overlap, in its text."""
    mixed = _spliced_line_ends(base, replacements) if base.mixed else ()
    text = replace(base.text, replacements)
    return encode(TextFile(text=text, bom=base.bom, eol=base.eol, mixed=mixed))


def _with_line_ends(text: str, ends: Sequence[str]) -> str:
    lines = text.split("\n")
    return "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))


def _spliced_line_ends(base: TextFile, replacements: Sequence[Replacement]) -> tuple[str, ...]:
    ends: list[str] = []
    seen = position = 0
    for change in replacements:
        first = seen + base.text.count("\n", position, change.start)
        last = first + base.text.count("\n", change.start, change.end)
        ends += base.mixed[seen:first]
        around = (ends or base.mixed[last:] or [base.eol])[-1 if ends else 0]
        old = base.text[change.start : change.end].split("\n")[:-1]
        new = change.text.split("\n")[:-1]
        ends += _aligned(old, new, base.mixed[first:last], around)
        seen, position = last, change.end
    return (*ends, *base.mixed[seen:])


def _aligned(old: Sequence[str], new: Sequence[str], ends: Sequence[str], around: str) -> list[str]:
    """The line ends of `new`: of the line it equals or replaces in `old`, else of the line before it."""
    aligned: list[str] = []
    for _, a, b, c, d in opcodes(old, new):
        paired = list(ends[a:b][: d - c])
        filler = (paired or aligned or [around])[-1]
        aligned += paired + [filler] * (d - c - len(paired))
    return aligned
