"""gemchat on a terminal of a given size, and what a person sees on it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import pexpect
import pyte

from tests.cli.conftest import Gemchat

PLAIN = {"NO_COLOR": "1"}


class Terminal:
    """A running gemchat. Keys are sent only after what they answer has been shown.

    It is told that it has `width` columns, or what `size` says: rows and columns.
    """

    def __init__(
        self,
        gemchat: Gemchat,
        *arguments: str,
        width: int = 80,
        size: tuple[int, int] | None = None,
        environ: Mapping[str, str] = {},
    ) -> None:
        self.screen = pyte.Screen(width, 100)
        self._stream = pyte.Stream(self.screen)
        self._process: Any = pexpect.spawn(
            sys.executable,
            ["-m", "gemchat", *arguments],
            cwd=str(gemchat.root),
            env={**_without_size(os.environ), **gemchat.environ, "TERM": "xterm-256color", **environ},
            encoding="utf-8",
            dimensions=size or (100, width),
            timeout=60,
        )
        self.raw = ""

    def answer(self, question: str, keys: str) -> None:
        """Waits for a question, wherever the terminal breaks its lines, and types."""
        self._process.expect(question)
        self._see()
        self._process.send(keys)

    def end(self) -> int:
        """The exit code."""
        self._process.expect(pexpect.EOF)
        self._see()
        self._process.close()
        code: int = self._process.exitstatus
        return code

    @property
    def lines(self) -> list[str]:
        """The screen without blanks at the ends of lines, and without the empty lines at its end."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    def colours(self, text: str) -> set[str]:
        """The colours of the characters of a text on the screen, where it first stands."""
        row = next(row for row, line in enumerate(self.screen.display) if text in line)
        at = self.screen.display[row].index(text)
        return {self.screen.buffer[row][column].fg for column in range(at, at + len(text))}

    def reversed(self, row_text: str) -> str:
        """The characters shown in reverse in the line that holds a text."""
        row = next(row for row, line in enumerate(self.screen.display) if row_text in line)
        cells = self.screen.buffer[row]
        return "".join(cells[column].data for column in range(self.screen.columns) if cells[column].reverse)

    def _see(self) -> None:
        text = self._process.before
        text += self._process.after if isinstance(self._process.after, str) else ""
        self.raw += text
        self._stream.feed(text)

    @property
    def styled(self) -> bool:
        """Whether any colour was sent."""
        return re.search(r"\x1b\[[\d;]*3[1-6][;m]", self.raw) is not None


def _without_size(environ: Mapping[str, str]) -> dict[str, str]:
    """The size is that of the terminal, not what the environment says of another one."""
    return {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")}
