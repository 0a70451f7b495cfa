"""Merging three ways: what the user did to a file meanwhile, and what was proposed for the text it had before."""

from __future__ import annotations

from merge3 import Merge3

from gemchat.core.model import Value


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
    for kind, *groups in Merge3(_lines(base), _lines(now), _lines(proposed)).merge_groups():
        if kind == "conflict":
            _, here, there = groups
            conflicts.append(Conflict(line=line, now=b"".join(here), proposed=b"".join(there)))
            line += len(here)
            continue
        merged += groups[0]
        line += len(groups[0]) if kind != "b" else 0
    return conflicts or b"".join(merged)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
