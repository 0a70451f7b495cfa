"""The graph of turns: what it looks like, and that every line in it leads from a turn to the right one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gemchat.core.graph import graph
from gemchat.core.model import Turn
from tests.core.sessions import Script


def turns(*parents: int | None, incomplete: Sequence[int] = ()) -> list[Turn]:
    """Turns 1, 2, …, each with the number of its parent."""
    script = Script()
    made = []
    for number, parent in enumerate(parents, 1):
        turn = script.turn(status="incomplete" if number in incomplete else "complete")
        made.append(replace(turn, parent=None if parent is None else str(parent)))
    return made


def drawn(made: Sequence[Turn], path: str, shown: str = "") -> list[str]:
    """Both lines of each row, those that say nothing left out."""
    some = [turn for turn in made if not shown or turn.id in shown.split()]
    rows = graph(some, made, set(path.split()))
    numbered = [(row.first + turn.id, row.further) for row, turn in zip(rows, some, strict=True)]
    return [line for pair in numbered for line in pair if line.strip()]


def test_nothing_is_drawn_of_nothing() -> None:
    assert graph([], [], ()) == []


def test_a_conversation_goes_straight_down() -> None:
    assert drawn(turns(None, 1, 2), "1 2 3") == ["*1", "|", "*2", "|", "*3"]


def test_rewound_turns_turn_off_to_the_right() -> None:
    assert drawn(turns(None, 1, 2, 1), "1 4") == ["*-.1", "| |", "| o2", "| |", "| o3", "|  ", "*  4"]


def test_an_incomplete_turn_hangs_beside_the_one_that_came_instead() -> None:
    assert drawn(turns(None, 1, 1, incomplete=[2]), "1 3") == ["*-.1", "| |", "| x2", "|  ", "*  3"]


def test_lines_cross() -> None:
    assert drawn(turns(None, 1, 1, 3, 1, 2), "1 3 4") == [
        "*-.-.1",
        "| | |",
        "| o |2",
        "| | |",
        "* | |3",
        "| | |",
        "* | |4",
        "  | |",
        "  | o5",
        "  |  ",
        "  o  6",
    ]
    assert drawn(turns(None, 1, 1, 3, 3, 2), "1 3 5 ")[4] == "*-|-.3"


def test_conversations_that_began_anew_stand_one_below_the_other() -> None:
    assert drawn(turns(None, 1, None, 3), "3 4") == ["o1", "|", "o2", "*3", "|", "*4"]


def test_a_turn_hangs_on_the_nearest_ancestor_that_is_shown() -> None:
    assert drawn(turns(None, 1, 2, 1), "1 4", shown="1 3 4") == ["*-.1", "| |", "| o3", "|  ", "*  4"]
    assert drawn(turns(None, 1, 2), "1 2 3", shown="2 3") == ["*2", "|", "*3"]


@given(st.data())
def test_every_line_leads_from_a_turn_to_its_parent(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 14))
    parents = [data.draw(st.none() | st.integers(1, number)) if number else None for number in range(count)]
    made = turns(*parents)
    path = []
    at: int | None = data.draw(st.integers(1, count))
    while at is not None:
        path.append(str(at))
        at = parents[at - 1]
    rows = graph(made, made, path)
    assert len({len(line) for row in rows for line in row}) == 1
    for turn, row in zip(made, rows, strict=True):
        assert followed([line for row in rows for line in row], made, turn) == turn.parent
        assert ("*" in row.first) == (turn.id in path)


def followed(lines: Sequence[str], made: Sequence[Turn], turn: Turn) -> str | None:
    """The turn where one arrives going up from a turn along the lines, of which each turn has two."""
    row = 2 * made.index(turn)
    column = next(number for number, cell in enumerate(lines[row]) if cell in "*o")
    for above in reversed(range(row)):
        cell = lines[above][column]
        if cell in "*o.":
            return made[above // 2].id
        if cell != "|":
            return None
    return None
