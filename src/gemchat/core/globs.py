"""Whether a path matches a glob, as a shell takes it that knows `**`; in a time that their lengths bound."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def matches(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Both are split at the slashes; the names lead to a file.

    `**` is any number of directories and, at the end, a file. A hidden name is matched by a hidden part only.
    Part by part it is known which beginnings of the names match the parts so far, so that several `**` do not
    multiply; `fnmatch` never goes back behind a star for a later one.
    """
    reached = [True, *(False for _ in names)]
    for part in (*parts, "*") if parts[-1:] == ["**"] else parts:
        if part == "**":
            for place, name in enumerate(names):
                reached[place + 1] |= reached[place] and not _is_hidden(name)
        else:
            reached = [False, *(here and _matches(part, name) for here, name in zip(reached, names, strict=False))]
    return reached[-1]


def _matches(part: str, name: str) -> bool:
    return fnmatchcase(name, part) and (_is_hidden(part) or not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".")
