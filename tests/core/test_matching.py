from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.matching import Match, match, nearest_lines
from tests.core.strategies import texts

TEXT = "def f():   \n    if a:\n        return 1\n\n    return 2\n"


def applied(search: str, replace: str, text: str = TEXT) -> tuple[str, str]:
    found = match(search, replace, text)
    assert isinstance(found, Match), found
    return text[: found.start] + found.text + text[found.end :], found.tier


@pytest.mark.parametrize(
    ("search", "replace", "result", "tier"),
    [
        ("return 1", "return 3", TEXT.replace("1", "3"), "exact"),
        ("def f():\n    if a:\n", "def f():\n    if b:\n", TEXT.replace("if a", "if b"), "blanks"),
        ("    if a:  \n        return 1", "    if a:  \n        return 3", TEXT.replace("1", "3"), "blanks"),
        ("if a:\n    return 1\n", "if a:\n    return 3\n", TEXT.replace("1", "3"), "indent"),
        (
            "if a:\n    return 1\n",
            "if a:\n    x = 1\n\n    return x\n",
            TEXT.replace("return 1", "x = 1\n\n        return x"),
            "indent",
        ),
        (
            "        if a:\n            return 1\n",
            "        if b:\n            return 1\n",
            TEXT.replace("if a", "if b"),
            "indent",
        ),
        ("if a:\n    return 1\n", "", TEXT.replace("    if a:\n        return 1\n", ""), "indent"),
        ("if a:\n    return 1", "pass", TEXT.replace("    if a:\n        return 1", "    pass"), "indent"),
        ("if a:\n    return 1", "pass\n", TEXT.replace("    if a:\n        return 1", "    pass\n"), "indent"),
    ],
)
def test_how_an_edit_finds_its_place(search: str, replace: str, result: str, tier: str) -> None:
    assert applied(search, replace) == (result, tier)


@pytest.mark.parametrize(
    ("search", "text"), [("}\n", "}\n" * 5000), ("} \n", "}\n" * 5000), ("}\n{\n", "  }\n  {\n" * 5000)]
)
def test_of_very_many_places_no_more_are_counted_than_matters(search: str, text: str) -> None:
    found = match(search, "x\n", text)
    assert isinstance(found, str)
    assert found.startswith("occurs at least 1000 times (lines 1, ")
    assert found.endswith(", …)")


def test_lines_that_the_edit_repeats_keep_their_blanks() -> None:
    assert applied("def f():\n    if a:\n", "def f():\n    if a:\n        pass\n")[0].startswith("def f():   \n")


def test_the_end_of_a_file_without_a_last_line_end_is_kept() -> None:
    assert applied("a \nb\n", "a \nc\n", "a\nb") == ("a\nc", "blanks")


@pytest.mark.parametrize(
    ("search", "text", "why"),
    [
        ("x", "a\n", "does not occur"),
        ("a", "aba", "occurs 2 times (lines 1, 1)"),
        ("a \n", "a\nb\na\n", "occurs 2 times (lines 1, 3)"),
        ("if a:\n  b\n", " if a:\n   b\n  if a:\n    b\n", "occurs 2 times (lines 1, 3)"),
        ("if a:\n  b\n", " if a:\n     b\n", "does not occur"),
        ("xif a:\n", "if a:\n", "does not occur"),
        ("a:\n  b\n", "a:\n    b\n", "does not occur"),
        (" \n\n", "a\n", "does not occur"),
        ("x = 1\ny", "x = 1\n", "does not occur"),
        ("    a:\n    b\n", "a:\nb\n", "has a replacement that is indented less than the lines it belongs to"),
    ],
)
def test_why_an_edit_has_no_place(search: str, text: str, why: str) -> None:
    assert match(search, "z\n", text) == why


@given(texts(), texts(), st.data())
def test_whatever_is_found_is_the_only_such_place(before: str, after: str, data: st.DataObject) -> None:
    search = data.draw(texts(max_lines=3).filter(bool))
    found = match(search, "new", before + search + after)
    if isinstance(found, Match):
        assert found.tier == "exact"
        assert (before + search + after)[found.start : found.end] == search
    else:
        assert found.startswith("occurs")


def test_the_nearest_lines_are_numbered() -> None:
    assert (
        nearest_lines("retrun 1", TEXT)
        == "1: def f():   \n2:     if a:\n3:         return 1\n4: \n5:     return 2"
    )
    assert nearest_lines("something else entirely", "x\ny\n") == ""
    assert nearest_lines("\n", "x\n") == ""


def test_very_long_lines_are_compared_by_their_beginnings() -> None:
    """In time that grew with the square of their length this would not end."""
    line = "".join(f"{number % 10}{number % 7}" for number in range(50_000))
    text = f"first\n{line[::-1]}\n{line}\n"
    assert "3: 0011" in nearest_lines(f"{line}!", text)
