"""What a turn must not send."""

from __future__ import annotations

import pytest

from gemchat.core.contents import Target, lifted, user_payload
from gemchat.core.economics import INPUT_LIMIT
from gemchat.core.model import Message, Request
from gemchat.errors import TooLarge
from gemchat.outgoing import check_size

MOST = "x" * (4 * INPUT_LIMIT)


def message(*targets: Target, **extra: object) -> Message:
    return lifted("user", user_payload("ask", "why?", targets, extra))


def check(*messages: Message) -> None:
    check_size(Request(model="m", system="", messages=messages), messages[-1])


def test_what_models_read_is_let_through() -> None:
    check(message(Target(path="a", text=MOST[:-1000]), Target(path="b", absent=True)))


def test_what_is_longest_is_named_with_its_size() -> None:
    half = INPUT_LIMIT // 2
    texts = Target(path="a.txt", text=MOST[: 2 * INPUT_LIMIT]), Target(path="b.txt", text="few words")
    with pytest.raises(TooLarge) as raised:
        check(message(*texts, attachments=[{"name": "stdin", "text": MOST}]))
    assert raised.value.message.startswith("this turn would send about 1,572,")
    assert raised.value.message.endswith(f"more than a model reads: stdin (1,048,576), a.txt ({half:,})")
    assert raised.value.hint.startswith("The limit is 1,048,576. ")


def test_a_conversation_that_is_sent_again_counts() -> None:
    with pytest.raises(TooLarge, match=r"than a model reads$"):
        check(Message(role="user", parts=(MOST,)), message(Target(path="a", synchronized=True)))
