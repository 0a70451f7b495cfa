"""Picking from a change: splitting its hunks, taking one back from an editor, and the text that a choice makes.

The hunks of a selection never share a line of the old text, also after splitting and editing. So any choice of
them applies to the old text, and all of them give the proposed text until one is edited.
"""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from gemchat.core.diff import NO_NEWLINE, Hunk, Tag, apply_hunks, hunks, split_lines
from gemchat.core.model import Value

_GUIDE = """\
# Lines that begin with # are ignored; without any other line the hunk stays as it was.
# Keep a line marked - by writing a blank in place of the -. Leave out a line marked + by deleting it.
# New lines begin with +. Lines that begin with a blank stay as they are, or are marked - to remove them.
"""
_TAGS: dict[str, Tag] = {" ": " ", "-": "-", "+": "+", "\n": " "}  # editors strip the blank of an empty line


class Selection(Value, frozen=True):
    """One file's hunks in their order and, for each, whether it is taken; None is not yet decided."""

    hunks: tuple[Hunk, ...]
    taken: tuple[bool | None, ...]

    @property
    def current(self) -> int | None:
        """The first hunk that is not yet decided."""
        return next((index for index, taken in enumerate(self.taken) if taken is None), None)

    @property
    def complete(self) -> bool:
        """Whether every hunk is taken."""
        return all(self.taken)

    def decide(self, taken: bool) -> Selection:
        """Decides the current hunk."""
        return self._with_current(self._current_hunk, taken=taken)

    def decide_rest(self, taken: bool) -> Selection:
        """Decides all hunks that are not yet decided."""
        return replace(self, taken=tuple(taken if known is None else known for known in self.taken))

    def split(self) -> Selection:
        """Puts the parts of the current hunk in its place."""
        return self._with_current(*split(self._current_hunk), taken=None)

    def edit(self, text: str, old: str) -> Selection:
        """Takes the current hunk as it was edited; `old` is the whole text. Raises ValueError as `edited` does."""
        hunk, index = self._current_hunk, self.current
        at_end = index == len(self.hunks) - 1 and hunk.old_start + len(hunk.old) == len(split_lines(old))
        new = edited(hunk, text, at_end=at_end)
        return self if new is None else self._with_current(new, taken=True)

    def chosen(self, old: str) -> str:
        """The old text with the hunks that are taken."""
        return apply_hunks(old, [hunk for hunk, taken in zip(self.hunks, self.taken, strict=True) if taken])

    def proposed(self, old: str) -> str:
        """The old text with all hunks, edited ones as they are now."""
        return apply_hunks(old, self.hunks)

    @property
    def _current_hunk(self) -> Hunk:
        assert self.current is not None, "there is something to decide"
        return self.hunks[self.current]

    def _with_current(self, *hunks: Hunk, taken: bool | None) -> Selection:
        at = self.current or 0
        return Selection(
            hunks=(*self.hunks[:at], *hunks, *self.hunks[at + 1 :]),
            taken=(*self.taken[:at], *[taken] * len(hunks), *self.taken[at + 1 :]),
        )


def selection(old: str, new: str) -> Selection:
    """A change of a text with nothing decided."""
    found = tuple(hunks(old, new))
    return Selection(hunks=found, taken=(None,) * len(found))


def split(hunk: Hunk) -> tuple[Hunk, ...]:
    """The hunk cut in the middle of each run of unchanged lines between its changes."""
    parts: list[list[tuple[Tag, str]]] = [[]]
    runs = [(unchanged, list(lines)) for unchanged, lines in groupby(hunk.lines, lambda line: line[0] == " ")]
    for number, (unchanged, lines) in enumerate(runs):
        if unchanged and 0 < number < len(runs) - 1:
            middle = (len(lines) + 1) // 2
            parts[-1] += lines[:middle]
            parts.append(lines[middle:])
        else:
            parts[-1] += lines
    found, old, new = [], hunk.old_start, hunk.new_start
    for part in parts:
        found.append(Hunk(old_start=old, new_start=new, lines=tuple(part)))
        old, new = old + len(found[-1].old), new + len(found[-1].new)
    return tuple(found)


def editable(hunk: Hunk) -> str:
    """The hunk as an editor shows it, with a guide. Line ends that are all CRLF are shown as LF."""
    end = _line_end(hunk)
    body = "".join(_shown(tag, line, end) for tag, line in hunk.lines)
    return f"# {hunk.header}\n{body}{_GUIDE}"


def edited(hunk: Hunk, text: str, *, at_end: bool) -> Hunk | None:
    """The hunk that `editable(hunk)` was edited to; None when nothing but comments is left.

    It changes the same lines of the old text. `at_end` says that the last of them is the last line of the file.
    Raises ValueError, saying what does not fit.
    """
    end = _line_end(hunk)
    lines: list[tuple[Tag, str]] = []
    for number, line in enumerate(split_lines(text), 1):
        _take(lines, number, f"{line.removesuffix(chr(10))}\n", end)
    if not lines:
        return None
    new = Hunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=tuple(lines))
    _check_old(new.old, hunk.old)
    if new.old == new.new:
        raise ValueError("the edited hunk changes nothing; leave it out instead")
    ended = new.new[:-1] if at_end else new.new
    if not all(line.endswith("\n") for line in ended):
        raise ValueError("only the last line of the file can be without a newline")
    return new


def _line_end(hunk: Hunk) -> str:
    ended = [line for _, line in hunk.lines if line.endswith("\n")]
    return "\r\n" if ended and all(line.endswith("\r\n") for line in ended) else "\n"


def _shown(tag: Tag, line: str, end: str) -> str:
    if not line.endswith("\n"):
        return f"{tag}{line}\n{NO_NEWLINE}\n"
    return f"{tag}{line.removesuffix(end)}\n"


def _take(lines: list[tuple[Tag, str]], number: int, line: str, end: str) -> None:
    """Adds one line of the edited text, which ends with a newline, to those of the hunk."""
    mark = line[0]
    if mark == "\\" and lines:
        tag, last = lines[-1]
        lines[-1] = (tag, last.removesuffix(end))
    elif mark in _TAGS:
        lines.append((_TAGS[mark], line[1:].removesuffix("\n") + end))
    elif mark != "#":
        raise ValueError(f"line {number} begins with {mark!r}; a line of a hunk begins with a blank, - or +")


def _check_old(found: list[str], expected: list[str]) -> None:
    """The lines marked - or blank are still those of the file."""
    for line, wanted in zip(found, expected, strict=False):
        if line != wanted:
            raise ValueError(f"it has {_quoted(line)} where the file has {_quoted(wanted)}")
    if len(found) < len(expected):
        raise ValueError(f"the file's line {_quoted(expected[len(found)])} is missing; mark it - to remove it")
    if len(found) > len(expected):
        raise ValueError(f"the line {_quoted(found[len(expected)])} is not in the file; mark it + to add it")


def _quoted(line: str) -> str:
    """With line end and blanks told apart, and harmless to look at."""
    return repr(line if len(line) <= 60 else f"{line[:59]}…")
