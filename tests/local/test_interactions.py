from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gemchat.core.model import Message, Usage
from gemchat.local.mind import Prompt, Refusal
from gemchat.local.server import LoopbackServer
from tests.local.conftest import Clock, Connect, ScriptedMind

if TYPE_CHECKING:
    from google.genai import Client


@pytest.fixture
def api(client: Client) -> Any:
    """Untyped: the calls' many overloads do not describe what is tested here."""
    return client.interactions


def text_of(events: list[Any]) -> str:
    return "".join(event.delta.text for event in events if event.event_type == "step.delta")


def said(role: Any, *parts: str) -> Message:
    return Message(role=role, parts=parts)


def test_a_reply_whole(api: Any) -> None:
    reply = api.create(model="m", input="hello", system_instruction="be brief")
    assert (reply.status, reply.output_text) == ("completed", "I was told 1 things. ü")
    assert reply.id.startswith("v1_")
    assert reply.model == "m"
    assert (reply.usage.total_input_tokens, reply.usage.total_output_tokens, reply.usage.total_tokens) == (
        4,
        6,
        10,
    )


def test_a_reply_in_events(api: Any) -> None:
    with api.create(model="m", input="hello", stream=True) as stream:
        events = list(stream)
    kinds = [event.event_type for event in events]
    deltas = ["step.delta"] * 3
    assert kinds == ["interaction.created", "step.start", *deltas, "step.stop", "interaction.completed"]
    assert text_of(events) == "I was told 1 things. ü"
    first, last = events[0].interaction, events[-1].interaction
    assert (first.status, last.status) == ("in_progress", "completed")
    assert first.id == last.id
    assert last.usage.total_output_tokens == 6


def test_a_chain_carries_all_that_was_said(api: Any, mind: ScriptedMind) -> None:
    first = api.create(model="m", input="one", system_instruction="s1", response_format=json_format())
    with api.create(model="m", input="two", previous_interaction_id=first.id, stream=True) as stream:
        second = list(stream)[-1].interaction
    api.create(model="m", input=[text("3"), text("4")], previous_interaction_id=second.id)
    assert mind.prompts[-1].messages == (
        said("user", "one"),
        said("model", "I was told 1 things. ü"),
        said("user", "two"),
        said("model", "I was told 3 things. ü"),
        said("user", "3", "4"),
    )
    assert [prompt.system for prompt in mind.prompts] == ["s1", "", ""]
    assert [prompt.schema for prompt in mind.prompts] == [{"type": "object"}, None, None]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def json_format() -> dict[str, Any]:
    return {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}


def test_two_turns_may_continue_the_same_one(api: Any, mind: ScriptedMind) -> None:
    root = api.create(model="m", input="root")
    for branch in ("left", "right"):
        api.create(model="m", input=branch, previous_interaction_id=root.id)
        assert [message.parts[0] for message in mind.prompts[-1].messages][::2] == ["root", branch]


def test_a_conversation_in_steps(api: Any, mind: ScriptedMind) -> None:
    reply = api.create(
        model="m",
        input=[
            {"type": "user_input", "content": [text("q1"), text("more")]},
            {"type": "thought", "signature": "c2ln", "summary": [text("hm")]},
            {"type": "model_output", "content": [text("a1")]},
            {"type": "user_input", "content": [text("q2")]},
        ],
        response_format=[json_format()],
    )
    assert mind.prompts[-1].messages == (said("user", "q1", "more"), said("model", "a1"), said("user", "q2"))
    assert mind.prompts[-1].schema == {"type": "object"}
    stored = api.get(reply.id, include_input=True)
    assert [step.type for step in stored.steps] == ["user_input", "model_output", "user_input", "model_output"]


def test_a_stored_interaction_can_be_read_again(api: Any) -> None:
    first = api.create(model="m", input="one")
    second = api.create(model="m", input="two", previous_interaction_id=first.id)
    stored = api.get(second.id)
    assert (stored.output_text, stored.usage.total_tokens) == (second.output_text, second.usage.total_tokens)
    assert [step.type for step in stored.steps] == ["model_output"]
    assert stored.previous_interaction_id == first.id
    steps = api.get(second.id, include_input=True).steps
    assert [step.content[0].text for step in steps] == ["two", "I was told 3 things. ü"]


def test_a_deleted_one_is_gone_and_what_followed_it_is_not(api: Any) -> None:
    first = api.create(model="m", input="one")
    second = api.create(model="m", input="two", previous_interaction_id=first.id)
    assert api.delete(first.id) is None
    for call in (api.get, api.delete):
        assert first.id in refused(404, call, first.id)
    third = api.create(model="m", input="three", previous_interaction_id=second.id)
    assert third.output_text == "I was told 5 things. ü"


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_stored_cannot_be_continued(api: Any, stream: bool) -> None:
    reply = api.create(model="m", input="one", store=False, stream=stream)
    name = next(iter(reply)).interaction.id if stream else reply.id
    assert name in refused(404, api.create, model="m", input="two", previous_interaction_id=name)


def test_a_forgotten_chain_is_not_found(api: Any, server: LoopbackServer) -> None:
    first = api.create(model="m", input="one")
    server.forget()
    message = refused(404, api.create, model="m", input="two", previous_interaction_id=first.id)
    assert message == f"Interaction '{first.id}' was not found."


@pytest.mark.parametrize(
    "call",
    [
        {"input": [{"type": "model_output", "content": [{"type": "text", "text": "a"}]}]},
        {"input": []},
        {"input": [{"type": "function_result", "call_id": "1", "result": "x"}]},
        {"input": "x", "tools": [{"type": "google_search"}]},
        {"input": "x", "background": True},
        {"input": "x", "response_format": {"type": "audio"}},
    ],
)
def test_what_is_not_served_is_refused(api: Any, mind: ScriptedMind, call: dict[str, Any]) -> None:
    assert refused(400, api.create, model="m", **call)
    assert not mind.prompts


def test_a_stored_interaction_is_not_streamed(api: Any) -> None:
    first = api.create(model="m", input="one")
    assert "not streamed" in refused(400, api.get, first.id, stream=True)


def refused(status: int, call: Any, *args: Any, **named: Any) -> str:
    from google.genai._interactions import APIStatusError

    with pytest.raises(APIStatusError) as caught:
        call(*args, **named)
    assert caught.value.status_code == status
    assert isinstance(caught.value.body, dict)
    error = caught.value.body["error"]
    assert error["code"] == status
    return str(error["message"])


class TestAMindThat:
    def api(self, connect: Connect, running: LoopbackServer) -> Any:
        self.client = connect(running)
        return self.client.interactions

    @pytest.mark.parametrize("stream", [False, True])
    def test_refuses(self, connect: Connect, stream: bool) -> None:
        def refuse(_: Prompt) -> Iterator[str | Usage]:
            raise Refusal("Too much.", 429, "RESOURCE_EXHAUSTED")
            yield ""

        with LoopbackServer(ScriptedMind(refuse)) as running:
            call = self.api(connect, running).create
            assert refused(429, call, model="m", input="x", stream=stream) == "Too much."

    @pytest.mark.parametrize("stream", [False, True])
    def test_fails_at_once(self, connect: Connect, stream: bool) -> None:
        def fail(_: Prompt) -> Iterator[str | Usage]:
            raise RuntimeError("no memory")

        with LoopbackServer(ScriptedMind(fail)) as running:
            call = self.api(connect, running).create
            message = refused(500, call, model="m", input="x", stream=stream)
        assert message == "The model failed: RuntimeError: no memory"

    def test_fails_midway(self, connect: Connect) -> None:
        def fail(_: Prompt) -> Iterator[str | Usage]:
            yield "so "
            yield "\udcff"

        with LoopbackServer(ScriptedMind(fail)) as running:
            api = self.api(connect, running)
            with api.create(model="m", input="x", stream=True) as stream:
                events = list(stream)
            assert text_of(events) == "so "
            assert events[-1].event_type == "error"
            assert events[-1].error.message.startswith("The model failed: UnicodeEncodeError")
            name = events[0].interaction.id
            assert refused(404, api.get, name), "what was not completed is not stored"
            assert refused(500, api.create, model="m", input="x")

    def test_says_nothing(self, connect: Connect) -> None:
        with LoopbackServer(ScriptedMind(lambda _: iter(()))) as running:
            assert self.api(connect, running).create(model="m", input="x").output_text == ""

    def test_counts_for_itself(self, connect: Connect) -> None:
        usage = Usage(input=5, cached=4, output=3, thought=2)
        with LoopbackServer(ScriptedMind(lambda _: iter(["x", usage]))) as running:
            api = self.api(connect, running)
            counted = api.create(model="m", input="x").usage
            with api.create(model="m", input="x", stream=True) as stream:
                assert list(stream)[-1].interaction.usage.total_thought_tokens == 2
        assert (counted.total_input_tokens, counted.total_cached_tokens) == (5, 4)
        assert (counted.total_output_tokens, counted.total_thought_tokens, counted.total_tokens) == (3, 2, 10)


def test_a_long_chain_is_cached_while_it_is_warm(api: Any, clock: Clock) -> None:
    first = api.create(model="m", input="x" * 20_000)
    clock.now += 299
    second = api.create(model="m", input="y", previous_interaction_id=first.id)
    assert second.usage.total_cached_tokens == 5006
    clock.now += 300
    third = api.create(model="m", input="z", previous_interaction_id=second.id)
    assert third.usage.total_cached_tokens == 0
