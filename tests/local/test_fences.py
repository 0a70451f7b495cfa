from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.local.fences import fenced, first_fence, is_closed, opening, settled

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
    ("path", "text", "line"),
    [
        ("a.py", "x\n", "```python"),
        ("a.py", "```\nx\n```\n", "````python"),
        ("a.md", "x\n", "````markdown"),
        ("a.md", "`````\n```\n`````\n", "``````markdown"),
        ("Makefile", "", "```"),
    ],
)
def test_a_new_text_is_asked_for_in_a_fence_longer_than_any_in_the_file(path: str, text: str, line: str) -> None:
    assert opening(path, text) == line


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("````\n```\nx\n```\n````\nSo.\n```\n", "```\nx\n```\n"),
        ("```\nx\n```\n", "x\n"),
        ("```md\nIt is:\n```sh\nx\n```\n\n```\nSo.\n", "It is:\n```sh\nx\n```\n\n"),
        ("````md\nIt is:\n```sh\nx\n```\n\n```\n", "It is:\n```sh\nx\n```\n\n"),
        ("```md\nIt is:\n```\nx\n```\n```\n", None),
        ("```md\nIt is:\n```sh\nx\n```\n", None),
        ("```md\nIt is:\n```sh\nx\n```\n```py\n", None),
        ("```\nx\n```\nor\n```\ny\n```\n", None),
    ],
)
def test_a_shorter_fence_than_asked_for_is_taken_only_where_its_end_is_plain(reply: str, text: str | None) -> None:
    assert first_fence(reply, 4) == text
    assert is_closed(reply.removesuffix("So.\n```\n"), 4) == ("\n````\n" in reply)


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
