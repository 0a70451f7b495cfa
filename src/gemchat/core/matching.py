"""Finding the one place an edit means: exactly, else ignoring trailing blanks, else after one shift of indent.

Every step demands exactly one place; more than one is a failure, never a choice. Beyond the first step whole lines
are compared, and lines that the edit repeats unchanged keep the text they have. There is no similarity search:
`nearest_lines` only helps to explain a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from gemchat.core.diff import split_lines
from gemchat.core.model import Tier, Value
from gemchat.core.opcodes import opcodes

TIERS: tuple[Tier, ...] = ("exact", "blanks", "indent")  # strictest first

_MAX_LINES_NAMED = 5
_MAX_LINES_COMPARED = 5_000
_COMPARED = 120  # characters of a line; how alike two lines are takes the product of their lengths
_LINES_AROUND = 2
_MAX_PLACES = 1_000  # that are counted when there should be one


class Match(Value, frozen=True):
    """Characters `start` to `end` give way to `text`; `tier` is the step that found the place."""

    start: int
    end: int
    text: str
    tier: Tier


class _Place(Value, frozen=True):
    """Lines `first` to `last` of a text, and how much deeper (or less deep) they are indented than the search."""

    first: int
    last: int
    shift: str = ""
    outwards: bool = False


def match(search: str, replace: str, text: str) -> Match | str:
    """Where the edit belongs, or why it has no place."""
    starts = list(islice(_occurrences(search, text), _MAX_PLACES))
    if len(starts) == 1:
        return Match(start=starts[0], end=starts[0] + len(search), text=replace, tier="exact")
    if starts:
        return _ambiguous([text.count("\n", 0, start) + 1 for start in starts[:_MAX_LINES_NAMED]], len(starts))
    lines, wanted = split_lines(text), split_lines(search)
    for tier, places in _LINE_TIERS:
        found = list(islice(places(wanted, lines), _MAX_PLACES)) if search.strip() else []
        if len(found) > 1:
            return _ambiguous([place.first + 1 for place in found[:_MAX_LINES_NAMED]], len(found))
        if found:
            return _by_lines(found[0], search, replace, lines, tier)
    return "does not occur"


def nearest_lines(search: str, text: str) -> str:
    """The lines of the text that look most like the search text, numbered; empty if nothing does."""
    wanted = next((line.strip()[:_COMPARED] for line in search.split("\n") if line.strip()), "")
    if not wanted:
        return ""
    lines = text.split("\n", _MAX_LINES_COMPARED + _LINES_AROUND + 1)[: _MAX_LINES_COMPARED + _LINES_AROUND]
    judge = SequenceMatcher(b=wanted, autojunk=False)
    best, likeness = 0, 0.5
    for number, line in enumerate(lines[:_MAX_LINES_COMPARED]):
        judge.set_seq1(line.strip()[:_COMPARED])
        if judge.real_quick_ratio() > likeness and judge.quick_ratio() > likeness and judge.ratio() > likeness:
            best, likeness = number, judge.ratio()
    if likeness == 0.5:
        return ""
    first = max(best - _LINES_AROUND, 0)
    shown = lines[first : best + _LINES_AROUND + 1]
    return "\n".join(f"{number}: {line}" for number, line in enumerate(shown, first + 1))


def _occurrences(search: str, text: str) -> Iterator[int]:
    start = text.find(search)
    while start >= 0:
        yield start
        start = text.find(search, start + 1)


def _ambiguous(numbers: Sequence[int], times: int) -> str:
    """`numbers` are the first lines, counted from 1; `times` stops at the most that are looked for."""
    named = ", ".join(map(str, numbers))
    at_least = "at least " if times == _MAX_PLACES else ""
    return f"occurs {at_least}{times} times (lines {named}{', …' if times > len(numbers) else ''})"


def _same_but_blanks(wanted: Sequence[str], lines: Sequence[str]) -> Iterator[_Place]:
    for first in _alike(wanted, lines, str.rstrip):
        yield _Place(first=first, last=first + len(wanted))


def _shifted(wanted: Sequence[str], lines: Sequence[str]) -> Iterator[_Place]:
    for first in _alike(wanted, lines, str.strip):
        place = _shift(wanted, lines[first : first + len(wanted)], first)
        if place is not None:
            yield place


def _alike(wanted: Sequence[str], lines: Sequence[str], strip: Callable[[str], str]) -> Iterator[int]:
    """The numbers of the lines from which on all are as wanted, but for what is stripped."""
    needle, text = ("\n".join(["", *map(strip, part), ""]) for part in (wanted, lines))
    number = counted = 0
    for start in _occurrences(needle, text):
        number, counted = number + text.count("\n", counted, start), start
        yield number


def _shift(wanted: Sequence[str], lines: Sequence[str], first: int) -> _Place | None:
    """The blanks before all lines, which are as wanted otherwise, that those lack, or the other way round."""
    pairs = [(want.rstrip(), line.rstrip()) for want, line in zip(wanted, lines, strict=True)]
    filled = [(want, line) for want, line in pairs if want or line]
    want, line = filled[0]
    outwards = len(want) > len(line)
    longer, shorter = (want, line) if outwards else (line, want)
    shift = longer[: len(longer) - len(shorter)]
    if not shift:
        return None
    fits = all(want == shift + line if outwards else line == shift + want for want, line in filled)
    return _Place(first=first, last=first + len(lines), shift=shift, outwards=outwards) if fits else None


def _by_lines(place: _Place, search: str, replace: str, lines: Sequence[str], tier: Tier) -> Match | str:
    """The replacement of whole lines. What the edit says of the last line end holds, but not beyond the file's."""
    block = "".join(lines[place.first : place.last])
    original, wanted, new = _contents(block), _contents(search), _contents(replace)
    result: list[str] = []
    for tag, a, b, c, d in opcodes([line.rstrip() for line in wanted], [line.rstrip() for line in new]):
        moved = original[a:b] if tag == "equal" else [_moved(line, place) for line in new[c:d]]
        if None in moved:
            return "has a replacement that is indented less than the lines it belongs to"
        result += [line for line in moved if line is not None]
    end = "\n" if replace.endswith("\n") and (block.endswith("\n") or not search.endswith("\n")) else ""
    start = sum(map(len, lines[: place.first]))
    length = len(block) - (block.endswith("\n") and not search.endswith("\n"))
    return Match(start=start, end=start + length, text="\n".join(result) + end, tier=tier)


def _contents(text: str) -> list[str]:
    """The lines of a text without their ends."""
    return [line.removesuffix("\n") for line in split_lines(text)]


def _moved(line: str, place: _Place) -> str | None:
    if not line.strip():
        return line
    if not place.outwards:
        return place.shift + line
    return line.removeprefix(place.shift) if line.startswith(place.shift) else None


_LINE_TIERS: tuple[tuple[Tier, Callable[[Sequence[str], Sequence[str]], Iterator[_Place]]], ...] = (
    ("blanks", _same_but_blanks),
    ("indent", _shifted),
)
