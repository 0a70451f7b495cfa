"""The turns of a session as a graph in characters, the oldest on top.

Each turn takes one row; the branches that begin after it start in that row, to its right. Where some turns are
left out, a turn hangs on its nearest ancestor that is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gemchat.core.model import Turn


class Row(NamedTuple):
    """What stands before a turn's first line, and before those that follow it. All rows are equally wide."""

    first: str
    further: str


def graph(shown: Sequence[Turn], session: Sequence[Turn], path: Collection[str]) -> list[Row]:
    """One row per turn of `shown`, which is `session` or a part of it in the same order.

    `path` names the turns of the conversation; they go straight down, everything else turns off to the right.
    """
    children = _children(shown, session)
    lanes: list[str | None] = []
    rows: list[tuple[str, str]] = []
    for turn in shown:
        column = _column(lanes, turn.id)
        main, *others = _main_first(children.get(turn.id, ()), path) or [None]
        lanes[column] = main
        opened = [_open(lanes, str(other), column) for other in others]
        rows.append((_row(lanes, column, opened, _mark(turn, path)), _lanes(lanes)))
    width = max((len(first) for first, _ in rows), default=0)
    return [Row(first.ljust(width), further.ljust(width)) for first, further in rows]


def _children(shown: Sequence[Turn], session: Sequence[Turn]) -> Mapping[str, list[str]]:
    visible = {turn.id for turn in shown}
    children: dict[str, list[str]] = {}
    nearest: dict[str | None, str | None] = {}
    for turn in session:
        above = nearest.get(turn.parent)
        if above is not None and turn.id in visible:
            children.setdefault(above, []).append(turn.id)
        nearest[turn.id] = turn.id if turn.id in visible else above
    return children


def _main_first(children: Sequence[str], path: Collection[str]) -> list[str | None]:
    """The child that goes straight on: the one of the conversation, else the newest."""
    ordered = sorted(children, key=lambda child: child in path)
    return [*ordered[-1:], *ordered[:-1]]


def _column(lanes: list[str | None], turn: str) -> int:
    """The lane that waits for the turn; the first one begins in a free lane."""
    if turn in lanes:
        return lanes.index(turn)
    return _open(lanes, turn, -1)


def _open(lanes: list[str | None], turn: str, right_of: int) -> int:
    """Takes the first free lane to the right."""
    for column in range(right_of + 1, len(lanes)):
        if lanes[column] is None:
            lanes[column] = turn
            return column
    lanes.append(turn)
    return len(lanes) - 1


def _mark(turn: Turn, path: Collection[str]) -> str:
    if turn.status == "incomplete":
        return "x"
    return "*" if turn.id in path else "o"


def _row(lanes: Sequence[str | None], column: int, opened: Collection[int], mark: str) -> str:
    """A line leads from the mark to the lanes that open in this row, across those in between."""
    last = max(opened, default=column)
    cells = []
    for number, lane in enumerate(lanes):
        bridged = column <= number < last
        cell = mark if number == column else "." if number in opened else "|" if lane else "-" if bridged else " "
        cells.append(cell + ("-" if bridged else " "))
    return "".join(cells).rstrip()


def _lanes(lanes: Sequence[str | None]) -> str:
    return " ".join("|" if lane else " " for lane in lanes).rstrip()
