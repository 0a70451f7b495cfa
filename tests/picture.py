"""Draws the picture of the README: the edit of `gemchat demo --scripted` as a terminal shows it.

    python -m tests.picture

Runs the demo on a terminal of its own and writes tests/data/session.svg.
"""

from __future__ import annotations

import io
import os
import re
import sys
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

PICTURE = Path(__file__).parent / "data/session.svg"
WIDTH, HEIGHT = 100, 300
_BEGINS, _ENDS = "$ gemchat edit", "gemchat: pending"


def screen() -> pyte.Screen:
    """What the demo leaves on a terminal."""
    shown = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(shown)
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = pexpect.spawn(
        sys.executable,
        ["-m", "gemchat", "demo", "--scripted"],
        env={**environ, "TERM": "xterm-256color"},
        encoding="utf-8",
        dimensions=(HEIGHT, WIDTH),
        timeout=120,
    )
    while process.expect([pexpect.EOF, r"\[o\]pen "]):
        stream.feed(process.before + process.after)
        process.send("k")
    stream.feed(process.before)
    return shown


def excerpt(shown: pyte.Screen) -> range:
    """The rows of the edit."""
    first = next(row for row, line in enumerate(shown.display) if line.startswith(_BEGINS))
    last = next(row for row, line in enumerate(shown.display) if line.startswith(_ENDS))
    return range(first, last + 1)


def drawn(shown: pyte.Screen) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for row in excerpt(shown):
        cells = shown.buffer[row]
        columns = range(len(shown.display[row].rstrip()))
        line = Text()
        for style, run in groupby((cells[column] for column in columns), key=_style):
            line.append("".join(cell.data for cell in run), style)
        console.print(line, soft_wrap=True)
    picture = console.export_svg(title="gemchat", unique_id="gemchat")
    picture = re.sub(r"<!--.*?-->", "", picture, flags=re.DOTALL)
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # nothing is loaded from elsewhere


def _style(cell: pyte.screens.Char) -> Style:
    colour = {"default": None, "brown": "yellow"}.get(cell.fg, cell.fg)
    return Style(color=colour, bold=cell.bold, reverse=cell.reverse, underline=cell.underscore)


if __name__ == "__main__":
    PICTURE.write_text(drawn(screen()), encoding="utf-8")
