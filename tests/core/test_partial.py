from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.partial import PartialExplanation


def pieces(reply: str, cuts: list[int]) -> list[str]:
    ends = sorted({min(cut, len(reply)) for cut in cuts} | {len(reply)})
    return [reply[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(st.text(), st.booleans(), st.lists(st.integers(0, 60)))
def test_the_pieces_add_up_however_the_reply_is_cut(explanation: str, ascii_only: bool, cuts: list[int]) -> None:
    reply = json.dumps({"explanation": explanation, "edits": []}, ensure_ascii=ascii_only)
    partial = PartialExplanation()
    said = [partial.feed(piece) for piece in pieces(reply, cuts)]
    assert "".join(said) == explanation
    assert partial.ended
    assert partial.feed('{"explanation":"again"}') == ""


@pytest.mark.parametrize(
    "reply", ["", "no json", '{"edits":[],"explanation":"late"}', '["explanation"]', '{"explanation":7}']
)
def test_replies_of_another_form_explain_nothing(reply: str) -> None:
    assert PartialExplanation().feed(reply) == ""


def test_it_comes_as_soon_as_it_can() -> None:
    partial = PartialExplanation()
    assert partial.feed('{"explanation":"It says \\') == "It says "
    assert partial.feed('"hi\\ud83d') == '"hi'
    assert not partial.ended
    assert partial.feed('\\ude00"') == "\U0001f600"
    assert partial.ended
    assert partial.feed(',"edits":[{"search":"more') == ""


def test_a_backslash_before_what_looks_like_half_a_character() -> None:
    partial = PartialExplanation()
    assert partial.feed(r'{"explanation":"\\ud83d') == r"\ud83d"
    assert partial.feed(r'\\"') == "\\"


@given(
    st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\\", r"\"", "u", "d83d", "\n"])),
    st.lists(st.integers(0, 60)),
)
def test_halves_of_characters_are_put_together_as_json_does(tokens: list[str], cuts: list[int]) -> None:
    reply = f'{{"explanation":"{"".join(tokens)}"'
    partial = PartialExplanation()
    said = [partial.feed(piece) for piece in pieces(reply, cuts)]
    assert "".join(said) == json.loads(f"{reply}}}", strict=False)["explanation"]


@pytest.mark.parametrize("reply", [" " * 2000, "x" * 2000, r'{"explanation":"\udefghijklmno'])
def test_what_can_be_no_explanation_any_more_has_ended(reply: str) -> None:
    partial = PartialExplanation()
    assert [said for piece in reply if (said := partial.feed(piece))] == []
    assert partial.ended


@pytest.mark.timeout(60)
def test_each_piece_is_read_once() -> None:
    partial = PartialExplanation()
    partial.feed('{"explanation":"')
    for _ in range(100_000):
        assert partial.feed("a few more letters, ") == "a few more letters, "
