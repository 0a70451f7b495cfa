"""File bytes and the text a model sees: encoding, byte order mark, line ends.

A model sees LF line ends and no byte order mark. `decode` remembers what was taken away, `encode` puts it back:
`encode(decode(data)) == data`. `splice` turns replacements in that text into new bytes in which every untouched
line keeps its exact bytes and a new line end is that of its neighbours.

Files are UTF-8 unless the user names another encoding; nothing is guessed. An encoding that keeps a state between
characters, or a file that would not come back byte for byte, is refused.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence

from gemchat.core.kinds import SUPPORTED
from gemchat.core.model import Value
from gemchat.core.opcodes import opcodes
from gemchat.errors import NotText, UsageError

UTF_8 = "utf-8"
_BOM = "\ufeff"
_STATEFUL = ("iso2022", "hz", "utf-7", "idna", "punycode", "unicode", "raw", "undefined")
_BY_MARK = {
    "utf-16": {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"},
    "utf-32": {b"\xff\xfe\0\0": "utf-32-le", b"\0\0\xfe\xff": "utf-32-be"},
}


class Replacement(Value, frozen=True):
    """Characters `start` to `end` of a text give way to `text`."""

    start: int
    end: int
    text: str


class TextFile(Value, frozen=True):
    """A decoded file. `mixed` lists each line end of a file that uses more than one kind, else `eol` is all.

    `encoding` is one with a fixed byte order, so that it alone says how characters become bytes.
    """

    text: str = ""
    bom: bool = False
    eol: str = "\n"
    mixed: tuple[str, ...] = ()
    encoding: str = UTF_8

    @property
    def line_ends(self) -> Sequence[str]:
        return self.mixed or [self.eol] * self.text.count("\n")


def canonical(name: str) -> str:
    """The one name of a text encoding. Raises UsageError for what is none, or keeps a state between characters."""
    try:
        found = codecs.lookup(name).name
        "a".encode(found)
    except (LookupError, ValueError):
        found = "undefined"
    if found.startswith(_STATEFUL):
        raise UsageError(
            f"there is no encoding {name!r} for files", "For example: cp1252, latin-1, shift_jis, utf-16."
        )
    return UTF_8 if found == "utf-8-sig" else found


def codec_of(data: bytes, encoding: str) -> str:
    """The encoding with the byte order that the file's mark gives it. Raises NotText where a mark is missing."""
    marks = _BY_MARK.get(encoding)
    if marks is None:
        return encoding
    for mark, codec in marks.items():
        if data.startswith(mark):
            return codec
    raise NotText(f"has no byte order mark for {encoding}", f"Name the byte order: --encoding {encoding}-le")


def blank(encoding: str = UTF_8) -> TextFile:
    """A new file: with a byte order mark where the encoding's name leaves the order open."""
    marked = encoding in _BY_MARK
    return TextFile(encoding=f"{encoding}-le" if marked else encoding, bom=marked)


def raw_text(data: bytes, encoding: str = UTF_8) -> str:
    """All of a file as characters, marks and line ends included. Raises NotText for what is not text in it."""
    codec = codec_of(data, encoding)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        if b"\0" in data and encoding == UTF_8:
            raise _binary() from None
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise NotText(
            f"is not {name} text (byte {data[error.start]:#04x} at offset {error.start})",
            "Name the encoding it is in, for example: --encoding cp1252",
        ) from None
    if b"\0" in data if codec == UTF_8 else "\0" in text:
        raise _binary()
    if codec != UTF_8 and text.encode(codec) != data:
        raise NotText(f"would not come back byte for byte from {encoding}", "Convert the file to UTF-8 first.")
    return text


def decode(data: bytes, encoding: str = UTF_8) -> TextFile:
    """Raises NotText for anything but text in that encoding without NUL characters."""
    decoded = raw_text(data, encoding)
    codec = codec_of(data, encoding)
    bom = decoded.startswith(_BOM)
    raw = decoded.removeprefix(_BOM)
    if "\r" not in raw:
        return TextFile(text=raw, bom=bom, encoding=codec)
    crlf, lf = raw.count("\r\n"), raw.count("\n")
    if not lf:
        return TextFile(text=raw.replace("\r", "\n"), bom=bom, eol="\r", encoding=codec)
    if not crlf:
        return TextFile(text=raw, bom=bom, encoding=codec)
    if crlf == lf:
        return TextFile(text=_with_lf(raw, crlf), bom=bom, eol="\r\n", encoding=codec)
    ends = tuple(re.findall(r"\r?\n", raw))
    eol = "\r\n" if 2 * crlf > lf else "\n"
    return TextFile(text=_with_lf(raw, crlf), bom=bom, eol=eol, mixed=ends, encoding=codec)


def _with_lf(raw: str, crlf: int) -> str:
    """With LF for each of so many CRLF. Taking out characters is four times as fast as replacing pairs."""
    return raw.replace("\r", "") if raw.count("\r") == crlf else raw.replace("\r\n", "\n")


def encode(file: TextFile) -> bytes:
    """Raises UnicodeEncodeError for a character that the file's encoding does not have."""
    if file.mixed:
        raw = _with_line_ends(file.text, file.mixed)
    else:
        raw = file.text if file.eol == "\n" else file.text.replace("\n", file.eol)
    return f"{_BOM if file.bom else ''}{raw}".encode(file.encoding)


def misfit(error: UnicodeEncodeError, encoding: str) -> str:
    """Which character the encoding does not have, in words."""
    character = error.object[error.start]
    name = unicodedata.name(character, "no name")
    line = error.object.count("\n", 0, error.start) + 1
    return f"{encoding} has no U+{ord(character):04X} ({name}), which is in line {line}"


def replace(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with all replacements made at once; they must be sorted and may not overlap."""
    pieces: list[str] = []
    done = 0
    for change in replacements:
        pieces += (text[done : change.start], change.text)
        done = change.end
    return "".join([*pieces, text[done:]])


def splice(base: TextFile, replacements: Sequence[Replacement]) -> bytes:
    """The file's new bytes after `replacements`, sorted and without overlap, in its text. Raises like `encode`."""
    mixed = _spliced_line_ends(base, replacements) if base.mixed else ()
    text = replace(base.text, replacements)
    return encode(TextFile(text=text, bom=base.bom, eol=base.eol, mixed=mixed, encoding=base.encoding))


def _binary() -> NotText:
    return NotText("is a binary file", f"gemchat works on text, and takes as context also {SUPPORTED}.")


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
