"""Looking at a journal's turns one by one: by number, by a text, and which of them may be the newest again.

The rewound turns stay in the journal; a conversation is rewound by moving its head, and everything else follows
from the folds over the new path (`history`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gemchat.core import history
from gemchat.core.model import Session, Turn


def all_turns(session: Session) -> tuple[Turn, ...]:
    """Every turn, oldest first: those of the conversation, the rewound and the incomplete ones."""
    return tuple(entry for entry in session.journal if isinstance(entry, Turn))


def find(session: Session, number: str) -> Turn | None:
    return next((turn for turn in all_turns(session) if turn.id == number), None)


def head_before(session: Session, count: int) -> str | None:
    """The head without the newest `count` turns of the conversation; None when that leaves none.

    Raises ValueError when the conversation has fewer turns.
    """
    path = history.current_path(session)
    if count > len(path):
        there = f"only {len(path)} to drop" if path else "none to drop"
        raise ValueError(f"that is more turns than there are: {there}")
    return path[-count - 1].id if count < len(path) else None


def containing(turns: Sequence[Turn], text: str) -> tuple[Turn, ...]:
    """The turns in which the text was said, by either side, whatever its case; the text is no pattern."""
    wanted = text.casefold()
    return tuple(turn for turn in turns if any(wanted in said.casefold() for said in _said(turn)))


def _said(turn: Turn) -> Iterator[str]:
    yield turn.prompt
    yield turn.problem
    yield from (file.path for file in turn.sent.files)
    yield from (ref.path for ref in turn.sent.media)
    yield turn.reply
    yield from _texts(turn.reply)


def _texts(reply: str) -> Iterator[str]:
    """The strings inside a JSON reply, because there line ends and quotes are written as escapes."""
    try:
        waiting: list[Any] = [msgspec.json.decode(reply.encode("utf-8", "replace"))]
    except (msgspec.DecodeError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
