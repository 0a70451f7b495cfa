from __future__ import annotations

import pytest
from hypothesis import given

from gemchat.core.emphasis import Span, changed_spans
from tests.core.strategies import LINES


def without(line: str, spans: list[Span]) -> str:
    for start, end in reversed(spans):
        assert start < end
        line = line[:start] + line[end:]
    return line


def test_of_very_long_lines_nothing_is_marked() -> None:
    assert changed_spans("x" * 10_000, "x" * 9_999 + " y") == ([], [])
    assert changed_spans("x" * 9_000 + " y", "x" * 9_000) == ([(9000, 9002)], [])


@given(LINES, LINES)
def test_without_what_changed_both_lines_are_the_same(old: str, new: str) -> None:
    gone, come = changed_spans(old, new)
    if gone or come:
        assert without(old, gone) == without(new, come)


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("x = 1", "x = 2", [(4, 5)], [(4, 5)]),
        ("f(a)", "f(a, b)", [], [(3, 6)]),
        ("    return x", "\treturn x", [(0, 4)], [(0, 1)]),
        ("x ", "x", [(1, 2)], []),
        ("same", "same", [], []),
        ("one thing", "another matter", [], []),
        ("", "new", [], []),
        ("a " * 200 + "b", "a " * 200 + "c", [], []),
    ],
)
def test_what_changed(old: str, new: str, gone: list[Span], come: list[Span]) -> None:
    assert changed_spans(old, new) == (gone, come)
