"""Lines that two texts have in common for sure: those that stand in each of them once, in an order both have."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence


def anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """As many positions in both as can be without crossing, rising in both; as patience sorting finds them."""
    once = {line for line, times in Counter(new).items() if times == 1}
    where = {line: number for number, line in enumerate(new) if line in once}
    twice = {line for line, times in Counter(old).items() if times > 1}
    pairs = [(a, where[line]) for a, line in enumerate(old) if line in where and line not in twice]
    return _rising(pairs)


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
