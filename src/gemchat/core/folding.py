"""Making a long output short without losing its point: its head, its tail, and lines that look like errors."""

from __future__ import annotations

from collections.abc import Sequence

from gemchat.core.economics import estimate_tokens

_ENDS = 40  # lines kept at either end
_ERRORS = ("error", "fail", "exception", "traceback", "panic", "fatal", "assert", "warning")
_MARKS = ("e ", "e\t")  # by which pytest begins the lines that say why
_LONGEST = 400  # characters of a line


def fold(text: str, limit: int) -> str:
    """The text if it is at most `limit` estimated tokens, else its ends and errors, and how much was left out."""
    if estimate_tokens(text) <= limit:
        return text
    lines = [line[:_LONGEST] for line in text.split("\n")]
    middle = lines[_ENDS:-_ENDS]
    budget = 4 * limit
    errors = _like_errors(middle, budget // 2)
    dropped = len(middle) - len(errors)
    note = f"[{dropped} lines are left out here; of the rest those that look like errors are shown]"
    kept = "\n".join([*lines[:_ENDS], note, *errors, *lines[max(_ENDS, len(lines) - _ENDS) :]])
    return kept if len(kept) <= budget else f"{kept[: budget // 2]}\n[cut]\n{kept[-budget // 2 :]}"


def _like_errors(lines: Sequence[str], room: int) -> list[str]:
    """The first of them, in at most `room` characters. Words that stand nowhere are looked for only once."""
    lowered = "\n".join(["", *lines]).lower()
    words = [word for word in _ERRORS if word in lowered]
    marks = tuple(mark for mark in _MARKS if f"\n{mark}" in lowered)
    if not words and not marks:
        return []
    found = []
    for line, low in zip(lines, lowered.split("\n")[1:], strict=True):
        if low.startswith(marks) or any(word in low for word in words):
            room -= len(line)
            if room < 0:
                break
            found.append(line)
    return found
