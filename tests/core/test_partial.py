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
