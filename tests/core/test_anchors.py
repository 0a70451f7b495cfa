"""Lines that two texts have in common for sure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.anchors import anchors
from gemchat.core.diff import apply_patch, hunks, unified
from gemchat.core.opcodes import opcodes

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@given(LINES, LINES)
def test_anchors_are_lines_or_begin_runs_that_both_have_once_and_never_cross(
    old: list[str], new: list[str]
) -> None:
    found = anchors(old, new)
    lengths = {length for length in (1, 2, 4, 16) if all(_once(old, a, length) for a, _ in found)}
    assert any(
        all(_once(new, b, length) and old[a : a + length] == new[b : b + length] for a, b in found)
        for length in lengths
    )
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))


def _once(lines: list[str], at: int, length: int) -> bool:
    runs = ["".join(lines[start : start + length]) for start in range(len(lines) - length + 1)]
    return at < len(runs) and runs.count(runs[at]) == 1


def test_where_every_line_recurs_runs_of_lines_are_known_again() -> None:
    assert anchors(list("abbaab"), list("xabbaa")) == [(1, 2), (2, 3), (3, 4)]
    assert anchors(["a"] * 9, ["a"] * 8) == []


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


class Line(str):
    """Counts how often lines are compared or hashed."""

    used = 0

    def __hash__(self) -> int:
        Line.used += 1
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        Line.used += 1
        return str.__eq__(self, other)


def _worst(count: int) -> Iterator[tuple[str, list[str], list[str]]]:
    chance = random.Random(2)
    yield "few kinds", _long(chance, 2, count), _long(chance, 2, count)
    yield "many kinds", _long(chance, 2000, count), _long(chance, 2000, count)
    yield "all alike", ["}\n"] * count, ["{\n", *["}\n"] * (count // 2), "{\n", "{\n"]
    shuffled = [f"{number}\n" for number in range(count)]
    yield "another order", list(shuffled), chance.sample(shuffled, count)


@pytest.mark.parametrize(("old", "new"), [pytest.param(a, b, id=name) for name, a, b in _worst(20_000)])
def test_the_worst_texts_take_a_few_looks_at_each_line(old: list[str], new: list[str]) -> None:
    before, after = [Line(line) for line in old], [Line(line) for line in new]
    Line.used = 0
    codes = opcodes(before, after)
    assert Line.used < 200 * (len(old) + len(new))
    assert [line for _, _, _, c, d in codes for line in after[c:d]] == new
    assert all(before[a:b] == after[c:d] for tag, a, b, c, d in codes if tag == "equal")


def test_nothing_in_common_is_one_replacement() -> None:
    assert opcodes(["x", "a"], ["x", "b"]) == [("equal", 0, 1, 0, 1), ("replace", 1, 2, 1, 2)]
    assert opcodes(["a"] * 500, ["b"] * 500) == [("replace", 0, 500, 0, 500)]
    assert (opcodes([], ["b"]), opcodes(["a"], []), opcodes([], [])) == (
        [("insert", 0, 0, 0, 1)],
        [("delete", 0, 1, 0, 0)],
        [],
    )


def test_without_anchors_what_is_short_enough_is_compared_all_the_same() -> None:
    old = ["a\n", "b\n"] * 300
    new = [*old[:200], "c\n", "c\n", *old[200:]]
    (hunk,) = hunks("".join(old), "".join(new))
    assert hunk.new.count("c\n") == 2
    mixed = ["c\n", *old, "c\n"], ["d\n", *old[:-1], "d\n", "d\n"]
    found = unified("".join(mixed[0]), "".join(mixed[1]), old_name="a", new_name="b")
    assert apply_patch("".join(mixed[0]), found) == "".join(mixed[1])
