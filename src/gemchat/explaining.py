"""An edit's reply on the terminal while it arrives: its explanation as text, of the rest how much there is."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gemchat.core.economics import estimate_tokens
from gemchat.core.partial import PartialExplanation
from gemchat.core.visible import visible
from gemchat.output import write


class Explaining:
    """Writes to stderr. `progress` gets in words what comes when no text is to be seen, and "" when some is.

    `last` is the explanation that was shown last, from its beginning to its end.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._begin()
        self.last = ""

    def feed(self, piece: str) -> None:
        self._tokens += estimate_tokens(piece)
        said = self._reply.feed(piece)
        if said:
            self._progress("")
            self._open = True
            self._shown += said
            write(sys.stderr, visible(said))
        if self._reply.ended:
            self._end_line()
        if not self._open:
            self._progress(f"writing the change, about {self._tokens:,} tokens")

    def end(self) -> None:
        """The reply is complete, or something else has to be said first."""
        self._end_line()
        self.last = self._shown or self.last
        self._begin()

    def _begin(self) -> None:
        self._reply = PartialExplanation()
        self._shown = ""
        self._tokens = 0
        self._open = False  # the cursor stands behind a piece of the explanation

    def _end_line(self) -> None:
        if self._open:
            write(sys.stderr, "\n")
            self._open = False
