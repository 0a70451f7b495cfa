"""Reading the beginning of an edit reply while the rest is still on its way: what it explains."""

from __future__ import annotations

import json
import re

_START = re.compile(r'\s*\{\s*"explanation"\s*:\s*"')
_LONGEST_START = 1000
_HEX = "[0-9a-fA-F]"
_HIGH = r"[dD][89abAB]"  # begins the code of the first half of a character, which is read with what follows
_WHOLE = re.compile(
    rf'(?:[^"\\]|\\["\\/bfnrt]|\\u(?!{_HIGH}){_HEX}{{4}}|\\u{_HIGH}{_HEX}{{2}}(?=[^\\]|\\[^u]|\\u{_HEX}{{4}}))*'
)
_LONGEST_HALF = len(r"\ud83d\ude0")


class PartialExplanation:
    """Takes the pieces of one reply, gives the pieces of its explanation until that has `ended`.

    Each piece is read once, however long the reply is.
    """

    def __init__(self) -> None:
        self._unread = ""
        self._begun = False
        self.ended = False

    def feed(self, piece: str) -> str:
        """What this piece adds to the explanation; nothing for a reply of another form."""
        if self.ended:
            return ""
        self._unread += piece
        if not self._begun and not self._begin():
            return ""
        whole = _WHOLE.match(self._unread)
        said = whole[0] if whole else ""
        self._unread = self._unread[len(said) :]
        self.ended = self._unread.startswith('"') or len(self._unread) > _LONGEST_HALF
        text: str = json.loads(f'"{said}"', strict=False)
        return text

    def _begin(self) -> bool:
        start = _START.match(self._unread, 0, _LONGEST_START)
        if start:
            self._unread = self._unread[start.end() :]
        self._begun = start is not None
        self.ended = start is None and len(self._unread) >= _LONGEST_START
        return self._begun
