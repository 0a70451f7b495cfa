"""Markdown that is still arriving: what is printed for good, and how much of the rest is drawn."""

from __future__ import annotations

import io

from rich.console import Console

from gemchat.markdown import MarkdownStream, newest_lines


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
