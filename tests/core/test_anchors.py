"""Lines that two texts have in common for sure."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.anchors import anchors
from gemchat.core.diff import apply_patch, hunks, unified
from gemchat.core.opcodes import opcodes

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@given(LINES, LINES)
def test_anchors_are_lines_that_both_have_once_and_never_cross(old: list[str], new: list[str]) -> None:
    found = anchors(old, new)
    assert all(old[a] == new[b] and old.count(old[a]) == new.count(new[b]) == 1 for a, b in found)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))


def test_as_many_as_can_be_are_found() -> None:
    assert anchors(list("abcxd"), list("dabcy")) == [(0, 1), (1, 2), (2, 3)]
    assert anchors(list("xax"), list("a")) == [(1, 0)]
    assert anchors([], []) == anchors(["a"], ["b"]) == []


def _long(chance: random.Random, distinct: int, count: int) -> list[str]:
    return [f"{chance.randrange(distinct)}\n" for _ in range(count)]


def test_a_long_text_is_patched_back_and_equal_runs_are_whole() -> None:
    chance = random.Random(1)
    old = [f"line {number}\n" if number % 3 else "}\n" for number in range(3000)]
    new = list(old)
    for _ in range(60):
        at = chance.randrange(len(new))
        new[at : at + chance.randrange(3)] = _long(chance, 9, chance.randrange(3))
    diff = unified("".join(old), "".join(new), old_name="a", new_name="b")
    assert apply_patch("".join(old), diff) == "".join(new)
    assert len(diff.splitlines()) < 60 * 12
    codes = opcodes(old, new)
    assert not any(before[0] == after[0] == "equal" for before, after in pairwise(codes))
    assert (codes[0][1], codes[-1][2], codes[0][3], codes[-1][4]) == (0, len(old), 0, len(new))


def test_lines_that_recur_all_over_cost_no_more_than_a_replacement() -> None:
    """Two thousand kinds of lines in no order, each a few times: nothing to hold on to, and too much to try."""
    chance = random.Random(2)
    old, new = _long(chance, 2000, 40_000), _long(chance, 2000, 40_000)
    assert opcodes(["x\n", *old], ["x\n", *new]) == [("equal", 0, 1, 0, 1), ("replace", 1, 40_001, 1, 40_001)]


def test_without_anchors_what_is_short_enough_is_compared_all_the_same() -> None:
    old = ["a\n", "b\n"] * 300
    new = [*old[:200], "c\n", "c\n", *old[200:]]
    (hunk,) = hunks("".join(old), "".join(new))
    assert hunk.new.count("c\n") == 2
    mixed = ["c\n", *old, "c\n"], ["d\n", *old[:-1], "d\n", "d\n"]
    found = unified("".join(mixed[0]), "".join(mixed[1]), old_name="a", new_name="b")
    assert apply_patch("".join(mixed[0]), found) == "".join(mixed[1])
