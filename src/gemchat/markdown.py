"""Markdown on a terminal while it arrives: finished blocks are printed for good, only the last one is redrawn."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

from gemchat.core.visible import visible
from gemchat.suspending import suspending

_FENCES = ("```", "~~~")
_REDRAWS = 10  # a second


class MarkdownStream:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._blocks = Blocks()
        self._live: Live | None = None
        self._shown = ExitStack()

    def feed(self, text: str) -> None:
        finished = self._blocks.feed(text)
        if finished:
            self._stop()
            self._console.print(Markdown(visible(finished), hyperlinks=False))
            self._console.print()
        if self._live is None and self._blocks.rest.strip():
            self._live = self._drawing()  # known before it hides the cursor, so that it is stopped in any case
            cursor = self._console.show_cursor
            self._shown.enter_context(suspending(partial(cursor, True), partial(cursor, False)))
            self._live.start(refresh=True)

    def close(self) -> None:
        """Prints what is left; the terminal is as it was before."""
        self._stop()
        if self._blocks.rest.strip():
            self._console.print(Markdown(visible(self._blocks.rest), hyperlinks=False))
        self._blocks = Blocks()

    def _drawing(self) -> Live:
        """Once started it draws the rest, as often as eyes can follow however many pieces arrive."""
        return Live(
            get_renderable=lambda: Markdown(
                visible(newest_lines(self._blocks.rest, self._console.height)), hyperlinks=False
            ),
            console=self._console,
            transient=True,
            refresh_per_second=_REDRAWS,
            vertical_overflow="crop",
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._shown.close()


def newest_lines(block: str, height: int) -> str:
    """As much of an unfinished block as a screen can show; a code fence goes on where it is cut."""
    lines = block.split("\n")
    if len(lines) <= height:
        return block
    fence = [lines[0]] if lines[0].lstrip().startswith(_FENCES) else []
    return "\n".join(fence + lines[-height:])


class Blocks:
    """Takes the pieces of a text, gives its blocks when they are finished for sure, and reads each line once.

    A block ends at an empty line outside a code fence. `rest` is what is not finished.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._read = 0  # so much of the rest are whole lines that have been looked at
        self._fence = ""

    def feed(self, text: str) -> str:
        """The blocks that this piece finishes, as they came."""
        self.rest += text
        if "\n" not in text:
            return ""
        end = 0
        for line in self.rest[self._read :].split("\n")[:-1]:
            self._read += len(line) + 1
            if self._is_between_blocks(line.strip()):
                end = self._read
        finished, self.rest = self.rest[:end], self.rest[end:]
        self._read -= end
        return finished

    def _is_between_blocks(self, line: str) -> bool:
        if self._fence:
            closed = line.startswith(self._fence) and not line.strip(self._fence[0])
            self._fence = "" if closed else self._fence
        elif line.startswith(_FENCES):
            self._fence = line[: len(line) - len(line.lstrip(line[0]))]
        return not self._fence and not line
