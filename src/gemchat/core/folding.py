"""Making a long output short without losing its point: its head, its tail, and lines that look like errors."""

from __future__ import annotations

import re

from gemchat.core.economics import estimate_tokens

_ENDS = 40  # lines kept at either end
_ERROR = re.compile(r"error|fail|exception|traceback|panic|fatal|assert|warning|^E\s", re.IGNORECASE)
_LONGEST = 400  # characters of a line


def fold(text: str, limit: int) -> str:
    """The text if it is at most `limit` estimated tokens, else its ends and errors, and how much was left out."""
    if estimate_tokens(text) <= limit:
        return text
    lines = [line[:_LONGEST] for line in text.split("\n")]
    middle = lines[_ENDS:-_ENDS]
    errors = [line for line in middle if _ERROR.search(line)]
    budget = 4 * limit
    while errors and sum(map(len, errors)) > budget // 2:
        errors = errors[: len(errors) // 2]
    dropped = len(middle) - len(errors)
    note = f"[{dropped} lines are left out here; of the rest those that look like errors are shown]"
    kept = "\n".join([*lines[:_ENDS], note, *errors, *lines[max(_ENDS, len(lines) - _ENDS) :]])
    return kept if len(kept) <= budget else f"{kept[: budget // 2]}\n[cut]\n{kept[-budget // 2 :]}"
