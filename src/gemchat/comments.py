"""Where the comments of a text are, by the language that its file's name stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gemchat.core.remarks import MARK, Commented, Span, likely_comments

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LARGEST = 200_000  # characters; reading more as a language takes too long
_PROSE = {"text", "output", "markdown", "restructuredtext"}  # names of what has no comments, or hides them


def commented(path: str, text: str) -> Commented:
    """The text with its comments, or with none if there is nothing for gemchat in it."""
    if MARK not in text.lower():
        return Commented(text)
    lexer = _lexer(path) if len(text) <= _LARGEST else None
    return Commented(text, likely_comments(text) if lexer is None else list(_joined(lexer, text)))


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
