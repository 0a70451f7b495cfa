from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.merge import Conflict, merge
from tests.core.strategies import raw_files

BASE = b"a\r\nb\nc\nd\ne"


def test_changes_of_different_places_are_joined_byte_for_byte() -> None:
    assert merge(BASE, BASE.replace(b"a\r", b"A\r"), BASE.replace(b"e", b"E")) == b"A\r\nb\nc\nd\nE"
    assert merge(BASE, BASE.replace(b"d\n", b""), BASE.replace(b"b\n", b"b\nx\n")) == b"a\r\nb\nx\nc\ne"


def test_changes_of_one_place_are_a_conflict() -> None:
    mine, proposed = BASE.replace(b"b", b"B"), BASE.replace(b"b", b"Y")
    assert merge(BASE, mine, proposed) == [Conflict(line=2, now=b"B\n", proposed=b"Y\n")]
    shifted = merge(BASE, b"0\n" + BASE.replace(b"d", b"1"), BASE.replace(b"b\n", b"b\nx\n").replace(b"d", b"2"))
    assert shifted == [Conflict(line=5, now=b"1\n", proposed=b"2\n")]


def test_long_files_are_merged_as_well() -> None:
    base = [b"%d\n" % (number % 700) for number in range(30_000)]
    now = [*base[:10], b"mine\n", *base[10:]]
    proposed = [*base[:20_000], *base[20_010:], b"end\n"]
    merged = merge(b"".join(base), b"".join(now), b"".join(proposed))
    assert merged == b"".join([*base[:10], b"mine\n", *base[10:20_000], *base[20_010:], b"end\n"])


def test_lines_that_are_all_alike_are_held_apart_by_their_place() -> None:
    base = [b"}\n"] * 2000
    now, proposed = [*base[:1000], b"mine\n", *base[1000:]], [*base[:-1], b"yours\n"]
    assert merge(b"".join(base), b"".join(now), b"".join(proposed)) == b"".join([*now[:-1], b"yours\n"])


@given(raw_files(), st.data())
def test_a_change_of_one_side_is_taken_whole(base: bytes, data: st.DataObject) -> None:
    other = data.draw(raw_files())
    assert merge(base, other, base) == merge(base, base, other) == merge(base, other, other) == other
