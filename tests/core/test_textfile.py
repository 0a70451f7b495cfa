from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gemchat.core.textfile import Replacement, TextFile, decode, encode, replace, splice
from gemchat.errors import NotText
from tests.core.strategies import raw_files, replacements


@given(raw_files())
def test_encode_is_the_inverse_of_decode(data: bytes) -> None:
    file = decode(data)
    assert encode(file) == data
    assert "\r\n" not in file.text or b"\r\r\n" in data
    assert not file.text.startswith("\ufeff") or data.count(b"\xef\xbb\xbf") > 1
    assert len(file.line_ends) == file.text.count("\n")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb", TextFile(text="a\nb")),
        (b"a\r\nb\r\n", TextFile(text="a\nb\n", eol="\r\n")),
        (b"a\rb\r", TextFile(text="a\nb\n", eol="\r")),
        (b"a\rb\n", TextFile(text="a\rb\n")),
        (b"a\r\nb\n", TextFile(text="a\nb\n", eol="\n", mixed=("\r\n", "\n"))),
        (b"a\r\nb\r\nc\n", TextFile(text="a\nb\nc\n", eol="\r\n", mixed=("\r\n", "\r\n", "\n"))),
        (b"\xef\xbb\xbfa", TextFile(text="a", bom=True)),
        (b"", TextFile()),
    ],
)
def test_what_a_model_sees(data: bytes, expected: TextFile) -> None:
    assert decode(data) == expected


@pytest.mark.parametrize(
    ("data", "said"), [(b"a\0b", "binary"), (b"a\xff", "0xff at offset 1"), (b"\xff\xfea\0", "binary")]
)
def test_what_is_not_text_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(NotText, match=said):
        decode(data)


@given(st.data())
def test_a_splice_changes_the_text_as_a_list_of_characters_would(data: st.DataObject) -> None:
    file = decode(data.draw(raw_files()))
    changes = data.draw(replacements(file.text))
    characters = list(file.text)
    for change in reversed(changes):
        characters[change.start : change.end] = change.text
    expected = "".join(characters)
    assert replace(file.text, changes) == expected
    assume("\r" not in file.text)
    spliced = splice(file, changes)
    without_bom = spliced.decode().removeprefix("\ufeff") if file.bom else spliced.decode()
    assert re.sub("\r\n?", "\n", without_bom) == re.sub("\r\n?", "\n", expected)


@given(st.data())
def test_untouched_lines_keep_their_bytes(data: st.DataObject) -> None:
    raw = data.draw(raw_files())
    file = decode(raw)
    lines = file.text.split("\n")
    row = data.draw(st.integers(0, len(lines) - 1))
    start = sum(len(line) + 1 for line in lines[:row])
    spliced = splice(file, [Replacement(start=start, end=start + len(lines[row]), text="new")])
    old, new = (re.split(b"(\r\n|\n|\r)" if file.eol == "\r" else b"(\r\n|\n)", blob) for blob in (raw, spliced))
    assert len(old) == len(new)
    assert [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] in ([], [2 * row])


@pytest.mark.parametrize(
    ("raw", "change", "expected"),
    [
        (b"a\r\nb\nc\n", Replacement(start=2, end=3, text="x\ny"), b"a\r\nx\r\ny\nc\n"),
        (b"a\r\nb\n", Replacement(start=0, end=0, text="n\n"), b"n\r\na\r\nb\n"),
        (b"a\nb\r\nc", Replacement(start=4, end=5, text="c\nd"), b"a\nb\r\nc\r\nd"),
        (b"a\r\nb\nc\r\n", Replacement(start=0, end=6, text="a\nB\nc\n"), b"a\r\nB\nc\r\n"),
        (b"a\r\nb\nc\r\n", Replacement(start=0, end=6, text=""), b""),
        (b"a\r\nb\r\n", Replacement(start=4, end=4, text="c\n"), b"a\r\nb\r\nc\r\n"),
        (b"\xef\xbb\xbfa\r\n", Replacement(start=0, end=1, text="b"), b"\xef\xbb\xbfb\r\n"),
        (b"a", Replacement(start=1, end=1, text="\nb"), b"a\nb"),
        (b"a\nx\r\n", Replacement(start=1, end=2, text=" "), b"a x\r\n"),
    ],
)
def test_new_lines_end_like_their_neighbours(raw: bytes, change: Replacement, expected: bytes) -> None:
    assert splice(decode(raw), [change]) == expected
