from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core import turns
from gemchat.core.model import MediaRef
from tests.core.sessions import Script


def test_turns_are_found_by_their_number_wherever_they_are() -> None:
    script = Script()
    one, two = script.turn(), script.turn(status="incomplete")
    assert turns.all_turns(script.session) == (one, two)
    assert turns.find(script.session, "2") == two
    assert turns.find(script.session, "3") is None


def test_the_head_moves_back_along_the_path() -> None:
    script = Script()
    script.turn()
    script.turn()
    script.turn(parent="1")
    assert turns.head_before(script.session, 1) == "1"
    assert turns.head_before(script.session, 2) is None
    with pytest.raises(ValueError, match="more turns than there are: only 2 to drop"):
        turns.head_before(script.session, 3)
    with pytest.raises(ValueError, match="none to drop"):
        turns.head_before(Script().session, 1)


def containing(text: str, **fields: Any) -> bool:
    turn = Script().turn(**fields)
    return turns.containing([turn], text) == (turn,)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("TIMEOUT", {"prompt": "why the timeout?"}),
        ("straße", {"explanation": "die STRASSE", "reply": "die STRASSE"}),
        ("blocked", {"problem": "the answer was blocked"}),
        ("src/app", {"files": {"src/app.py": "A"}}),
        ("shot", {"media": (MediaRef(path="shot.png", mime_type="image/png", sha256="1", bytes=1, tokens=1),)}),
        ('print("a")\n', {"reply": '{"edits":[{"search":"x","replace":"print(\\"a\\")\\n"}]}'}),
        ("a.*b", {"prompt": "is a.*b a pattern?"}),
    ],
)
def test_what_was_said_is_found(text: str, fields: dict[str, Any]) -> None:
    assert containing(text, **fields)


@pytest.mark.parametrize(
    ("text", "fields"), [("a.c", {"prompt": "abc"}), ("x", {"reply": '["a", 1, {"b": null}]'})]
)
def test_what_was_not_said_is_not_found(text: str, fields: dict[str, Any]) -> None:
    assert not containing(text, **fields)


@given(st.text(), st.recursive(st.text() | st.integers(), st.lists, max_leaves=5).map(lambda v: [v, "needle"]))
def test_any_reply_can_be_searched(before: str, value: object) -> None:
    assert containing("NEEDLE", reply=json.dumps(value))
    assert containing("needle", reply=f"{before}needle")
