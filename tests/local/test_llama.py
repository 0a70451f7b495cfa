"""The mind over an engine that says what it was told to: edits by difference, retries, refusals."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from gemchat.core.contents import Target, lift, to_json, user_payload
from gemchat.core.model import Message, Usage
from gemchat.core.proposals import parse, schema
from gemchat.local.belief import apply_reply
from gemchat.local.engine import Call
from gemchat.local.llama import LlamaMind
from gemchat.local.mind import Prompt, Refusal

OLD = "def half(x):\n    return x / 2\n"
NEW = "def half(x):\n    return x * 0.5\n"
GOOD, BROKEN, SAME = (f"```python\n{text}```" for text in (NEW, "def half(x:\n", OLD))


class ScriptedEngine:
    name = "scripted"
    window = 2048

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.calls: list[Call] = []

    def chat(self, call: Call) -> Generator[str | Usage, None, None]:
        self.calls.append(call)
        yield self.replies.pop(0)
        yield Usage(input=10, cached=4, output=2)


def edit(engine: ScriptedEngine, text: str = OLD, path: str = "a.py") -> tuple[dict[str, Any], Usage]:
    payload = user_payload("edit", "multiply instead", [Target(path=path, text=text)])
    message = lift(Message(role="user", parts=(to_json(payload),)))
    prompt = Prompt(model="m", system="", messages=(message,), schema=schema("edits", 1))
    said = list(LlamaMind(engine).answer(prompt))
    usage = next(item for item in said if isinstance(item, Usage))
    return json.loads("".join(item for item in said if isinstance(item, str))), usage


def test_a_rewritten_file_becomes_edits_and_all_calls_are_counted() -> None:
    engine = ScriptedEngine(GOOD, "It multiplies.")
    reply, usage = edit(engine)
    assert apply_reply(parse(json.dumps(reply)), {"a.py": OLD}, ["a.py"]) == {"a.py": NEW}
    assert reply["explanation"] == "It multiplies."
    assert usage == Usage(input=20, cached=8, output=4)


def test_what_does_not_parse_or_changes_nothing_is_tried_again_with_more_freedom() -> None:
    engine = ScriptedEngine(BROKEN, SAME, GOOD, "It multiplies.")
    assert edit(engine)[0]["edits"]
    assert [call.temperature for call in engine.calls[:3]] == [0.0, 0.4, 0.6]


def test_three_failures_are_an_honest_no() -> None:
    reply, _ = edit(ScriptedEngine(BROKEN, "no fence at all", SAME))
    assert reply["edits"] == []
    assert "no usable change" in reply["explanation"]


def test_a_file_beyond_the_window_is_refused_with_the_limit() -> None:
    engine = ScriptedEngine()
    with pytest.raises(Refusal, match=r"a\.py is too long .* tokens"):
        edit(engine, OLD * 500)
    assert engine.calls == []


def test_a_file_with_fences_is_written_in_a_longer_one_and_never_cut_at_its_own() -> None:
    old = "Use:\n\n```sh\ntool\n```\n"
    new = old.replace("tool", "tool --fast")
    engine = ScriptedEngine(f"```markdown\n{new}", f"````markdown\n{new}````", "It is faster.")
    reply, _ = edit(engine, old, "a.md")
    assert apply_reply(parse(json.dumps(reply)), {"a.md": old}, ["a.md"]) == {"a.md": new}
    assert "one ````markdown block" in engine.calls[0].messages[-1].text
    enough = engine.calls[0].enough
    assert enough is not None
    assert not enough(f"```markdown\n{new}")
    assert enough(f"````markdown\n{new}````")


def test_an_explanation_says_which_definitions_came_and_went_whatever_the_model_claims() -> None:
    text = f"{OLD}\n\nLIMIT = 3\n"
    new = f"{OLD}\n\ndef limit():\n    return 3\n"
    reply, _ = edit(ScriptedEngine(f"```python\n{new}```", "It renames everything."), text)
    assert reply["explanation"] == "It renames everything. New: `limit`. Gone: `LIMIT`."
    assert edit(ScriptedEngine(GOOD, ""))[0]["explanation"] == "Changes a.py."


def test_what_was_wrong_with_an_attempt_is_told_with_the_next() -> None:
    engine = ScriptedEngine(GOOD.replace("half", "double"), GOOD, "")
    edit(engine)
    assert "half got lost" in engine.calls[1].messages[-1].text
