"""Where two texts differ, in whole lines, found at the speed at which memory is compared.

Owns the passages in which texts differ and the regions around them that a diff shows; the texts between them are
equal and are never split into lines. How the lines of a passage became others is `diff`'s business. A passage can
be longer than need be, but it never ends inside of a line, and every difference is in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

_FIRST = 64  # characters that are compared at once: at first, and
_BLOCK = 1 << 17  # at most, so that both stay in the processor's cache
EXACT = 100_000  # pairs of lines, up to which all are compared; more take too long
_FEW = 64  # lines that are looked for one by one
_PROBE = 256  # characters, to the end of their line, by which a place is known again
_FURTHEST = 1 << 14  # lines behind a difference in which such a place is looked for


class Passage(NamedTuple):
    """From where to where, in characters, the old text gives way to the new; all are line starts or ends."""

    start: int
    end: int
    new_start: int
    new_end: int


class Region(NamedTuple):
    """Passages with what is shown around them, in characters; `line` and `new_line` count from 0."""

    start: int
    end: int
    new_start: int
    new_end: int
    line: int
    new_line: int


def regions(old: str, new: str, context: int, exact: int = EXACT) -> Iterator[Region]:
    """The passages, each with `context` equal lines around it; those that would touch are one region."""
    current: Region | None = None
    last = Passage(0, 0, 0, 0)
    line = new_line = 0
    for passage in passages(old, new, exact):
        between = old.count("\n", last.end, passage.start)
        line += old.count("\n", last.start, last.end)
        new_line += new.count("\n", last.new_start, last.new_end)
        if current and between <= 2 * context:
            current = current._replace(end=passage.end, new_end=passage.new_end)
        else:
            if current:
                yield _with_lines_behind(current, old, context)
            current = _with_lines_before(passage, old, line + between, new_line + between, min(context, between))
        line, new_line, last = line + between, new_line + between, passage
    if current:
        yield _with_lines_behind(current, old, context)


def passages(old: str, new: str, exact: int = EXACT) -> Iterator[Passage]:
    """In order, without overlap; what is between two is equal. The last `exact` pairs of lines are in one."""
    a = b = _equal_lines(old, 0, len(old), new, 0, len(new))
    end, new_end = _before_tail(old, a, new, b)
    while a < end or b < new_end:
        c, d = end, new_end
        if not _has_few_lines(old, a, end, new, b, new_end, exact):
            c, d = _next_equal(old, a, end, new, b, new_end)
        yield Passage(a, c, b, d)
        equal = _equal_lines(old, c, end, new, d, new_end)
        a, b = c + equal, d + equal


def _equal_lines(old: str, a: int, end: int, new: str, b: int, new_end: int) -> int:
    """The characters of the lines that both have from `a` and `b` on."""
    count = _equal_from(min(end - a, new_end - b), lambda i, j: old[a + i : a + j] == new[b + i : b + j])
    if a + count == end == len(old) and b + count == new_end == len(new):
        return count
    return max(old.rfind("\n", a, a + count) + 1 - a, 0)


def _before_tail(old: str, a: int, new: str, b: int) -> tuple[int, int]:
    """Where the lines begin with which both end; `a` and `b` are as far as those go with which both begin."""
    end, new_end = len(old), len(new)
    limit = min(end - a, new_end - b)
    count = _equal_from(limit, lambda i, j: old[end - j : end - i] == new[new_end - j : new_end - i])
    end, new_end = end - count, new_end - count
    if not (_starts_line(old, end) and _starts_line(new, new_end)):
        behind = (old.find("\n", end) + 1 or len(old)) - end
        end, new_end = end + behind, new_end + behind
    return end, new_end


def _equal_from(limit: int, equal: Callable[[int, int], bool]) -> int:
    """How many characters, at most `limit`, are equal; `equal` says so of those from one to another."""
    done, step = 0, _FIRST
    while done < limit and equal(done, min(done + step, limit)):
        done = min(done + step, limit)
        step = min(2 * step, _BLOCK)
    while step > 1:
        step //= 2
        if equal(done, min(done + step, limit)):
            done = min(done + step, limit)
    return done


def _has_few_lines(old: str, a: int, end: int, new: str, b: int, new_end: int, pairs: int) -> bool:
    if max(end - a, new_end - b) > pairs:
        return False
    return old.count("\n", a, end) * new.count("\n", b, new_end) <= pairs


def _next_equal(old: str, a: int, end: int, new: str, b: int, new_end: int) -> tuple[int, int]:
    """The nearest line starts behind a difference from which on both are equal for a while; else the ends.

    Twice as far each time: lines that gave way to as many others, lines that came, that went, or gave way to more
    or fewer.
    """
    c, d, lines = a, b, 1
    while lines < _FURTHEST and (c < end or d < new_end):
        nearer = c
        c, d = lines_on(old, c, lines, end), lines_on(new, d, lines, new_end)
        lines *= 2
        known = _probe(old, c, end)
        if known and new.startswith(known, d - 1, new_end):
            return c, d
        for place in dict.fromkeys((a, nearer)):
            found = _find(_probe(old, place, end), new, b, d, new_end)
            if found:
                return place, found
        found = _find(_probe(new, b, new_end), old, a, c, end)
        if found:
            return found, b
    return end, new_end


def _probe(text: str, start: int, end: int) -> str:
    """What a place is known by: the end of the line before it, and some lines; empty where there are too few."""
    stop = text.find("\n", start + _PROBE, end) + 1
    return text[start - 1 : stop] if start and stop else ""


def _find(probe: str, text: str, start: int, stop: int, end: int) -> int:
    """The first place from `start` up to `stop` that is like the probe; 0 if there is none."""
    if not probe:
        return 0
    return text.find(probe, max(start - 1, 0), min(stop + len(probe), end)) + 1


def lines_on(text: str, start: int, count: int, end: int) -> int:
    """The start of the line that is `count` lines behind a position; `end` where there are not so many."""
    step = _BLOCK
    while count > _FEW and step > _FEW:
        found = text.count("\n", start, min(start + step, end))
        if found < count and start + step < end:
            start, count = start + step, count - found
        else:
            step //= 2
    for _ in range(count):
        start = text.find("\n", start, end) + 1
        if not start:
            return end
    return start


def _starts_line(text: str, position: int) -> bool:
    return not position or text[position - 1] == "\n"


def _with_lines_before(passage: Passage, old: str, line: int, new_line: int, count: int) -> Region:
    start = passage.start
    for _ in range(count):
        start = old.rfind("\n", 0, start - 1) + 1
    new_start = passage.new_start - (passage.start - start)
    return Region(start, passage.end, new_start, passage.new_end, line - count, new_line - count)


def _with_lines_behind(region: Region, old: str, count: int) -> Region:
    end = lines_on(old, region.end, count, len(old))
    return region._replace(end=end, new_end=region.new_end + end - region.end)
