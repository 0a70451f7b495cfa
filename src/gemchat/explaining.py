"""The explanation of an edit on the terminal while it arrives."""

from __future__ import annotations

import sys

from gemchat.core.partial import PartialExplanation
from gemchat.core.visible import visible
from gemchat.output import write


class Explaining:
    """Writes to stderr. `last` is what was shown last, from its beginning to its end."""

    def __init__(self) -> None:
        self._reply = PartialExplanation()
        self._shown = ""
        self.last = ""

    def feed(self, piece: str) -> None:
        said = self._reply.feed(piece)
        self._shown += said
        write(sys.stderr, visible(said))

    def end(self) -> None:
        """The reply is complete, or something else has to be said first."""
        if self._shown:
            write(sys.stderr, "\n")
        self._reply, self.last, self._shown = PartialExplanation(), self._shown or self.last, ""
