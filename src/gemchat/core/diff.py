"""Differences between texts as hunks, as unified diffs, and as patches that `git apply` takes.

A line ends at "\\n" and nowhere else, so carriage returns, form feeds and Unicode separators are ordinary
characters of a line. `apply_patch(old, unified(old, new)) == new` for all texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from gemchat.core.model import Value
from gemchat.core.opcodes import Opcode, opcodes
from gemchat.core.runs import Region, lines_on, regions

Tag: TypeAlias = Literal[" ", "-", "+"]
_Texts: TypeAlias = tuple[list[str], list[str]]

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TAGS: dict[str, Tag] = {" ": " ", "-": "-", "+": "+"}
NO_NEWLINE = "\\ No newline at end of file"


class Hunk(Value, frozen=True):
    """A run of changed lines with their surroundings. Starts count from 0, lines keep their "\\n"."""

    old_start: int
    new_start: int
    lines: tuple[tuple[Tag, str], ...]

    @property
    def old(self) -> list[str]:
        return [line for tag, line in self.lines if tag != "+"]

    @property
    def new(self) -> list[str]:
        return [line for tag, line in self.lines if tag != "-"]

    @property
    def header(self) -> str:
        return f"@@ -{_span(self.old_start, len(self.old))} +{_span(self.new_start, len(self.new))} @@"


def split_lines(text: str) -> list[str]:
    """The lines of a text with their "\\n"; joined they are the text again."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def hunks(old: str, new: str, context: int = 3) -> list[Hunk]:
    """The differences of two texts, each with up to `context` unchanged lines around it."""
    return [_hunk(*group) for region in regions(old, new, context) for group in _groups(region, old, new, context)]


def _groups(region: Region, old: str, new: str, context: int) -> Iterator[tuple[Region, _Texts, list[Opcode]]]:
    """What is needed for each hunk of a part of the texts."""
    texts = (
        split_lines(old[region.start : region.end]),
        split_lines(new[region.new_start : region.new_end]),
    )
    for group in _grouped(opcodes(*texts), context):
        yield region, texts, group


def _hunk(region: Region, texts: _Texts, group: Sequence[Opcode]) -> Hunk:
    before, after = texts
    lines: list[tuple[Tag, str]] = []
    for tag, a, b, c, d in group:
        if tag == "equal":
            lines += [(" ", line) for line in before[a:b]]
        else:
            lines += [("-", line) for line in before[a:b]]
            lines += [("+", line) for line in after[c:d]]
    _, a, _, c, _ = group[0]
    return Hunk(old_start=region.line + a, new_start=region.new_line + c, lines=tuple(lines))


def count(found: Iterable[Hunk]) -> tuple[int, int]:
    """Lines added and lines removed."""
    tags = [tag for hunk in found for tag, _ in hunk.lines]
    return tags.count("+"), tags.count("-")


def unified(old: str, new: str, *, old_name: str, new_name: str, context: int = 3) -> str:
    """A unified diff; empty when the texts are equal."""
    body = "".join(map(_printed, hunks(old, new, context)))
    return f"{_names(old_name, new_name)}{body}" if body else ""


def short_diff(old: str, new: str, name: str, room: int) -> tuple[str, int, int] | None:
    """The unified diff of two texts that differ, lines added and lines removed.

    It has a line of context, for its reader has the old text; with three it is over a third longer. None if it has
    more than `room` characters, which is found out without writing them all.
    """
    printed, found = [_names(name, name)], []
    room -= len(printed[0])
    for region in regions(old, new, context=1):
        if region.new_end - region.new_start > room and _least_added(region, old, new) > room:
            return None
        for group in _groups(region, old, new, context=1):
            if _least_printed(*group[1:]) > room:
                return None
            found.append(_hunk(*group))
            printed.append(_printed(found[-1]))
            room -= len(printed[-1])
    return None if room < 0 else ("".join(printed), *count(found))


def _least_added(region: Region, old: str, new: str) -> int:
    """Characters of lines that the old text does not have at all."""
    before = old[region.start : region.end].split("\n")
    return sum(map(len, {*new[region.new_start : region.new_end].split("\n")}.difference(before)))


def _least_printed(texts: _Texts, group: Sequence[Opcode]) -> int:
    """Characters of changed lines."""
    before, after = texts
    changed = [code for code in group if code[0] != "equal"]
    return sum(sum(map(len, before[a:b])) + sum(map(len, after[c:d])) for _, a, b, c, d in changed)


def git_patch(path: str, old: str | None, new: str | None, mode: int = 0o100644) -> str:
    """One file's change as git writes it; `None` on either side is a file that does not exist there."""
    before, after = f"a/{path}", f"b/{path}"
    head = f"diff --git {_quoted(before)} {_quoted(after)}\n"
    if old is None:
        head += f"new file mode {mode:o}\n"
    elif new is None:
        head += f"deleted file mode {mode:o}\n"
    if not old and not new:
        return f"{head}index {_blob(old)}..{_blob(new)}\n" if old != new else ""
    body = unified(
        old or "",
        new or "",
        old_name="/dev/null" if old is None else before,
        new_name="/dev/null" if new is None else after,
    )
    return f"{head}{body}" if body else ""


def apply_patch(text: str, diff: str) -> str:
    """Applies a unified diff exactly where it says. Raises ValueError when a line is not as the diff has it."""
    return apply_hunks(text, parsed(diff))


def apply_hunks(text: str, changes: Iterable[Hunk]) -> str:
    """The text after some of its hunks, in their order. Raises ValueError when a line is not as a hunk has it."""
    result: list[str] = []
    at = line = 0
    for hunk in changes:
        start = lines_on(text, at, hunk.old_start - line, len(text))
        end = start + sum(map(len, hunk.old))
        ends_line = end in (0, len(text)) or text[end - 1 : end] == "\n"
        if hunk.old_start < line or not ends_line or split_lines(text[start:end]) != hunk.old:
            raise ValueError(f"the diff does not apply at line {hunk.old_start + 1}")
        result += (text[at:start], *hunk.new)
        at, line = end, hunk.old_start + len(hunk.old)
    return "".join([*result, text[at:]])


def _grouped(codes: Iterable[Opcode], context: int) -> Iterator[list[Opcode]]:
    """Cuts long equal runs, so that each group is one hunk."""
    group: list[Opcode] = []
    for tag, a, b, c, d in codes:
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        if not group:
            cut = min(context, b - a)
            group.append((tag, b - cut, b, d - cut, d))
        elif b - a > 2 * context:
            yield [*group, (tag, a, a + context, c, c + context)]
            group = [(tag, b - context, b, d - context, d)]
        else:
            group.append((tag, a, b, c, d))
    if any(code[0] != "equal" for code in group):
        tag, a, b, c, d = group[-1]
        if tag == "equal":
            cut = min(context, b - a)
            group[-1] = (tag, a, a + cut, c, c + cut)
        yield group


def _span(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"


def _printed(hunk: Hunk) -> str:
    body = "".join(
        f"{tag}{line}" if line.endswith("\n") else f"{tag}{line}\n{NO_NEWLINE}\n" for tag, line in hunk.lines
    )
    return f"{hunk.header}\n{body}"


def parsed(diff: str) -> Iterator[Hunk]:
    """The hunks of a unified diff. Raises ValueError where it is none."""
    lines = split_lines(diff)
    start = next((i for i, line in enumerate(lines) if line.startswith("@@ ")), 0)
    while start < len(lines):
        match = _HEADER.match(lines[start])
        if match is None:
            raise ValueError(f"line {start + 1} of the diff is not a hunk header")
        old_start, old_count, new_start, new_count = (int(group or 1) for group in match.groups())
        end = start + 1
        body: list[tuple[Tag, str]] = []
        while end < len(lines) and not lines[end].startswith("@@ "):
            _take_line(body, lines[end])
            end += 1
        hunk = Hunk(
            old_start=old_start - (1 if old_count else 0),
            new_start=new_start - (1 if new_count else 0),
            lines=tuple(body),
        )
        if (len(hunk.old), len(hunk.new)) != (old_count, new_count):
            raise ValueError(f"the hunk at line {start + 1} of the diff is not as long as it says")
        yield hunk
        start = end


def _take_line(body: list[tuple[Tag, str]], line: str) -> None:
    tag = line[:1]
    if tag == "\\" and body:
        last_tag, last = body[-1]
        body[-1] = (last_tag, last.removesuffix("\n"))
    elif tag in _TAGS:
        body.append((_TAGS[tag], line[1:]))
    else:
        raise ValueError(f"a line of the diff begins with {tag!r}")


def _quoted(name: str) -> str:
    """A path as git quotes it: C escapes, bytes beyond ASCII in octal, quotes only where needed."""
    escaped = "".join(_escaped(byte) for byte in name.encode("utf-8", "surrogateescape"))
    return name if escaped == name else f'"{escaped}"'


def _escaped(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _with_tab(name: str) -> str:
    """git ends an unquoted name that contains a space with a tab."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _names(old: str, new: str) -> str:
    return f"--- {_with_tab(_quoted(old))}\n+++ {_with_tab(_quoted(new))}\n"


def _blob(text: str | None) -> str:
    """The abbreviated object names of a missing and of an empty file."""
    return "0000000" if text is None else "e69de29"
