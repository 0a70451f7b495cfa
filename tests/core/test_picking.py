from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.diff import Hunk, hunks, split_lines
from gemchat.core.picking import Selection, editable, edited, selection, split
from tests.core.strategies import texts

TEN = "".join(f"{number}\n" for number in range(10))


def only_hunk(old: str, new: str) -> Hunk:
    (hunk,) = hunks(old, new)
    return hunk


@st.composite
def selections(draw: st.DrawFn, *, decided: bool = True) -> tuple[str, str, Selection]:
    """Two texts and the hunks between them, any of them split, all of them decided if wanted."""
    old, new = draw(texts(max_lines=30)), draw(texts(max_lines=30))
    selected = selection(old, new)
    while selected.current is not None:
        if draw(st.booleans()):
            selected = selected.split()
        selected = selected.decide(draw(st.booleans()))
    return old, new, selected if decided else Selection(hunks=selected.hunks, taken=(None,) * len(selected.hunks))


@given(selections(decided=False))
def test_all_hunks_give_the_proposal_and_none_the_file(made: tuple[str, str, Selection]) -> None:
    old, new, selected = made
    assert selected.decide_rest(True).chosen(old) == new
    assert selected.decide_rest(False).chosen(old) == old
    assert selected.proposed(old) == new


@given(selections())
def test_any_choice_after_any_split_changes_the_lines_of_its_hunks_alone(made: tuple[str, str, Selection]) -> None:
    """Line by line, by another way than applying hunks."""
    old, _, selected = made
    lines: list[str | list[str]] = list(split_lines(old))
    end = 0
    for hunk in selected.hunks:
        assert hunk.old_start >= end, "hunks share no line"
        end = hunk.old_start + len(hunk.old)
        assert lines[hunk.old_start : end] == hunk.old
    for hunk, taken in reversed(list(zip(selected.hunks, selected.taken, strict=True))):
        if taken:
            lines[hunk.old_start : hunk.old_start + len(hunk.old)] = [hunk.new]
    assert selected.chosen(old) == "".join("".join(line) for line in lines)


@given(selections())
def test_what_is_left_out_can_be_taken_later(made: tuple[str, str, Selection]) -> None:
    old, new, selected = made
    now = selected.chosen(old)
    assert selection(now, new).decide_rest(True).chosen(now) == new


@given(texts(max_lines=30), texts(max_lines=30))
def test_parts_join_to_the_hunk_and_cannot_be_split(old: str, new: str) -> None:
    for hunk in hunks(old, new):
        parts = split(hunk)
        assert [line for part in parts for line in part.lines] == list(hunk.lines)
        assert all(split(part) == (part,) for part in parts)
        assert all(part.old != part.new for part in parts)
        assert parts[0].old_start == hunk.old_start
        for one, other in pairwise(parts):
            assert (other.old_start, other.new_start) == (
                one.old_start + len(one.old),
                one.new_start + len(one.new),
            )


@given(texts(), texts())
def test_a_hunk_comes_back_from_the_editor_as_it_went(old: str, new: str) -> None:
    for hunk in hunks(old, new):
        assert edited(hunk, editable(hunk), at_end=True) == hunk


@given(selections(decided=False), st.data())
def test_an_edited_hunk_leaves_the_others_their_lines(
    made: tuple[str, str, Selection], data: st.DataObject
) -> None:
    """The same hunk without one of its changes: any line kept, any line left out."""
    old, _, selected = made
    edits = 0
    while selected.current is not None:
        hunk = selected.hunks[selected.current]
        shown = editable(hunk).split("\n")
        rows = [row for row, line in enumerate(shown) if line[:1] in ("-", "+")]
        row = data.draw(st.sampled_from(rows))
        shown[row] = f" {shown[row][1:]}" if shown[row][0] == "-" else "# gone"
        try:
            after = selected.edit("\n".join(shown), old)
        except ValueError:
            after = selected
        edits += after != selected
        selected = after if after != selected else selected.decide(False)
    taken = [hunk for hunk, taken in zip(selected.hunks, selected.taken, strict=True) if taken]
    assert len(taken) == edits
    lines = split_lines(old)
    assert all(lines[hunk.old_start : hunk.old_start + len(hunk.old)] == hunk.old for hunk in selected.hunks)
    kept = [line for hunk in taken for tag, line in hunk.lines if tag == "+"]
    assert len(split_lines(selected.chosen(old))) <= len(lines) + len(kept)


def test_a_split_cuts_in_the_middle_of_what_is_unchanged() -> None:
    hunk = only_hunk(TEN, TEN.replace("2\n", "two\n").replace("6\n", "six\n"))
    first, second = split(hunk)
    assert (first.header, second.header) == ("@@ -1,5 +1,5 @@", "@@ -6,5 +6,5 @@")
    assert first.new == ["0\n", "1\n", "two\n", "3\n", "4\n"]
    assert second.new == ["5\n", "six\n", "7\n", "8\n", "9\n"]


def test_the_hunks_are_decided_one_after_the_other() -> None:
    old = TEN * 5
    asked = selection(old, old.replace("0\n", "zero\n"))
    count = len(asked.hunks)
    assert (asked.current, asked.complete, count) == (0, False, 5)
    asked = asked.decide(True).decide(False)
    assert (asked.current, asked.taken) == (2, (True, False, None, None, None))
    assert asked.decide_rest(True).taken == (True, False, True, True, True)
    assert asked.decide_rest(False).current is None
    assert selection(old, "x\n").decide(True).complete


def test_what_the_editor_is_given() -> None:
    hunk = only_hunk("a\r\nb\r\n", "a\r\nc\r\n")
    lines = editable(hunk).splitlines()
    assert lines[:4] == ["# @@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert all(line.startswith("# ") for line in lines[4:])


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (" a\n-b\n+B\n c", "a\nB\nc\n"),
        (" a\n b\n+new\n c\n", "a\nb\nnew\nc\n"),
        ("-a\n-b\n-c\n", ""),
        (" a\n-b\n+\n c\n", "a\n\nc\n"),
        (" a\n-b\n c\n+d\n\\ No newline at end of file\n", "a\nc\nd"),
    ],
)
def test_an_edited_hunk_is_taken_as_it_is(text: str, new: str) -> None:
    asked = selection("a\nb\nc\n", "a\nX\nc\n").edit(f"# header\n{text}", "a\nb\nc\n")
    assert asked.chosen("a\nb\nc\n") == asked.proposed("a\nb\nc\n") == new
    assert asked.taken == (True,)


def test_new_lines_take_the_line_end_of_the_hunk() -> None:
    old = "a\r\nb\r\nc"
    asked = selection(old, "a\r\nX\r\nc").edit(" a\n b\n+d\n c\n\\ No newline at end of file\n", old)
    assert asked.chosen(old) == "a\r\nb\r\nd\r\nc"


def test_an_empty_line_is_an_unchanged_one() -> None:
    asked = selection("a\n\nb\n", "a\n\nc\n").edit(" a\n\n-b\n+d\n", "a\n\nb\n")
    assert asked.chosen("a\n\nb\n") == "a\n\nd\n"


@pytest.mark.parametrize("text", ["", "# nothing\n#but comments"])
def test_an_emptied_hunk_stays_as_it_was(text: str) -> None:
    asked = selection("a\n", "b\n")
    assert asked.edit(text, "a\n") == asked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" a\n-b\n*B\n c\n", r"line 3 begins with '\*'; a line of a hunk begins with a blank, - or \+"),
        ("\\ No newline\n a\n", r"line 1 begins with '\\\\'"),
        (" a\n-B\n c\n", r"it has 'B\\n' where the file has 'b\\n'"),
        (" a\n-b \n c\n", r"it has 'b \\n' where the file has 'b\\n'"),
        (" a\n-b\n", r"the file's line 'c\\n' is missing; mark it - to remove it"),
        (" a\n-b\n c\n d\n", r"the line 'd\\n' is not in the file; mark it \+ to add it"),
        (" a\n b\n c\n", "changes nothing; leave it out instead"),
        (" a\n-b\n+b\n c\n", "changes nothing"),
        (" a\n-b\n+B\n\\ No newline at end of file\n c\n", "only the last line of the file can be without"),
        (f" a\n-{'x' * 80}\n", r"it has 'x{59}…' where"),
    ],
)
def test_a_hunk_that_does_not_fit_is_explained(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        selection("a\nb\nc\n", "a\nX\nc\n").edit(text, "a\nb\nc\n")


def test_a_newline_can_only_be_dropped_where_the_file_ends() -> None:
    """Not before a later hunk, even if that one has no line of the file of its own."""
    old, without = "a\nb\n", "-a\n+x\n-b\n+y\n\\ No newline at end of file\n"
    asked = selection(old, "A\nb\nc\n").split()
    first, second = asked.hunks
    assert (first.old, second.old) == (["a\n", "b\n"], [])
    with pytest.raises(ValueError, match="only the last line"):
        asked.edit(without, old)
    assert asked.decide(False).edit("+z\n\\ No newline at end of file\n", old).chosen(old) == "a\nb\nz"
    longer = TEN * 2
    with pytest.raises(ValueError, match="only the last line"):
        selection(longer, longer.replace("0\n", "zero\n", 1)).edit(
            "-0\n 1\n 2\n 3\n+x\n\\ No newline at end of file\n", longer
        )
