"""How one sequence of lines becomes another, as runs that are equal, replaced, deleted or inserted.

Few lines are compared in all pairs, which finds the most that is equal. Many are divided by what both have once,
in as few steps that the time grows with the lines and not with their square.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from gemchat.core.anchors import anchors
from gemchat.core.runs import EXACT

Opcode: TypeAlias = tuple[str, int, int, int, int]

_DEPTH = 8  # how often what is between anchors is divided again


def opcodes(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Opcode]:
    """How `old` becomes `new`: runs in order that cover both, of which no two equal ones touch."""
    return _opcodes(old, new, _DEPTH)


def _opcodes(old: Sequence[Hashable], new: Sequence[Hashable], depth: int) -> list[Opcode]:
    head, tail = _common_ends(old, new)
    codes: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    middle = _between_ends(old[head : len(old) - tail], new[head : len(new) - tail], depth)
    codes += _shifted(middle, head, head)
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return codes


def _between_ends(old: Sequence[Hashable], new: Sequence[Hashable], depth: int) -> list[Opcode]:
    """The same for what is between common ends. Where it is long, what both have once divides it first."""
    if set(old).isdisjoint(new):
        return _replaced(old, new)
    if len(old) * len(new) <= EXACT:
        return [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]
    common = anchors(old, new) if depth else []
    if not common:
        return _replaced(old, new)
    codes: list[Opcode] = []
    a = c = 0
    for b, d in (*common, (len(old), len(new))):
        if (a, c) != (b, d):
            _extend(codes, _shifted(_opcodes(old[a:b], new[c:d], depth - 1), a, c))
        if b < len(old):
            _extend(codes, [("equal", b, b + 1, d, d + 1)])
        a, c = b + 1, d + 1
    return codes


def _replaced(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Opcode]:
    tag = "insert" if not old else "delete" if not new else "replace"
    return [(tag, 0, len(old), 0, len(new))] if old or new else []


def _shifted(codes: Iterable[Opcode], old: int, new: int) -> list[Opcode]:
    return [(tag, a + old, b + old, c + new, d + new) for tag, a, b, c, d in codes]


def _extend(codes: list[Opcode], more: Iterable[Opcode]) -> None:
    """Adds runs, of which equal ones that touch become one."""
    for code in more:
        if codes and code[0] == codes[-1][0] == "equal":
            tag, a, _, c, _ = codes.pop()
            code = (tag, a, code[2], c, code[4])  # noqa: PLW2901
        codes.append(code)


def _common_ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    limit = min(len(old), len(new))
    head = next((i for i in range(limit) if old[i] != new[i]), limit)
    limit -= head
    tail = next((i for i in range(limit) if old[-1 - i] != new[-1 - i]), limit)
    return head, tail
