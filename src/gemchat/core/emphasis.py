"""Which parts of a line changed: words, blanks and signs that its other version does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

_PIECE = re.compile(r"\w+|\s|[^\w\s]")
_LONGEST = 10_000  # characters of a line; nobody looks for a word in more
_MOST_PIECES = 300  # of a line; comparing takes time that grows with their square
_ALIKE = 0.5  # of what is not blank; below it, two lines are just different


def changed_spans(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """The spans, in characters, in which either line differs; none where the lines have too little in common."""
    if max(len(old), len(new)) > _LONGEST:
        return [], []
    before, after = _PIECE.findall(old), _PIECE.findall(new)
    if max(len(before), len(after)) > _MOST_PIECES:
        return [], []
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    common = sum(_weight(before[a:b]) for tag, a, b, _, _ in codes if tag == "equal")
    if 2 * common < _ALIKE * (_weight(before) + _weight(after)):
        return [], []
    changed = [code for code in codes if code[0] != "equal"]
    return (
        [_span(before, a, b) for _, a, b, _, _ in changed if a < b],
        [_span(after, c, d) for _, _, _, c, d in changed if c < d],
    )


def _weight(pieces: Sequence[str]) -> int:
    return sum(len(piece) for piece in pieces if not piece.isspace())


def _span(pieces: Sequence[str], start: int, end: int) -> Span:
    begin = sum(map(len, pieces[:start]))
    return begin, begin + sum(map(len, pieces[start:end]))
