from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.proposals import choose_format, parse, resolve, schema
from gemchat.core.textfile import decode, encode
from gemchat.errors import ProposalRejected
from tests.core.strategies import raw_files, texts


def edits(*pairs: tuple[str, str], **more: Any) -> str:
    return json.dumps({"explanation": "e", "edits": [{"search": a, "replace": b, **more} for a, b in pairs]})


def resolved(reply: str, text: str | None = "one\ntwo\ntwo\nthree\n") -> bytes | None:
    """The new bytes of the one file; what failed is raised so that tests can name it."""
    found = resolve(parse(reply), {"f": None if text is None else decode(text.encode())})
    if found.failed:
        raise ProposalRejected(found.failed[0].reason)
    return found.files.get("f")


def test_several_edits_refer_to_the_text_before_any_of_them() -> None:
    assert resolved(edits(("three", "one"), ("one", "three"))) == b"three\ntwo\ntwo\none\n"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (edits(("four", "x")), "search text of edit 1 of 1 does not occur in f"),
        (edits(("one", "x"), ("two", "x")), r"edit 2 of 2 occurs 2 times \(lines 2, 3\) in f"),
        (edits(("\n", "x")), r"occurs 4 times \(lines 1, 2, 3, 4\) in f"),
        (edits(("e", "x")), "occurs 3 times"),
        (edits(("one\ntwo\n", "x"), ("one", "y")), "edit 2 of 2 changes the same place as another"),
        (edits(("one", "x"), ("one", "y")), "edit 2 of 2 changes the same place as another"),
        (edits(("", "x")), "is empty, but f is not"),
        (edits(("one", "x"), path="g"), "'g', which is not a file of this turn"),
        ('{"explanation":"e","edits":[{"search":"one"}]}', "not the JSON"),
        ('{"explanation":"e","edits":[', "not the JSON"),
        ("```json\n{}\n```", "not the JSON"),
        ("", "not the JSON"),
    ],
)
def test_what_cannot_be_placed_for_sure_is_rejected(reply: str, said: str) -> None:
    with pytest.raises(ProposalRejected, match=said):
        resolved(reply)


def test_overlapping_occurrences_count() -> None:
    with pytest.raises(ProposalRejected, match="occurs 2 times"):
        resolved(edits(("aa", "b")), "aaa")


def test_many_occurrences_are_named_up_to_five() -> None:
    with pytest.raises(ProposalRejected, match=r"lines 1, 2, 3, 4, 5, …"):
        resolved(edits(("x", "b")), "x\n" * 9)


@pytest.mark.parametrize("literal", ["$&", r"\1", r"\n", "{0}", "%s", "[/red]"])
def test_text_is_taken_literally(literal: str) -> None:
    assert resolved(edits((".*", literal)), "a.*b") == f"a{literal}b".encode()


def test_a_search_text_is_no_pattern() -> None:
    with pytest.raises(ProposalRejected, match="does not occur"):
        resolved(edits(("o.e", "x")))


def test_an_empty_search_fills_an_empty_or_new_file() -> None:
    assert resolved(edits(("", "hello\n")), "") == resolved(edits(("", "hello\n")), None) == b"hello\n"


def test_a_whole_file() -> None:
    assert resolved('{"explanation":"e","proposedSource":"new\\n"}') == b"new\n"
    assert resolved('{"explanation":"e","proposedSource":""}', None) == b""


def test_several_whole_files() -> None:
    reply = '{"explanation":"e","files":[{"path":"a","proposedSource":"A"},{"path":"b","proposedSource":"old"}]}'
    assert resolve(parse(reply), {"a": None, "b": decode(b"old")}).files == {"a": b"A"}


def test_a_file_must_be_named_when_there_are_several() -> None:
    found = resolve(parse(edits(("a", "b"))), {"f": decode(b"a"), "g": decode(b"a")})
    assert [failed.reason for failed in found.failed] == ["edit 1 of 1 does not say which file it changes"]


@pytest.mark.parametrize("reply", [edits(), edits(("one", "one")), '{"explanation":"nothing to do"}'])
def test_a_reply_that_changes_nothing_proposes_nothing(reply: str) -> None:
    assert resolved(reply) is None


def test_line_ends_of_the_reply_do_not_matter() -> None:
    assert resolved(edits(("one\r\ntwo", "1\r\n2")), "one\ntwo\n") == b"1\n2\n"
    assert resolved(edits(("one\r\ntwo", "1\r\n2")), "one\r\ntwo\r\n") == b"1\r\n2\r\n"
    assert resolved(edits(("a\rb", "c\rd")), "a\rb\n") == b"c\rd\n"


@given(raw_files(), texts())
def test_a_whole_reply_becomes_the_text(raw: bytes, text: str) -> None:
    base = decode(raw)
    if "\r" in base.text:
        return
    reply = parse(json.dumps({"explanation": "", "proposedSource": text}))
    data = resolve(reply, {"f": base}, may_shrink=True).files.get("f", raw)
    if "\r" not in text and not (base.eol == "\r" and "\n" not in text):
        assert decode(data).text.removeprefix("\ufeff") == text.removeprefix("\ufeff") or base.eol == "\r"
    assert encode(decode(data)) == data


@given(
    st.text()
    | st.builds(
        json.dumps,
        st.recursive(
            st.none() | st.text() | st.integers(),
            lambda x: (
                st.lists(x)
                | st.dictionaries(
                    st.sampled_from(
                        ["explanation", "edits", "search", "replace", "path", "files", "proposedSource"]
                    ),
                    x,
                )
            ),
        ),
    )
)
def test_any_reply_is_rejected_or_resolved(reply: str) -> None:
    with suppress(ProposalRejected):
        resolve(parse(reply), {"f": decode(b"text\n")})


def test_short_and_new_files_come_whole_long_ones_as_edits() -> None:
    short, long = decode(b"x\n" * 60), decode(b"x\n" * 61)
    assert choose_format({"f": short}) == choose_format({"f": None, "g": short}) == "whole"
    assert choose_format({"f": long}) == choose_format({"f": short, "g": long}) == "edits"


def test_schemas() -> None:
    assert schema("text", 1) is None
    one, several = schema("edits", 1), schema("edits", 2)
    assert one is not None
    assert several is not None
    assert list(one["properties"]) == ["explanation", "edits"]
    assert list(one["properties"]["edits"]["items"]["properties"]) == ["search", "replace"]
    assert list(several["properties"]["edits"]["items"]["properties"]) == ["path", "search", "replace"]
    whole, files = schema("whole", 1), schema("whole", 2)
    assert whole is not None
    assert files is not None
    assert whole["required"] == ["explanation", "proposedSource"]
    assert files["properties"]["files"]["items"]["required"] == ["path", "proposedSource"]


def test_a_text_with_a_nul_is_no_text() -> None:
    found = resolve(parse('{"explanation":"","proposedSource":"a\\u0000b"}'), {"f": decode(b"a\n")})
    assert [failed.reason for failed in found.failed] == ["the reply makes a binary file of f"]
    assert found.files == {}
