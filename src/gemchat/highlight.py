"""Colours code by its language, in the sixteen colours of the terminal's palette that suit light and dark.

Loaded only when something is drawn in colour. Green and red are left to what is added and removed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from pygments.token import Comment, Keyword, Name, Number, Operator, String
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

from gemchat.core.visible import visible

Styled: TypeAlias = tuple[int, int, str | Style]

_LARGEST = 200_000  # characters; more takes longer than it helps
_THEME = ANSISyntaxTheme(
    {
        Comment: Style(dim=True, italic=True),
        Keyword: Style(color="magenta"),
        Operator.Word: Style(color="magenta"),
        Name.Function: Style(color="blue"),
        Name.Class: Style(color="blue"),
        Name.Tag: Style(color="blue"),
        Name.Decorator: Style(color="blue"),
        String: Style(color="cyan"),
        Number: Style(color="cyan"),
    }
)


class Highlighter:
    """Both versions of one file; each is read as a whole, because strings and comments span lines."""

    def __init__(self, path: str, old: str, new: str) -> None:
        self._path = path
        self._old = old
        self._new = new

    def line(self, number: int, shown: str, *, old: bool) -> list[Styled]:
        """The styles of a line, counted from 1; none if it is not shown as it was read."""
        lines = self._old_lines if old else self._new_lines
        if number > len(lines) or lines[number - 1][0] != shown:
            return []
        return lines[number - 1][1]

    @cached_property
    def _old_lines(self) -> list[tuple[str, list[Styled]]]:
        return _styled(self._path, self._old)

    @cached_property
    def _new_lines(self) -> list[tuple[str, list[Styled]]]:
        return _styled(self._path, self._new)


def _styled(path: str, text: str) -> list[tuple[str, list[Styled]]]:
    if len(text) > _LARGEST:
        return []
    code = visible(text.replace("\r\n", "\n"))
    lexer = Syntax.guess_lexer(path)
    found = Syntax(code, lexer, theme=_THEME).highlight(code)
    return [
        (line.plain, [(span.start, span.end, span.style) for span in line.spans])
        for line in found.split("\n", allow_blank=True)
    ]
