"""Lines that two texts have in common for sure: those that stand in each of them once, in an order both have.

Where every line recurs, it is the first lines of runs that stand in each of them once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

_RUNS = (1, 2, 4, 16)  # lines; the first length of which both have one once is taken
_LONG = 100_000  # lines of both texts; of longer ones only single lines are looked at


def anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """As many positions in both as can be without crossing, rising in both; as patience sorting finds them."""
    lengths = _RUNS if len(old) + len(new) <= _LONG else _RUNS[:1]
    return next(filter(None, (_anchors(_runs(old, length), _runs(new, length)) for length in lengths)), [])


def _runs(lines: Sequence[Hashable], length: int) -> Sequence[Hashable]:
    return lines if length == 1 else [*zip(*(lines[start:] for start in range(length)), strict=False)]


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    once = {run for run, times in Counter(new).items() if times == 1}
    where = {run: number for number, run in enumerate(new) if run in once}
    twice = {run for run, times in Counter(old).items() if times > 1}
    return _rising([(a, where[run]) for a, run in enumerate(old) if run in where and run not in twice])


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest selection, in order, of which the second numbers rise as well."""
    ends: list[int] = []  # the smallest last number of a selection of each length, and which pair that is
    last: list[int] = []
    before: list[int] = []
    for index, (_, b) in enumerate(pairs):
        length = bisect_left(ends, b)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [b]
        last[length : length + 1] = [index]
    chosen: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]
