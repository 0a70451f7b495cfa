from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.local.fences import fenced, first_fence, is_closed, settled

LINES = st.text("a`~ \n", max_size=40)


@given(LINES)
def test_what_is_fenced_is_found_again(text: str) -> None:
    found = first_fence(f"Here it is:\n{fenced(text, 'python')}\nDone.")
    assert found is not None
    assert found.removesuffix("\n") == text.removesuffix("\n")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("```\nx\n```", "x\n"),
        ("```python\nx\n```\nand\n```\ny\n```\n", "x\n"),
        ("````md\n```\nx\n```\n````\n", "```\nx\n```\n"),
        ("```\n```\n", ""),
        ("```\nx\n", None),
        ("```\nx\n ```\n", None),
        ("no fence", None),
    ],
)
def test_the_first_fence_of_a_reply(reply: str, text: str | None) -> None:
    assert first_fence(reply) == text
    assert is_closed(reply) == (text is not None)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("a\n\n\nb\n", "a\n\nb\n", "a\n\nb\n"),
        ("a\n\n\nb\nc\n", "a\n\nb\nC\n", "a\n\n\nb\nC\n"),
        ("a  \nb\n", "a\nB\n", "a\nB\n"),
        ("a  \nb\nc\n", "a\nb\nC\n", "a  \nb\nC\n"),
        ("a\nb", "a\nB\n", "a\nB"),
        ("a\n", "b", "b\n"),
        ("", "b", "b\n"),
    ],
)
def test_a_copyists_slips_are_undone_but_not_if_they_are_all_there_is(old: str, new: str, kept: str) -> None:
    assert settled(old, new) == kept
