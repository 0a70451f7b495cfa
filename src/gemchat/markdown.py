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
        self._rest = ""
        self._live: Live | None = None
        self._shown = ExitStack()

    def feed(self, text: str) -> None:
        self._rest += text
        if "\n" in text:
            self._print_finished()
        if self._live is None and self._rest.strip():
            self._live = self._drawing()  # known before it hides the cursor, so that it is stopped in any case
            cursor = self._console.show_cursor  # which is hidden meanwhile
            self._shown.enter_context(suspending(partial(cursor, True), partial(cursor, False)))
            self._live.start(refresh=True)

    def _print_finished(self) -> None:
        finished, self._rest = split_blocks(self._rest)
        if finished:
            self._stop()
            self._console.print(Markdown(visible(finished), hyperlinks=False))
            self._console.print()

    def close(self) -> None:
        """Prints what is left; the terminal is as it was before."""
        self._stop()
        if self._rest.strip():
            self._console.print(Markdown(visible(self._rest), hyperlinks=False))
        self._rest = ""

    def _drawing(self) -> Live:
        """Once started it draws the rest, as often as eyes can follow however many pieces arrive."""
        return Live(
            get_renderable=lambda: Markdown(
                visible(newest_lines(self._rest, self._console.height)), hyperlinks=False
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


def split_blocks(text: str) -> tuple[str, str]:
    """The blocks that are finished for sure, and the rest: a block ends at an empty line outside a code fence."""
    fence = ""
    position = end = 0
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        stripped = line.strip()
        if fence:
            fence = "" if stripped.startswith(fence) and not stripped.strip(fence[0]) else fence
        elif stripped.startswith(_FENCES):
            fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
        if not fence and not stripped:
            end = position
    return text[:end], text[end:]
