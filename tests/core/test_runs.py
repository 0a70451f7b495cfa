"""Where two texts differ, and that finding it stays cheap."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, ClassVar, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.diff import apply_hunks, count, hunks, split_lines
from gemchat.core.runs import EXACT, lines_on, passages, regions
from tests.core.strategies import CHARACTERS, texts

LINES = st.sampled_from(["}", "", "x" * 40, "y" * 90, "a\rb", "a\x0bb", "a\u2028b", "日本" * 20, "z" * 300])
EXACTS = st.sampled_from([0, 30, EXACT])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A text and what became of it in some places, either with or without a last line end."""
    old = draw(st.lists(LINES, max_size=60))
    new = list(old)
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 4))] = draw(
            st.lists(LINES | st.text(CHARACTERS, max_size=9), max_size=4)
        )
    return "\n".join(old) + draw(st.sampled_from(["", "\n"])), "\n".join(new) + draw(st.sampled_from(["", "\n"]))


def starts_line(text: str, position: int) -> bool:
    return position in (0, len(text)) or text[position - 1] == "\n"


@given(pairs() | st.tuples(texts(), texts()), EXACTS)
def test_what_is_between_passages_is_equal_and_they_are_whole_lines(pair: tuple[str, str], exact: int) -> None:
    old, new = pair
    a = b = 0
    for start, end, new_start, new_end in passages(old, new, exact):
        assert old[a:start] == new[b:new_start]
        assert starts_line(old, start)
        assert starts_line(old, end)
        assert starts_line(new, new_start)
        assert starts_line(new, new_end)
        assert old[start:end] != new[new_start:new_end]
        a, b = end, new_end
    assert old[a:] == new[b:]


@given(pairs(), EXACTS, st.integers(0, 4))
def test_regions_hold_the_passages_with_their_context(pair: tuple[str, str], exact: int, context: int) -> None:
    old, new = pair
    found = list(regions(old, new, context, exact))
    a = b = 0
    for region in found:
        assert old[a : region.start] == new[b : region.new_start]
        assert region.line == old.count("\n", 0, region.start)
        assert region.new_line == new.count("\n", 0, region.new_start)
        a, b = region.end, region.new_end
        before = split_lines(old[region.start : region.end])
        after = split_lines(new[region.new_start : region.new_end])
        shown = min(context, old[: region.start].count("\n") + context)
        head = [one == other for one, other in zip(before[:shown], after[:shown], strict=False)]
        assert all(head) or region.line == 0
    assert old[a:] == new[b:]
    for one, other in pairwise(found):
        assert one.end <= other.start
        assert one.new_end <= other.new_start


def _edited(chance: random.Random, lines: list[str], places: int) -> list[str]:
    new = list(lines)
    for at in sorted(chance.sample(range(len(new)), places), reverse=True):
        fresh = [f"{chance.random()}\n" for _ in range(chance.randint(0, 4))]
        new[at : at + chance.randint(0, 4)] = fresh
    return new


def _changed(old: list[str], new: list[str]) -> int:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum((b - a) + (d - c) for tag, a, b, c, d in codes if tag != "equal")


@pytest.mark.parametrize("kinds", [10_000, 300, 20, 5, 2])
def test_of_a_long_text_hardly_more_is_changed_than_comparing_all_lines_finds(kinds: int) -> None:
    ours = least = 0
    for seed in range(12):
        chance = random.Random(seed)
        old = [f"{chance.randrange(kinds)} of the kinds of lines\n" for _ in range(700)]
        new = _edited(chance, old, places=20)
        found = hunks("".join(old), "".join(new))
        assert apply_hunks("".join(old), found) == "".join(new)
        ours += sum(count(found))
        least += _changed(old, new)
    assert ours <= 1.05 * least


def test_passages_that_share_their_context_are_one_region() -> None:
    lines = [f"{number} {'long ' * 60}\n" for number in range(40)]
    new = list(lines)
    for number in (3, 8, 20):
        new[number] = "short\n"
    found = list(regions("".join(lines), "".join(new), 2, exact=0))
    assert [(region.line, region.new_line) for region in found] == [(1, 1), (18, 18)]
    assert "".join(new)[found[0].new_start : found[0].new_end] == "".join(new[1:11])
    assert len(list(regions("".join(lines), "".join(new), 0, exact=0))) == 3


def test_a_change_at_either_end_and_one_in_the_middle() -> None:
    middle = [f"line {number}\n" for number in range(2000)]
    old = ["first\n", *middle, "last"]
    new = ["another first\n", *middle[:1000], "more\n", *middle[1000:], "another last"]
    found = hunks("".join(old), "".join(new), context=0)
    assert [(hunk.old_start, hunk.old, hunk.new) for hunk in found] == [
        (0, ["first\n"], ["another first\n"]),
        (1001, [], ["more\n"]),
        (2001, ["last"], ["another last"]),
    ]


class Counted(str):
    """A text that adds up how many characters of it were looked at."""

    seen: ClassVar[Counter[str]] = Counter()

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = str.__getitem__(self, key)
        self.seen["characters"] += len(part)
        self.seen["steps"] += 1
        return part

    def count(self, *arguments: Any) -> int:
        return self._told(str.count(self, *arguments), len(self), *arguments[1:])

    def startswith(self, *arguments: Any) -> bool:
        self.seen["characters"] += len(arguments[0])
        return str.startswith(self, *arguments)

    def find(self, *arguments: Any) -> int:
        found = str.find(self, *arguments)
        return self._told(found, len(self) if found < 0 else found + len(arguments[0]), *arguments[1:])

    def rfind(self, *arguments: Any) -> int:
        found = str.rfind(self, *arguments)
        self.seen["steps"] += 1
        self.seen["characters"] += (arguments[2] if len(arguments) > 2 else len(self)) - max(found, arguments[1])
        return found

    def _told(self, result: int, reached: int, start: int = 0, end: int | None = None) -> int:
        self.seen["steps"] += 1
        self.seen["characters"] += max(min(reached, len(self) if end is None else end) - start, 0)
        return result


def _texts() -> Iterator[tuple[str, list[str], list[str]]]:
    lines = [f"line {number} of a long text\n" for number in range(20_000)]
    alike = ["    }\n"] * 50_000
    chance = random.Random(1)
    yield "scattered changes", lines, _edited(chance, lines, 100)
    yield "lines that are all alike", alike, _edited(chance, alike, 100)
    yield "lines that are all alike, of other number", alike, ["other\n", *alike[:20_000], "other\n"]
    yield "nothing in common", lines, [line.replace("of", "from") for line in lines]
    yield "halves that change places", lines, [*lines[10_000:], "between\n", *lines[:10_000]]
    yield "one line", ["x" * 500_000], ["x" * 250_000, "?", "x" * 250_000]


@pytest.mark.parametrize(("old", "new"), [pytest.param(a, b, id=name) for name, a, b in _texts()])
def test_a_text_is_looked_through_a_few_times_and_in_few_steps(old: list[str], new: list[str]) -> None:
    before, after = Counted("".join(old)), Counted("".join(new))
    Counted.seen.clear()
    found = list(passages(before, after))
    size = max(len(before), len(after))
    assert Counted.seen["characters"] < 20 * size
    assert Counted.seen["steps"] < 1_100 + 100 * len(found)
    assert len(found) <= 101


@given(texts(max_lines=300), st.integers(0, 400), st.integers(0, 40))
def test_a_line_further_on(text: str, number: int, first: int) -> None:
    lines = split_lines(text)
    start = sum(map(len, lines[:first]))
    expected = sum(map(len, lines[: first + number])) if first + number <= text.count("\n") else len(text)
    assert lines_on(text, start, number, len(text)) == (expected if first <= text.count("\n") else len(text))


def test_a_line_far_on() -> None:
    text = "".join(f"{number}\n" for number in range(100_000))
    for number in (65, 1000, 77_777, 99_999):
        assert text[lines_on(text, 0, number, len(text)) :].startswith(f"{number}\n")
    assert lines_on(text, 0, 100_000, len(text)) == lines_on(text, 0, 200_000, len(text)) == len(text)
