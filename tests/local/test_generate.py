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

ANSWER = "I was told 1 things. ü"
LONG = "x" * 20_000


@pytest.fixture
def api(client: Client) -> Any:
    """Untyped: contents are given as the JSON they are sent as."""
    return client.models


def content(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text} for text in texts]}


def test_a_reply_whole(api: Any, mind: ScriptedMind) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    config = {
        "system_instruction": "be brief",
        "response_mime_type": "application/json",
        "response_json_schema": schema,
        "thinking_config": {"thinking_level": "LOW"},
    }
    reply = api.generate_content(model="models/m", contents="hello", config=config)
    assert reply.text == ANSWER
    assert reply.candidates[0].finish_reason.name == "STOP"
    usage = reply.usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (4, 6, 10)
    hello = (Message(role="user", parts=("hello",)),)
    assert mind.prompts == [Prompt(model="m", system="be brief", messages=hello, schema=schema)]


def test_a_reply_in_chunks_with_running_totals(api: Any) -> None:
    chunks = list(api.generate_content_stream(model="m", contents="hello"))
    assert "".join(chunk.text for chunk in chunks) == ANSWER
    assert [chunk.usage_metadata.candidates_token_count for chunk in chunks] == [3, 3, 6, 6]
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks]
    assert [reason and reason.name for reason in reasons] == [None, None, None, "STOP"]
    assert {chunk.usage_metadata.prompt_token_count for chunk in chunks} == {2}


def test_a_whole_reply_can_be_sent_back_as_it_came(api: Any, mind: ScriptedMind) -> None:
    reply = api.generate_content(model="m", contents="one").candidates[0].content
    assert reply.parts[-1].thought_signature
    api.generate_content(model="m", contents=[content("user", "one"), reply, content("user", "two")])
    assert mind.prompts[-1].messages == (
        Message(role="user", parts=("one",)),
        Message(role="model", parts=(ANSWER,)),
        Message(role="user", parts=("two",)),
    )


def test_a_streamed_reply_can_be_sent_back_after_being_stored(api: Any, mind: ScriptedMind) -> None:
    from google.genai import types

    chunks = list(api.generate_content_stream(model="m", contents="one"))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert [bool(part.thought_signature) for part in parts] == [False, False, False, True]
    stored = types.Content(role="model", parts=parts).model_dump_json(exclude_none=True)
    again = types.Content.model_validate_json(stored)
    api.generate_content(model="m", contents=[content("user", "one"), again, content("user", "two")])
    assert "".join(mind.prompts[-1].messages[1].parts) == ANSWER


def test_a_signature_on_another_text_is_refused(api: Any) -> None:
    reply = api.generate_content(model="m", contents="one").candidates[0].content
    reply.parts[0].text += " I think."
    contents = [content("user", "one"), reply, content("user", "two")]
    assert refused(400, api.generate_content, model="m", contents=contents) == "Thought signature is not valid."


def test_thoughts_are_not_part_of_what_was_said(api: Any, mind: ScriptedMind) -> None:
    model = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "a"}]}
    api.generate_content(model="m", contents=[content("user", "q"), model, content("user", "r")])
    assert mind.prompts[-1].messages[1] == Message(role="model", parts=("a",))


def test_tokens_are_counted_as_they_are_billed(api: Any) -> None:
    contents = [content("user", "one", "two"), content("model", "three"), content("user", "four")]
    counted = api.count_tokens(model="m", contents=contents).total_tokens
    assert counted == 4
    assert api.generate_content(model="m", contents=contents).usage_metadata.prompt_token_count == counted


def test_both_apis_bill_the_same_conversation_alike(connect: Connect, clock: Clock) -> None:
    with LoopbackServer(ScriptedMind(), clock=clock) as one, LoopbackServer(ScriptedMind(), clock=clock) as other:
        chained, resent = bills_of_a_chain(connect(one)), bills_of_contents(connect(other))
    assert chained == resent == [(5001, 0, 6), (5007, 5006, 6)]


def bills_of_a_chain(client: Any) -> list[tuple[int, int, int]]:
    create = client.interactions.create
    first = create(model="m", input=LONG, system_instruction="s")
    second = create(model="m", input="on", system_instruction="s", previous_interaction_id=first.id)
    return [
        (usage.total_input_tokens, usage.total_cached_tokens, usage.total_output_tokens)
        for usage in (first.usage, second.usage)
    ]


def bills_of_contents(client: Any) -> list[tuple[int, int, int]]:
    generate, config = client.models.generate_content, {"system_instruction": "s"}
    first = generate(model="m", contents=LONG, config=config)
    resent = [content("user", LONG), first.candidates[0].content, content("user", "on")]
    second = generate(model="m", contents=resent, config=config)
    return [
        (usage.prompt_token_count, usage.cached_content_token_count or 0, usage.candidates_token_count)
        for usage in (first.usage_metadata, second.usage_metadata)
    ]


def test_one_cache_serves_both(client: Any) -> None:
    first = client.interactions.create(model="m", input=LONG)
    resent = [content("user", LONG), content("model", first.output_text), content("user", "on")]
    usage = client.models.generate_content(model="m", contents=resent).usage_metadata
    assert usage.cached_content_token_count == 5006


def test_the_mind_is_the_only_model_listed(api: Any) -> None:
    assert [model.name for model in api.list()] == ["models/scripted"]
    assert "generateContent" in api.get(model="scripted").supported_actions
    assert "'other'" in refused(404, api.get, model="other")


@pytest.mark.parametrize(
    "call",
    [
        {"contents": [content("model", "a")]},
        {"contents": [{"role": "user", "parts": [{"inline_data": {"data": b"x", "mime_type": "image/png"}}]}]},
        {"contents": "x", "config": {"tools": [{"google_search": {}}]}},
        {"contents": "x", "config": {"response_json_schema": {"type": "object"}}},
        {"contents": "x", "config": {"cached_content": "cachedContents/1"}},
    ],
)
def test_what_is_not_served_is_refused(api: Any, mind: ScriptedMind, call: dict[str, Any]) -> None:
    assert refused(400, api.generate_content, model="m", **call)
    assert not mind.prompts


def refused(status: int, call: Any, **named: Any) -> str:
    from google.genai.errors import APIError

    with pytest.raises(APIError) as caught:
        call(**named)
    assert caught.value.code == status
    return str(caught.value.message)


class TestAMindThat:
    def test_refuses(self, connect: Connect) -> None:
        def refuse(_: Prompt) -> Iterator[str | Usage]:
            raise Refusal("Too much.", 429, "RESOURCE_EXHAUSTED")

        with LoopbackServer(ScriptedMind(refuse)) as running:
            client: Any = connect(running)
            assert refused(429, client.models.generate_content, model="m", contents="x") == "Too much."
            stream = client.models.generate_content_stream(model="m", contents="x")
            assert refused(429, lambda: next(stream)) == "Too much."

    def test_fails_midway(self, connect: Connect) -> None:
        def fail(_: Prompt) -> Iterator[str | Usage]:
            yield "so "
            raise RuntimeError("no memory")

        with LoopbackServer(ScriptedMind(fail)) as running:
            client: Any = connect(running)
            stream = client.models.generate_content_stream(model="m", contents="x")
            assert next(stream).text == "so "
            assert refused(500, lambda: next(stream)) == "The model failed: RuntimeError: no memory"

    def test_counts_for_itself(self, connect: Connect) -> None:
        usage = Usage(input=5, cached=4, output=3, thought=2)
        with LoopbackServer(ScriptedMind(lambda _: iter(["x", usage]))) as running:
            client: Any = connect(running)
            counted = list(client.models.generate_content_stream(model="m", contents="x"))[-1].usage_metadata
        assert (counted.prompt_token_count, counted.cached_content_token_count) == (5, 4)
        assert (counted.candidates_token_count, counted.thoughts_token_count) == (3, 2)
        assert counted.total_token_count == 10
