"""Where the comments of a text are, by the language that its file's name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gemchat.core.remarks import Commented, Span, likely_comments, marks

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LARGEST = 60_000  # characters; reading more as a language takes too long
_MOST = 1000  # comments to gemchat; what has more is a log
_SLOW = re.compile(r"(?<!\s)\s{50}|^.{1000}", re.MULTILINE)  # lexers try each way to divide runs and lines
_PROSE = {"text", "output", "markdown", "restructuredtext"}  # names of what has no comments, or hides them


def commented(path: str, text: str, *, bare: bool = False) -> Commented:
    """The text with its comments, or none if there is nothing for gemchat in it, or more than anybody writes.

    If `bare`, a line of a text without a language may be one as it is.
    """
    if not 0 < marks(text) <= _MOST:
        return Commented(text)
    lexer = _lexer(path)
    if lexer is None:
        return Commented(text, likely_comments(text, bare=bare))
    is_quick = len(text) <= _LARGEST and not _SLOW.search(text)
    return Commented(text, list(_joined(lexer, text)) if is_quick else likely_comments(text))


def _lexer(path: str) -> Lexer | None:
    """None where only the looks of a line can tell what is meant."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        return None
    return None if _PROSE & set(lexer.aliases) else lexer


def _joined(lexer: Lexer, text: str) -> Iterator[Span]:
    """Lexers give a comment in pieces."""
    from pygments.token import Comment

    start = end = 0
    for at, kind, piece in lexer.get_tokens_unprocessed(text):
        if kind not in Comment or not piece:
            continue
        if at != end and end > start:
            yield start, end
        start, end = (start if at == end else at), at + len(piece)
    if end > start:
        yield start, end
