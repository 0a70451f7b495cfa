"""Reading the beginning of an edit reply while the rest is still on its way: what it explains."""

from __future__ import annotations

import json
import re

_START = re.compile(r'\s*\{\s*"explanation"\s*:\s*"')
_WHOLE = re.compile(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])*')
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")  # the first half of a character


class PartialExplanation:
    """Takes the pieces of one reply, gives the pieces of its explanation until that has `ended`."""

    def __init__(self) -> None:
        self._reply = ""
        self._given = 0
        self.ended = False

    def feed(self, piece: str) -> str:
        """What this piece adds to the explanation; nothing for a reply of another form."""
        if self.ended:
            return ""
        self._reply += piece
        start = _START.match(self._reply)
        whole = _WHOLE.match(self._reply, start.end()) if start else None
        if whole is None:
            return ""
        said: str = json.loads(f'"{_HALF.sub("", whole[0])}"', strict=False)
        new = said[self._given :]
        self._given = len(said)
        self.ended = self._reply.startswith('"', whole.end())
        return new
