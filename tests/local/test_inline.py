"""Images and PDFs at the loopback server: what it takes, what it bills, and what a mind gets to see."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from gemchat.core.media import IMAGE_TOKENS, PAGE_TOKENS, joined
from gemchat.core.model import Message
from gemchat.local.demo import DemoMind
from gemchat.local.llama import LlamaMind
from gemchat.local.mind import Prompt, Refusal
from gemchat.local.server import LoopbackServer
from tests import pictures
from tests.gemini.test_inline import BOTH, PDF, PNG
from tests.local.conftest import Clock, Connect, ScriptedMind
from tests.local.test_llama import ScriptedEngine

if TYPE_CHECKING:
    from google.genai import Client

WEIGHT = IMAGE_TOKENS + 2 * PAGE_TOKENS


@pytest.fixture
def api(client: Client) -> Any:
    """Untyped: the calls' many overloads do not describe what is tested here."""
    return client


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def item(data: bytes, mime_type: str, kind: str = "image") -> dict[str, str]:
    return {"type": kind, "data": base64.b64encode(data).decode(), "mime_type": mime_type}


def interactions_input() -> list[dict[str, Any]]:
    parts = [
        text("what?"),
        text("--- inline 1: a.png ---\n"),
        item(PNG, "image/png"),
        text("--- inline 2: b.pdf ---\n"),
        item(PDF, "application/pdf", "document"),
    ]
    return [{"type": "user_input", "content": parts}]


def contents_input() -> list[dict[str, Any]]:
    from google.genai import types

    parts = [
        types.Part.from_text(text="what?"),
        types.Part.from_text(text="--- inline 1: a.png ---\n"),
        types.Part.from_bytes(data=PNG, mime_type="image/png"),
        types.Part.from_text(text="--- inline 2: b.pdf ---\n"),
        types.Part.from_bytes(data=PDF, mime_type="application/pdf"),
    ]
    return [{"role": "user", "parts": parts}]


def test_a_mind_sees_what_the_sender_meant(api: Any, mind: ScriptedMind) -> None:
    api.interactions.create(model="gemini-x", input=interactions_input())
    api.models.generate_content(model="gemini-x", contents=contents_input())
    expected = (Message(role="user", parts=("what?",), media=BOTH),)
    assert [prompt.messages for prompt in mind.prompts] == [expected, expected]


def test_items_without_steps_are_the_users(api: Any, mind: ScriptedMind) -> None:
    api.interactions.create(model="gemini-x", input=[text("what?"), item(PNG, "image/png")])
    (message,) = mind.prompts[0].messages
    assert message == joined("user", ["what?", BOTH[0]])


def test_both_apis_bill_them_alike_and_cache_them(connect: Connect, clock: Clock) -> None:
    with LoopbackServer(ScriptedMind(), clock=clock) as server:
        client: Any = connect(server)
        first = client.interactions.create(model="gemini-x", input=interactions_input())
        counted = client.models.count_tokens(model="gemini-x", contents=contents_input()).total_tokens
        again = client.interactions.create(model="gemini-x", input="on", previous_interaction_id=first.id)
        assert first.usage.total_input_tokens == counted == WEIGHT + 2
        assert again.usage.total_input_tokens > WEIGHT
        assert again.usage.total_cached_tokens == 0, "too short for the cache"
        many = interactions_input()[0]["content"] + [item(pictures.png(n), "image/png") for n in range(1, 4)]
        client.interactions.create(model="gemini-x", input=many)
        assert (
            client.interactions.create(model="gemini-x", input=many).usage.total_cached_tokens > 4 * IMAGE_TOKENS
        )
        other = [*many[:-1], item(pictures.png(9), "image/png")]
        assert client.interactions.create(model="gemini-x", input=other).usage.total_cached_tokens == 0


def test_a_stored_interaction_shows_what_came_without_the_bytes(api: Any) -> None:
    first = api.interactions.create(model="gemini-x", input=interactions_input())
    (shown, _) = api.interactions.get(first.id, include_input=True).steps
    kinds = [(content.type, getattr(content, "mime_type", None)) for content in shown.content]
    assert kinds[2::2] == [("image", "image/png"), ("document", "application/pdf")]


@pytest.mark.parametrize(
    "wrong",
    [
        item(pictures.gif(), "image/gif"),
        item(PNG, "image/jpeg"),
        item(PNG, "image/png", "document"),
        item(PDF, "application/pdf"),
        {"type": "image", "data": "no base64!", "mime_type": "image/png"},
        {"type": "image", "mime_type": "image/png"},
    ],
)
def test_what_is_not_what_it_is_called_is_refused(api: Any, mind: ScriptedMind, wrong: dict[str, str]) -> None:
    from google.genai._interactions import APIStatusError

    with pytest.raises(APIStatusError) as caught:
        api.interactions.create(model="gemini-x", input=[{"type": "user_input", "content": [wrong]}])
    assert caught.value.status_code == 400
    assert mind.prompts == []


def test_an_empty_part_is_refused(api: Any, mind: ScriptedMind) -> None:
    from google.genai.errors import ClientError

    with pytest.raises(ClientError, match="inlineData"):
        api.models.generate_content(model="m", contents=[{"role": "user", "parts": [{}]}])
    assert mind.prompts == []


def test_a_model_without_eyes_says_so() -> None:
    engine = ScriptedEngine("an answer")
    prompt = Prompt(model="m", system="", messages=(Message(role="user", parts=("what?",), media=BOTH[:1]),))
    with pytest.raises(Refusal, match="no images"):
        list(LlamaMind(engine).answer(prompt))
    assert engine.calls == []


def test_the_demo_names_what_it_holds() -> None:
    header = '{"mode":"ask","prompt":"p","secondaryContext":[{"path":"a.png","mimeType":"image/png","inline":1,'
    header += f'"sha256":"{BOTH[0].sha256}"}}],"secondaryContextHash":"h"}}'
    prompt = Prompt(model="m", system="", messages=(Message(role="user", parts=(header,), media=BOTH[:1]),))
    assert "For reference I hold `a.png`." in "".join(DemoMind().answer(prompt))
