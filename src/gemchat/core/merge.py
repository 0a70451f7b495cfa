"""Merging three ways: what the user did to a file meanwhile, and what was proposed for the text it had before."""

from __future__ import annotations

from collections.abc import Sequence

from merge3 import Merge3

from gemchat.core.model import Value
from gemchat.core.opcodes import opcodes


class Conflict(Value, frozen=True):
    """Lines that both sides changed differently; `line` is where they stand in the file now, counted from 1."""

    line: int
    now: bytes
    proposed: bytes


def merge(base: bytes, now: bytes, proposed: bytes) -> bytes | list[Conflict]:
    """The bytes with both changes in them, or where that cannot be."""
    merged: list[bytes] = []
    conflicts: list[Conflict] = []
    line = 1
    merge3 = Merge3(_lines(base), _lines(now), _lines(proposed), sequence_matcher=_Matcher)
    for kind, *groups in merge3.merge_groups():
        if kind == "conflict":
            _, here, there = groups
            conflicts.append(Conflict(line=line, now=b"".join(here), proposed=b"".join(there)))
            line += len(here)
            continue
        merged += groups[0]
        line += len(groups[0]) if kind != "b" else 0
    return conflicts or b"".join(merged)


class _Matcher:
    """What two sides have in common, in the form of `difflib` and in time for long ones as well."""

    def __init__(self, _: object, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        self._old = old
        self._new = new

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:
        codes = opcodes(self._old, self._new)
        end = (len(self._old), len(self._new), 0)
        return [*((a, c, b - a) for tag, a, b, c, _ in codes if tag == "equal"), end]


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
