from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from gemchat.core.contents import Target, lift, to_json, user_payload
from gemchat.core.model import Message, Mode, ReplyFormat
from gemchat.core.proposals import parse, schema
from gemchat.local.belief import apply_reply
from gemchat.local.demo import NOTICE, DemoMind
from gemchat.local.mind import Prompt

SOURCE = "import math\n\n\ndef area(radius: float) -> float:\n    return math.pi * radius**2\n"


def say(wish: str, *targets: Target, mode: Mode = "ask", **extra: Any) -> Message:
    return lift(Message(role="user", parts=(to_json(user_payload(mode, wish, targets or [Target()], extra)),)))


def source(path: str = "geo.py", text: str = SOURCE) -> Target:
    return Target(path=path, text=text)


def ask(*messages: Message, wanted: dict[str, Any] | None = None) -> str:
    return "".join(DemoMind().answer(Prompt(model="m", system="s", messages=messages, schema=wanted)))


def test_it_says_that_it_is_scripted() -> None:
    assert ask(say("hello")).startswith(NOTICE)
    assert ask(say("hello", source())).startswith(NOTICE)
    assert "demo" in DemoMind.name


def test_an_answer_is_made_of_the_real_file() -> None:
    answer = ask(say("What is the radius for?", source()))
    assert "`geo.py` has 5 lines and defines `area`. Its text came with your message." in answer
    assert "Line 4 mentions “radius”:\n\n```\ndef area(radius: float) -> float:\n```" in answer


def test_it_remembers_and_follows_a_delta() -> None:
    first = say("?", source())
    held = Target(path="geo.py", synchronized=True)
    assert "5 lines and defines `area`. I still hold it" in ask(first, say("?", held))


def test_a_file_that_does_not_exist_and_one_for_reference() -> None:
    message = say("?", Target(path="n.py", absent=True), secondaryContext=[{"path": "c.md", "text": "c"}])
    answer = ask(message)
    assert "`n.py` does not exist yet." in answer
    assert "For reference I hold `c.md`." in answer


@pytest.mark.parametrize(
    ("text", "said"), [("", "0 lines"), ("x", "1 line."), ("x\n", "1 line."), ("x\ny", "2 lines.")]
)
def test_lines_are_counted_as_an_editor_does(text: str, said: str) -> None:
    assert said in ask(say("?", source("a.txt", text)))


@pytest.mark.parametrize("reply_format", ["edits", "whole"])
@pytest.mark.parametrize("wish", ["add validation", "add a docstring", "rename area to surface"])
def test_an_edit_fits_its_file_in_each_format(reply_format: ReplyFormat, wish: str) -> None:
    reply = ask(say(wish, source(), mode="edit"), wanted=schema(reply_format, 1))
    (text,) = apply_reply(parse(reply), {"geo.py": SOURCE}, ["geo.py"]).values()
    assert text != SOURCE
    ast.parse(text)


@pytest.mark.parametrize("reply_format", ["edits", "whole"])
def test_an_edit_of_several_files_changes_those_it_can(reply_format: ReplyFormat) -> None:
    message = say(
        "rename area to surface", source(), source("b.py", "area()\n"), source("c.py", "pass\n"), mode="edit"
    )
    before = {"geo.py": SOURCE, "b.py": "area()\n", "c.py": "pass\n"}
    changed = apply_reply(parse(ask(message, wanted=schema(reply_format, 3))), before, list(before))
    assert changed == {"geo.py": SOURCE.replace("area", "surface"), "b.py": "surface()\n"}


def test_what_it_does_not_know_it_does_not_touch() -> None:
    reply = json.loads(ask(say("make it faster", source(), mode="edit"), wanted=schema("edits", 1)))
    assert reply["edits"] == []
    assert "scripted demo only knows" in reply["explanation"]


def test_it_speaks_in_small_pieces_and_always_the_same() -> None:
    prompt = Prompt(model="m", system="s", messages=(say("radius", source()),))
    pieces = list(DemoMind().answer(prompt))
    assert pieces == list(DemoMind().answer(prompt))
    assert max(map(len, pieces)) < 30
