"""Markdown on a terminal while it arrives: finished blocks are printed for good, only the last one is redrawn."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

from gemchat.core.visible import visible

_FENCES = ("```", "~~~")


class MarkdownStream:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._rest = ""
        self._live: Live | None = None

    def feed(self, text: str) -> None:
        self._rest += text
        finished, self._rest = split_blocks(self._rest)
        if finished:
            self._stop()
            self._console.print(Markdown(visible(finished), hyperlinks=False))
            self._console.print()
        if self._rest.strip():
            self._redraw()

    def close(self) -> None:
        """Prints what is left; the terminal is as it was before."""
        self._stop()
        if self._rest.strip():
            self._console.print(Markdown(visible(self._rest), hyperlinks=False))
        self._rest = ""

    def _redraw(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console,
                transient=True,
                auto_refresh=False,
                vertical_overflow="crop",
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(Markdown(visible(self._rest), hyperlinks=False), refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


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
