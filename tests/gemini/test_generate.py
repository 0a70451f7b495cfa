"""generate_content: what is sent, what is kept of the model's content, and which endings are an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from gemchat.core.model import Request, Thought
from gemchat.errors import (
    ChainLost,
    GemchatError,
    NoUsableReply,
    ReplyBlocked,
    ReplyTruncated,
    RequestRefused,
    Unavailable,
)
from gemchat.gemini import ContentsTransport

from .loopback import Service, as_events, as_json
from .script import (
    CONTENTS_USAGE,
    REQUEST,
    SCHEMA,
    USED,
    WHOLE,
    api_error,
    chunk,
    chunks,
    collect,
    failure,
    model,
    user,
)

SIGNATURE = "+/+/Pz8/AA=="
PLAIN = {
    "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "generationConfig": {},
}


def answer(service: Service, transport: ContentsTransport, *received: object, stream: bool = True) -> Any:
    service.enqueue(as_events(received) if stream else as_json(received[0]))
    return collect(transport, replace(REQUEST, stream=stream))[1]


@pytest.mark.parametrize("stream", [True, False])
def test_a_plain_request(service: Service, contents: ContentsTransport, stream: bool) -> None:
    answer(service, contents, *chunks("ok"), stream=stream)
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    assert service.seen[0].path == f"/v1/models/gemini-x:{method}"
    assert service.seen[0].body == PLAIN


def test_schema_and_thinking_level_are_sent_when_set(service: Service, contents: ContentsTransport) -> None:
    service.enqueue(as_events(chunks("{}")))
    collect(contents, replace(REQUEST, schema=SCHEMA, thinking="low"))
    body = service.seen[0].body
    assert body == PLAIN | {
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "thinkingConfig": {"thinking_level": "LOW"},
        }
    }
    assert list(body["generationConfig"]["responseJsonSchema"]["properties"]) == ["explanation", "edits"]


def test_the_service_is_not_told_to_give_up_after_a_while(service: Service, contents: ContentsTransport) -> None:
    answer(service, contents, *chunks("ok"))
    assert not [name for name in service.seen[0].headers if "timeout" in name.lower()]


@pytest.mark.parametrize("name", ["", "../x", "a?b", "a&b", "a b", "models/../x", "a#b", "/a", "a\n"])
def test_what_is_no_model_name_never_gets_into_a_path(
    service: Service, contents: ContentsTransport, name: str
) -> None:
    for request in (REQUEST, WHOLE):
        assert type(failure(contents, replace(request, model=name))[1]) is RequestRefused
    assert service.seen == []


def test_streamed_text_comes_in_pieces(service: Service, contents: ContentsTransport) -> None:
    service.enqueue(as_events(chunks("Hel", "lo")))
    pieces, reply = collect(contents, REQUEST)
    assert pieces == ["Hel", "lo"]
    assert (reply.text, reply.usage, reply.interaction) == ("Hello", USED, None)


def test_usage_is_the_last_report_of_a_stream(service: Service, contents: ContentsTransport) -> None:
    early = chunk({"text": "a"}, usageMetadata={"promptTokenCount": 11, "candidatesTokenCount": 1})
    silent = {"candidates": [{"finishReason": "STOP"}]}
    assert answer(service, contents, early, chunk({"text": "b"}), silent).usage == USED


def test_counts_that_are_absent_are_zero(service: Service, contents: ContentsTransport) -> None:
    used = answer(
        service, contents, chunk({"text": "a"}, finish="STOP", usageMetadata={"totalTokenCount": 1})
    ).usage
    assert (used.input, used.cached, used.output, used.thought) == (0, 0, 0, 0)


def test_content_merges_plain_text_and_keeps_signed_parts_apart(
    service: Service, contents: ContentsTransport
) -> None:
    received = [
        chunk({"text": "thinking", "thought": True}),
        chunk({"text": "He"}, {"text": "l"}),
        chunk({"text": "lo"}),
        chunk({"text": "!", "thoughtSignature": SIGNATURE}),
        chunk({"text": "!", "thoughtSignature": "CCCC"}),
        chunk({"text": "?"}),
        chunk({"text": "", "thoughtSignature": "AAAA"}, {"thoughtSignature": "BBBB"}, {"text": ""}, finish="STOP"),
    ]
    reply = answer(service, contents, *received)
    assert reply.text == "Hello!!?"
    assert json.loads(reply.content) == {
        "role": "model",
        "parts": [
            {"text": "Hello"},
            {"text": "!", "thoughtSignature": SIGNATURE},
            {"text": "!", "thoughtSignature": "CCCC"},
            {"text": "?"},
            {"text": "", "thoughtSignature": "AAAA"},
            {"thoughtSignature": "BBBB"},
        ],
    }


def test_a_thought_is_a_sign_of_life(service: Service, contents: ContentsTransport) -> None:
    thought = chunk({"text": "hmm", "thought": True})
    service.enqueue(as_events([thought, thought, chunk({"text": "ok"}, finish="STOP")]))
    *events, _ = contents.send(REQUEST)
    assert events == [Thought(), Thought(), "ok"]


def test_a_signed_thought_is_kept_and_not_spoken(service: Service, contents: ContentsTransport) -> None:
    parts = [{"text": "thinking", "thought": True, "thoughtSignature": SIGNATURE}, {"text": "ok"}]
    reply = answer(service, contents, chunk(*parts, finish="STOP"))
    assert reply.text == "ok"
    assert json.loads(reply.content)["parts"] == parts


@pytest.mark.parametrize("stream", [True, False])
def test_content_comes_back_as_it_was_received(
    service: Service, contents: ContentsTransport, stream: bool
) -> None:
    parts = [{"text": "a1 é\u2028", "thoughtSignature": SIGNATURE}, {"thoughtSignature": "AAAA"}]
    received = answer(service, contents, chunk(*parts, finish="STOP"), stream=stream)
    service.enqueue(as_events(chunks("a2")))
    messages = (user("q1", "file"), model(received.text), user("q2"))
    collect(contents, replace(REQUEST, messages=messages, contents=(None, received.content, None)))
    assert service.seen[-1].body == PLAIN | {
        "contents": [
            {"role": "user", "parts": [{"text": "q1"}, {"text": "file"}]},
            {"role": "model", "parts": parts},
            {"role": "user", "parts": [{"text": "q2"}]},
        ]
    }


def test_a_rewritten_model_message_goes_out_as_text(service: Service, contents: ContentsTransport) -> None:
    service.enqueue(as_events(chunks("ok")))
    collect(contents, replace(REQUEST, messages=(user("q"), model("a", "b"), user("r")), contents=(None,) * 3))
    assert service.seen[0].body["contents"][1] == {"role": "model", "parts": [{"text": "a"}, {"text": "b"}]}


def test_an_answer_may_take_several_requests(service: Service, contents: ContentsTransport) -> None:
    first = chunk({"text": "one "}, finish="CONTINUATION")
    first["candidates"][0]["continuationToken"] = "dG9r"
    service.enqueue(as_events([first]), as_events([chunk({"text": "two"}, finish="STOP")]))
    pieces, reply = collect(contents, REQUEST)
    assert (pieces, reply.text) == (["one ", "two"], "one two")
    assert reply.usage.input == 22
    assert service.seen[1].body["contents"] == service.seen[0].body["contents"]


@pytest.mark.parametrize(
    ("finish", "kind"),
    [
        ("MAX_TOKENS", ReplyTruncated),
        ("CONTINUATION", ReplyTruncated),
        *(
            (name, ReplyBlocked)
            for name in ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT")
        ),
        *((name, ReplyBlocked) for name in ("SPII", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT")),
        *((name, NoUsableReply) for name in ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "OTHER")),
        *((name, NoUsableReply) for name in ("UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE")),
        ("BRAND_NEW\x1b", NoUsableReply),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_only_stop_is_an_answer(
    service: Service, contents: ContentsTransport, finish: str, kind: type[GemchatError], stream: bool
) -> None:
    received = chunk({"text": "par"}, finish=finish)
    service.enqueue(as_events([received]) if stream else as_json(received))
    pieces, error = failure(contents, replace(REQUEST, stream=stream))
    assert pieces == ["par"]
    assert type(error) is kind
    assert kind is ReplyTruncated or finish.rstrip("\x1b") in error.message


@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "JAILBREAK", "BRAND_NEW"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_blocked_prompt_names_the_reason(
    service: Service, contents: ContentsTransport, reason: str, stream: bool
) -> None:
    received = {"promptFeedback": {"blockReason": reason}, "usageMetadata": CONTENTS_USAGE}
    service.enqueue(as_events([received]) if stream else as_json(received))
    error = failure(contents, replace(REQUEST, stream=stream))[1]
    assert type(error) is ReplyBlocked
    assert reason in error.message


@pytest.mark.parametrize("parts", [[], [{"text": "hm", "thought": True}], [{"thoughtSignature": SIGNATURE}]])
def test_stop_without_text_is_no_answer(
    service: Service, contents: ContentsTransport, parts: list[object]
) -> None:
    service.enqueue(as_json(chunk(*parts, finish="STOP")))
    assert type(failure(contents, WHOLE)[1]) is NoUsableReply


def test_an_unfinished_stream_was_cut_short(service: Service, contents: ContentsTransport) -> None:
    service.enqueue(as_events([chunk({"text": "par"})]), as_events([]))
    for expected in (["par"], []):
        pieces, error = failure(contents, REQUEST)
        assert pieces == expected
        assert type(error) is Unavailable
        assert "cut short" in error.message


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}, Unavailable, "overloaded"),
        ({"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}, RequestRefused, "bad"),
        ({"code": "overloaded", "message": "m"}, Unavailable, "damaged"),
        ({}, Unavailable, "damaged"),
        ("text", Unavailable, "damaged"),
        (None, Unavailable, "damaged"),
    ],
)
def test_errors_within_a_stream_end_the_answer(
    service: Service, contents: ContentsTransport, error: object, kind: type[GemchatError], words: str
) -> None:
    service.enqueue(as_events([chunk({"text": "par"}), {"error": error}]))
    pieces, caught = failure(contents, REQUEST)
    assert pieces == ["par"]
    assert type(caught) is kind
    assert words in caught.message


@pytest.mark.parametrize(
    "odd",
    [
        b"5",
        b"[]",
        b"null",
        b"{}",
        b'{"candidates": "x"}',
        b'{"candidates": [5]}',
        b'{"candidates": [{"content": {"parts": [{"text": 5}]}}]}',
        b'{"candidates": [{"finishReason": 5}]}',
        b'{"candidates": [{"safetyRatings": 5}]}',
        b'{"candidates": [{"content": {"parts": [{"text": "a", "thoughtSignature": "!"}]}}]}',
        b'{"promptFeedback": {"blockReason": 5}}',
        b'{"usageMetadata": {"promptTokenCount": "x"}}',
        b"{not json",
        b"\xff",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_odd_types_is_never_a_crash(
    service: Service, contents: ContentsTransport, odd: bytes, stream: bool
) -> None:
    whole = replace(as_json({}), pieces=(odd,))
    service.enqueue(as_events([odd]) if stream else whole)
    assert type(failure(contents, replace(REQUEST, stream=stream))[1]) is Unavailable


def test_refused_signatures_lose_the_chain_once(service: Service, contents: ContentsTransport) -> None:
    refused = as_json(api_error(400, "Invalid thought signature in content 1"), 400)
    service.enqueue(refused, refused)
    stored = '{"role":"model","parts":[{"text":"a","thoughtSignature":"AAAA"}]}'
    messages = (user("q"), model("a"), user("r"))
    signed: Request = replace(REQUEST, messages=messages, contents=(None, stored, None))
    assert type(failure(contents, signed)[1]) is ChainLost
    assert type(failure(contents, replace(signed, contents=(None,) * 3))[1]) is RequestRefused
