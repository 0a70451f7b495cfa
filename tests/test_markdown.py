"""Markdown that is still arriving: what is printed for good, and how much of the rest is drawn."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gemchat.markdown import Blocks, MarkdownStream, newest_lines


def test_of_an_unfinished_block_the_newest_lines_are_drawn() -> None:
    assert newest_lines("a\nb\nc", 3) == "a\nb\nc"
    assert newest_lines("a\nb\nc", 2) == "b\nc"
    assert newest_lines("```python\na\nb\nc", 2) == "```python\nb\nc"


def test_pieces_add_up_to_the_whole() -> None:
    out = io.StringIO()
    console = Console(file=out, width=40, markup=False, emoji=False, highlight=False)
    stream = MarkdownStream(console)
    for letter in "One two.\n\n```\nx = 1\n\ny = 2\n```\n\nThree.":
        stream.feed(letter)
    stream.close()
    shown = [line.strip() for line in out.getvalue().splitlines() if line.strip()]
    assert shown == ["One two.", "x = 1", "y = 2", "Three."]


def test_a_block_is_not_drawn_with_every_piece() -> None:
    out = io.StringIO()
    console = Console(file=out, width=40, height=10, force_terminal=True, markup=False, emoji=False)
    stream = MarkdownStream(console)
    for number in range(1000):
        stream.feed(f"word{number} ")
    stream.close()
    assert 1 <= out.getvalue().count("word0 ") < 500
    assert "word999" in out.getvalue()


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("one\ntwo", "one\ntwo"),
        ("one\n \ntwo\n\nthree", "three"),
        ("```\nx\n\ny", "```\nx\n\ny"),
        ("````\n```\n\n````\n\nend", "end"),
        ("~~~ py\n~~~ py\n\n", "~~~ py\n~~~ py\n\n"),
    ],
)
def test_a_block_ends_at_an_empty_line_outside_a_fence(text: str, rest: str) -> None:
    blocks = Blocks()
    assert blocks.feed(text) + rest == text
    assert blocks.rest == rest


@given(st.lists(st.sampled_from(["\n", "\n\n", "```", "`", "~~~", "a", " "])))
def test_blocks_are_the_same_however_the_text_is_cut(pieces: list[str]) -> None:
    cut, whole = Blocks(), Blocks()
    finished = "".join(cut.feed(piece) for piece in pieces)
    assert finished == whole.feed("".join(pieces))
    assert cut.rest == whole.rest


@pytest.mark.timeout(60)
def test_each_line_of_a_fence_is_read_once() -> None:
    blocks = Blocks()
    blocks.feed("```python\n")
    for number in range(30_000):
        assert blocks.feed(f"    line({number})\n") == ""
    assert blocks.feed("```\n\n").endswith("line(29999)\n```\n\n")
