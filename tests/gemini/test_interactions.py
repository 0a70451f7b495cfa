"""The Interactions API: what is sent, what is made of events and whole interactions, and when it is an answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gemchat.core.model import Reply, Request, Thought
from gemchat.errors import (
    ChainLost,
    GemchatError,
    NoUsableReply,
    ReplyBlocked,
    ReplyTruncated,
    RequestRefused,
    Unavailable,
)
from gemchat.gemini import InteractionsTransport

from .loopback import Service, as_events, as_json
from .script import (
    REQUEST,
    SCHEMA,
    USED,
    WHOLE,
    assert_fit_to_show,
    collect,
    completed,
    created,
    delta,
    events,
    failure,
    interaction,
    model,
    texts,
    user,
)


def body_sent(service: Service, transport: InteractionsTransport, request: Request) -> Any:
    service.enqueue(as_events(events("ok")) if request.stream else as_json(interaction()))
    collect(transport, request)
    assert (service.seen[-1].method, service.seen[-1].path) == ("POST", "/v1/interactions")
    return service.seen[-1].body


def test_a_first_request_carries_one_part_as_a_plain_string(
    service: Service, interactions: InteractionsTransport
) -> None:
    assert body_sent(service, interactions, REQUEST) == {
        "model": "gemini-x",
        "input": "hello",
        "system_instruction": "Be brief.",
        "store": True,
        "stream": True,
    }


def test_a_follow_up_says_again_all_but_the_conversation(
    service: Service, interactions: InteractionsTransport
) -> None:
    request = replace(WHOLE, previous="v1_a", schema=SCHEMA, thinking="low", messages=(user("header", "text"),))
    body = body_sent(service, interactions, request)
    assert body == {
        "model": "gemini-x",
        "input": [
            {
                "type": "user_input",
                "content": [{"type": "text", "text": "header"}, {"type": "text", "text": "text"}],
            }
        ],
        "system_instruction": "Be brief.",
        "response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA},
        "generation_config": {"thinking_level": "low"},
        "previous_interaction_id": "v1_a",
        "store": True,
        "stream": False,
    }
    assert list(body["response_format"]["schema"]["properties"]) == ["explanation", "edits"]


def test_a_restart_sends_the_history_as_steps(service: Service, interactions: InteractionsTransport) -> None:
    body = body_sent(service, interactions, replace(REQUEST, messages=(user("q1"), model("a1"), user("q2", "f"))))
    assert body["input"] == [
        {"type": "user_input", "content": [{"type": "text", "text": "q1"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "a1"}]},
        {"type": "user_input", "content": [{"type": "text", "text": "q2"}, {"type": "text", "text": "f"}]},
    ]
    assert "previous_interaction_id" not in body


def test_streamed_text_comes_in_pieces_and_thoughts_do_not(
    service: Service, interactions: InteractionsTransport
) -> None:
    service.enqueue(as_events(events("Hel", "lo")))
    *pieces, reply = interactions.send(REQUEST)
    assert pieces == [Thought(), "Hel", "lo"]
    assert isinstance(reply, Reply)
    assert (reply.text, reply.interaction, reply.usage, reply.content) == ("Hello", "v1_a", USED, None)


@pytest.mark.parametrize("request_", [REQUEST, WHOLE], ids=["asked to stream", "unary"])
def test_a_whole_interaction_is_one_answer(
    service: Service, interactions: InteractionsTransport, request_: Request
) -> None:
    service.enqueue(as_json(interaction()))
    pieces, reply = collect(interactions, request_)
    assert "".join(pieces) == reply.text == "Hello, you."
    assert (reply.interaction, reply.usage) == ("v1_a", USED)


def test_text_may_come_with_the_start_of_a_step(service: Service, interactions: InteractionsTransport) -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": "He"}]}
    service.enqueue(as_events([{"event_type": "step.start", "step": step}, *texts("llo"), completed()]))
    assert collect(interactions, REQUEST)[0] == ["He", "llo"]


def test_text_may_come_with_the_completion_alone(service: Service, interactions: InteractionsTransport) -> None:
    service.enqueue(as_events([created(), completed(steps=interaction()["steps"])]))
    assert collect(interactions, REQUEST)[1].text == "Hello, you."


def test_what_is_new_to_the_sdk_is_passed_over(service: Service, interactions: InteractionsTransport) -> None:
    news = [
        {"event_type": "brand.new", "x": 1},
        delta(type="hologram", z=2),
        delta(type="text"),
        {"event_type": 5},
    ]
    service.enqueue(as_events([created(), *news, *texts("ok"), b"", completed(surprise={})]))
    assert collect(interactions, REQUEST)[1].text == "ok"


def test_half_a_surrogate_pair_does_not_reach_the_caller(
    service: Service, interactions: InteractionsTransport
) -> None:
    service.enqueue(as_events([*texts("a\ud83d"), completed()]))
    assert collect(interactions, REQUEST)[1].text == "a?"


def test_usage_that_is_missing_or_odd_counts_as_zero(
    service: Service, interactions: InteractionsTransport
) -> None:
    usage = {"total_input_tokens": 4, "total_output_tokens": "many", "total_thought_tokens": None}
    service.enqueue(as_json(interaction(usage=usage)))
    used = collect(interactions, WHOLE)[1].usage
    assert (used.input, used.cached, used.output, used.thought) == (4, 0, 0, 0)


def test_a_streamed_answer_may_take_several_interactions(
    service: Service, interactions: InteractionsTransport
) -> None:
    unfinished = completed(status="requires_continuation", continuation_token="t1")
    service.enqueue(as_events([created(), *texts("one "), unfinished]))
    service.enqueue(as_events([created("v1_b"), *texts("two"), completed(id="v1_b")]))
    pieces, reply = collect(interactions, REQUEST)
    assert (pieces, reply.text, reply.interaction) == (["one ", "two"], "one two", "v1_b")
    assert reply.usage == USED + USED
    assert service.seen[-1].body["previous_interaction_id"] == "v1_a"


def test_a_whole_answer_may_take_several_interactions(
    service: Service, interactions: InteractionsTransport
) -> None:
    service.enqueue(as_json(interaction(status="requires_continuation", continuation_token="t1")))
    service.enqueue(as_json(interaction(id="v1_b")))
    reply = collect(interactions, WHOLE)[1]
    assert (reply.text, reply.interaction) == ("Hello, you.Hello, you.", "v1_b")
    assert reply.usage == USED + USED


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("incomplete", ReplyTruncated, "output limit"),
        ("requires_continuation", ReplyTruncated, "broke off"),
        ("requires_action", NoUsableReply, "tool"),
        ("budget_exceeded", RequestRefused, "budget"),
        ("cancelled", Unavailable, "cancelled"),
        ("failed", Unavailable, "failed"),
        ("in_progress", Unavailable, "in_progress"),
        ("brand\x1bnew", Unavailable, "brand new"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_only_completed_is_an_answer(
    service: Service,
    interactions: InteractionsTransport,
    status: str,
    kind: type[GemchatError],
    words: str,
    stream: bool,
) -> None:
    streamed = as_events([created(), *texts("Hello, ", "you."), completed(status=status), b"[DONE]"])
    service.enqueue(streamed if stream else as_json(interaction(status=status)))
    pieces, error = failure(interactions, replace(REQUEST, stream=stream))
    assert pieces == ["Hello, ", "you."]
    assert type(error) is kind
    assert words in error.message


@pytest.mark.parametrize(
    ("code", "kind"), [("safety_block", ReplyBlocked), (503, Unavailable), ("invalid_request", RequestRefused)]
)
def test_a_failed_interaction_tells_why(
    service: Service, interactions: InteractionsTransport, code: object, kind: type[GemchatError]
) -> None:
    service.enqueue(as_json(interaction(status="failed", errors=[{"code": code, "message": "because"}])))
    error = failure(interactions, WHOLE)[1]
    assert type(error) is kind
    assert "because" in error.message


def test_completed_without_text_is_no_answer(service: Service, interactions: InteractionsTransport) -> None:
    service.enqueue(as_events([created(), completed()]), as_json(interaction(steps=[])))
    for request in (REQUEST, WHOLE):
        assert type(failure(interactions, request)[1]) is NoUsableReply


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"code": "overloaded", "message": "try later"}, Unavailable, "try later"),
        ({"code": 503, "message": "try later"}, Unavailable, "try later"),
        ({"code": "429", "message": "slow down"}, Unavailable, "quota"),
        ({"code": "NOT_FOUND", "message": "gone"}, RequestRefused, "gone"),
        ({"code": "content_blocked", "message": None}, ReplyBlocked, "content_blocked"),
        ({"code": 7, "message": [KeyError.__name__]}, Unavailable, "no reason"),
        ("a string", Unavailable, "no reason"),
        (None, Unavailable, "not the Gemini API"),
    ],
)
def test_error_events_end_the_answer(
    service: Service,
    interactions: InteractionsTransport,
    error: object,
    kind: type[GemchatError],
    words: str,
) -> None:
    service.enqueue(as_events([created(), *texts("par"), {"event_type": "error", "error": error}, completed()]))
    pieces, caught = failure(interactions, REQUEST)
    assert pieces == ["par"]
    assert type(caught) is kind
    assert words in caught.message


@pytest.mark.parametrize(
    "odd",
    [
        b"{not json",
        b"[]",
        b"5",
        b"{}",
        b'{"event_type": "step.delta", "delta": {"type": "text", "text": 5}}',
        b"\xff",
    ],
)
def test_data_that_is_no_event_means_that_text_was_lost(
    service: Service, interactions: InteractionsTransport, odd: bytes
) -> None:
    service.enqueue(as_events([created(), *texts("par"), odd, *texts("tial"), completed()]))
    pieces, error = failure(interactions, REQUEST)
    assert pieces == ["par"]
    assert type(error) is Unavailable
    assert "damaged" in error.message


@pytest.mark.parametrize(
    "whole",
    [
        None,
        5,
        [],
        {},
        {"id": 5},
        {"id": "v1_a", "status": 7, "steps": "nope", "usage": []},
        {"id": "", "status": "completed"},
        {"id": "v1_a", "status": "completed", "steps": [{"type": "model_output", "content": [5]}]},
        {"id": "v1_a", "status": "completed", "steps": [{"type": "model_output", "content": "x"}]},
    ],
)
def test_an_interaction_of_odd_types_is_never_a_crash(
    service: Service, interactions: InteractionsTransport, whole: Any
) -> None:
    service.enqueue(as_json(whole), as_events([{"event_type": "interaction.completed", "interaction": whole}]))
    for request in (WHOLE, REQUEST):
        assert isinstance(failure(interactions, request)[1], Unavailable | NoUsableReply)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "not found"),
        (400, "Interaction v1_gone has expired"),
        (400, "Invalid previous_interaction_id"),
        (403, "No access to v1_gone, or it does not exist"),
    ],
)
def test_a_forgotten_interaction_loses_the_chain(
    service: Service, interactions: InteractionsTransport, status: int, message: str
) -> None:
    for request in (replace(REQUEST, previous="v1_gone"), replace(WHOLE, previous="v1_gone")):
        service.enqueue(as_json({"error": {"code": "x", "message": message}}, status))
        assert type(failure(interactions, request)[1]) is ChainLost


def test_a_400_about_something_else_keeps_the_chain(service: Service, interactions: InteractionsTransport) -> None:
    service.enqueue(as_json({"error": {"code": "x", "message": "schema too complex"}}, 400))
    assert type(failure(interactions, replace(REQUEST, previous="v1_a"))[1]) is RequestRefused


def test_delete_names_the_interaction_in_the_path(service: Service, interactions: InteractionsTransport) -> None:
    service.enqueue(as_json({}))
    interactions.delete("v1_A-b")
    assert [(seen.method, seen.path) for seen in service.seen] == [("DELETE", "/v1/interactions/v1_A-b")]


def test_deleting_what_is_gone_says_so(service: Service, interactions: InteractionsTransport) -> None:
    service.enqueue(as_json({"error": {"code": "not_found", "message": "no such thing"}}, 404))
    with pytest.raises(ChainLost) as caught:
        interactions.delete("v1_a")
    assert_fit_to_show(caught.value)


@pytest.mark.parametrize("name", ["", "../files/x", "a?b", "a/b", "a b", "é", "a\n"])
def test_what_is_no_id_never_gets_into_a_path(
    service: Service, interactions: InteractionsTransport, name: str
) -> None:
    with pytest.raises(RequestRefused):
        interactions.delete(name)
    assert service.seen == []
