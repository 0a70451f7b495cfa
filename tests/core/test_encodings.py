from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gemchat.core.proposals import Edit, EditReply, WholeFile, resolve
from gemchat.core.textfile import (
    Replacement,
    TextFile,
    blank,
    canonical,
    codec_of,
    decode,
    encode,
    misfit,
    raw_text,
    splice,
)
from gemchat.errors import NotText, UsageError

ENCODINGS = ["cp1252", "iso8859-1", "cp1250", "koi8-r", "shift_jis", "cp932", "gb18030", "big5", "euc_kr",
    "utf-16", "utf-16-le", "utf-32-be", "cp037"]  # fmt: skip


@st.composite
def encoded(draw: st.DrawFn, name: str) -> bytes:
    """Lines of characters that the encoding has, with any line ends."""
    codec = f"{name}-le" if name == "utf-16" else name
    line = st.text(st.sampled_from(letters(codec)), max_size=8)
    parts = draw(st.lists(st.tuples(line, st.sampled_from(["\n", "\r\n", "\r"])), max_size=6))
    text = "".join(body + end for body, end in parts) + draw(line)
    return ("\ufeff" if name == "utf-16" else "").encode(codec) + text.encode(codec)


@cache
def letters(codec: str) -> list[str]:
    return [chr(code) for code in range(0x20, 0x3100) if _fits(chr(code), codec)]


def _fits(character: str, codec: str) -> bool:
    try:
        return character.encode(codec).decode(codec) == character and character != "\ufeff"
    except UnicodeError:
        return False


@pytest.mark.parametrize("name", ENCODINGS)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_read_in_an_encoding_comes_back_byte_for_byte(name: str, data: st.DataObject) -> None:
    raw = data.draw(encoded(name))
    file = decode(raw, name)
    assert encode(file) == raw
    assert raw_text(raw, name).encode(file.encoding) == raw
    assert decode(raw, file.encoding) == file


@pytest.mark.parametrize("name", ENCODINGS)
@settings(max_examples=25)
@given(data=st.data())
def test_untouched_lines_keep_their_bytes_in_every_encoding(name: str, data: st.DataObject) -> None:
    raw = data.draw(encoded(name))
    file = decode(raw, name)
    lines = file.text.split("\n")
    row = data.draw(st.integers(0, len(lines) - 1))
    start = sum(len(line) + 1 for line in lines[:row])
    spliced = splice(file, [Replacement(start=start, end=start + len(lines[row]), text="new")])
    old, new = raw_text(raw, name), raw_text(spliced, name)
    assume("\r" not in file.text)
    before = re.split("(\r\n|\n|\r)", old)
    head, tail = "".join(before[: 2 * row]), "".join(before[2 * row + 1 :])
    assert spliced.startswith(head.encode(file.encoding))
    assert spliced.endswith(tail.encode(file.encoding))
    assert new == head + ("\ufeffnew" if row == 0 and file.bom else "new") + tail


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        (b"\xff\xfea\0\r\0\n\0", "utf-16", TextFile(text="a\n", bom=True, eol="\r\n", encoding="utf-16-le")),
        (b"\xfe\xff\0a", "utf-16", TextFile(text="a", bom=True, encoding="utf-16-be")),
        (b"\0\0\xfe\xff\0\0\0a", "utf-32", TextFile(text="a", bom=True, encoding="utf-32-be")),
        (b"caf\xe9\r\n\x80", "cp1252", TextFile(text="café\n€", eol="\r\n", encoding="cp1252")),
        (b"a\rb", "cp1252", TextFile(text="a\nb", eol="\r", encoding="cp1252")),
        (b"a\r\nb\n", "cp1252", TextFile(text="a\nb\n", mixed=("\r\n", "\n"), encoding="cp1252")),
        (b"", "cp1252", TextFile(encoding="cp1252")),
    ],
)
def test_what_a_model_sees_of_it(raw: bytes, name: str, expected: TextFile) -> None:
    assert decode(raw, name) == expected
    assert encode(expected) == raw


@pytest.mark.parametrize(
    ("raw", "name", "said"),
    [
        (b"a\x81", "cp1252", "is not cp1252 text \\(byte 0x81 at offset 1\\)"),
        (b"a\0", "utf-16", "has no byte order mark for utf-16"),
        (b"a\0b", "cp1252", "is a binary file"),
        (b"\0\0", "utf-16-le", "is a binary file"),
        (b"\xfa\x54", "cp932", "would not come back byte for byte from cp932"),
    ],
)
def test_what_does_not_fit_the_encoding_is_refused(raw: bytes, name: str, said: str) -> None:
    with pytest.raises(NotText, match=said):
        decode(raw, name)


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("UTF8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("latin-1", "iso8859-1"),
        ("Windows_1252", "cp1252"),
        ("u16", "utf-16"),
    ],
)
def test_an_encoding_has_one_name(given_name: str, name: str) -> None:
    assert canonical(given_name) == name


@pytest.mark.parametrize(
    "name", ["klingon", "hex", "rot13", "zlib", "iso2022_jp", "hz", "utf-7", "idna", "punycode", "unicode_escape",
             "raw_unicode_escape", "undefined", "", "a\0b", "\udcff"],
)  # fmt: skip
def test_what_is_no_encoding_for_files_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there is no encoding"):
        canonical(name)


def test_a_new_file_has_a_mark_where_the_name_leaves_the_order_open() -> None:
    assert encode(blank("utf-16")) == b"\xff\xfe"
    assert encode(blank("utf-16-be")) == b""
    assert blank() == TextFile()
    assert codec_of(encode(blank("utf-32")), "utf-32") == "utf-32-le"


def test_an_edit_that_the_encoding_cannot_hold_fails_and_names_the_character() -> None:
    base = decode(b"caf\xe9\nend\n", "iso8859-1")
    reply = EditReply(explanation="", edits=(Edit(search="end", replace="cost:\n5 €"),))
    found = resolve(reply, {"a.txt": base})
    assert found.files == {}
    assert found.failed[0].reason == (
        "the reply does not fit the encoding of a.txt: iso8859-1 has no U+20AC (EURO SIGN), which is in line 3"
    )
    fits = resolve(EditReply(explanation="", edits=(Edit(search="end", replace="Ende ü"),)), {"a.txt": base})
    assert fits.files == {"a.txt": b"caf\xe9\nEnde \xfc\n"}


def test_a_lone_surrogate_fits_no_encoding() -> None:
    reply = EditReply(explanation="", files=(WholeFile(proposedSource="a\ud800"),))
    (failed,) = resolve(reply, {"a.txt": None}).failed
    assert "utf-8 has no U+D800 (no name), which is in line 1" in failed.reason


def test_a_new_file_is_written_in_its_encoding() -> None:
    reply = EditReply(explanation="", proposedSource="a\né\n")
    found = resolve(reply, {"a.txt": None}, encodings={"a.txt": "utf-16"})
    assert found.files == {"a.txt": b"\xff\xfea\0\n\0\xe9\0\n\0"}


def test_a_misfit_names_its_line() -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        "a\nb\n€".encode("ascii")
    assert misfit(caught.value, "ascii") == "ascii has no U+20AC (EURO SIGN), which is in line 3"
