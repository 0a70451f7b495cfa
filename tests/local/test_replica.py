"""The replica behind the server: a short conversation as gemchat has it, over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gemchat.core.contents import Delta, Target, lift, to_json, user_payload
from gemchat.core.diff import unified
from gemchat.core.model import Message, Mode
from gemchat.core.proposals import schema
from gemchat.local.belief import sha256
from gemchat.local.server import LoopbackServer
from tests.local.conftest import Connect
from tests.replica import ReplicaMind

if TYPE_CHECKING:
    from google.genai import Client

TEXT = "one\ntwo\nthree\n"
HELD = Target(path="a.py", synchronized=True)


class Talk:
    """One chain of interactions."""

    def __init__(self, client: Client) -> None:
        self._api: Any = client.interactions
        self._previous: str | None = None

    def say(self, wish: object, *targets: Target, mode: Mode = "ask", wanted: dict[str, Any] | None = None) -> Any:
        prompt = wish if isinstance(wish, str) else json.dumps(wish)
        message = lift(Message(role="user", parts=(to_json(user_payload(mode, prompt, targets)),)))
        reply = self._api.create(
            model="m",
            input=[{"type": "text", "text": part} for part in message.parts],
            previous_interaction_id=self._previous,
            response_format={"type": "text", "mime_type": "application/json", "schema": wanted}
            if wanted
            else None,
        )
        self._previous = reply.id
        return reply.output_text

    def edit(self, wish: object, *targets: Target, form: Any = "edits") -> Any:
        return json.loads(self.say(wish, *targets, mode="edit", wanted=schema(form, len(targets))))


@pytest.fixture
def replica() -> ReplicaMind:
    return ReplicaMind()


@pytest.fixture
def talk(replica: ReplicaMind, connect: Connect) -> Iterator[Talk]:
    with LoopbackServer(replica) as running:
        yield Talk(connect(running))


def test_it_reports_what_it_believes(talk: Talk, replica: ReplicaMind) -> None:
    talk.say("?", Target(path="a.py", text=TEXT))
    report = json.loads(talk.say("?", Target(path="n.py", absent=True)))
    assert report == {"belief": {"a.py": sha256(TEXT), "n.py": None}, "contradictions": []}
    assert replica.belief.files == {"a.py": TEXT, "n.py": None}


@pytest.mark.parametrize("form", ["edits", "whole"])
def test_it_replaces_and_believes_its_own_proposal(talk: Talk, replica: ReplicaMind, form: str) -> None:
    talk.edit({"replace": [[None, "two", "2"], [None, "one", "1"]]}, Target(path="a.py", text=TEXT), form=form)
    assert replica.belief.files == {"a.py": "1\n2\nthree\n"}
    proposed = "1\n2\nthree\n"
    diff = unified(proposed, TEXT, old_name="a.py", new_name="a.py")
    talk.say("?", Target(path="a.py", delta=Delta(before=sha256(proposed), after=sha256(TEXT), diff=diff)))
    assert replica.belief.files == {"a.py": TEXT}
    assert replica.contradictions == []


@pytest.mark.parametrize("form", ["edits", "whole"])
def test_it_writes_several_files(talk: Talk, replica: ReplicaMind, form: str) -> None:
    targets = [Target(path="a.py", text=TEXT), Target(path="b.py", absent=True), Target(path="c.py", text="c")]
    talk.edit({"write": [["a.py", "A"], ["b.py", "B"]]}, *targets, form=form)
    assert replica.belief.files == {"a.py": "A", "b.py": "B", "c.py": "c"}


def test_it_says_what_it_is_told_to_say(talk: Talk, replica: ReplicaMind) -> None:
    source = Target(path="a.py", text=TEXT)
    assert talk.say({"raw": "{oops"}, source, mode="edit", wanted=schema("edits", 1)) == "{oops"
    assert talk.edit({"nothing": True}, HELD)["edits"] == []
    assert talk.edit("please repair", HELD)["edits"] == []
    replica.replies.append("first of all")
    assert talk.say("?", HELD) == "first of all"
    assert replica.belief.files == {"a.py": TEXT}
    assert len(replica.prompts) == 4


def test_a_wrong_edit_is_sent_and_not_believed(talk: Talk, replica: ReplicaMind) -> None:
    reply = talk.edit({"replace": [[None, "four", "4"]]}, Target(path="a.py", text=TEXT))
    assert reply["edits"] == [{"search": "four", "replace": "4"}]
    assert replica.belief.files == {"a.py": TEXT}


def test_it_objects_once_to_what_it_cannot_know(talk: Talk, replica: ReplicaMind) -> None:
    report = json.loads(talk.say("?", HELD))
    talk.say("again?")
    assert report["contradictions"] == replica.contradictions
    assert len(replica.contradictions) == 1
