"""A mind that is silent for long: the real SDK reads on, and a client that has gone is noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gemchat.core.model import Backend, Message, Reply, Request, Usage
from gemchat.gemini import connect as transport_to
from gemchat.local.mind import Prompt
from gemchat.local.server import LoopbackServer
from tests.local.conftest import Connect, ScriptedMind

REQUEST = Request(model="m", system="", messages=(Message(role="user", parts=("x",)),))


def quiet(prompt: Prompt) -> Iterator[str | Usage]:
    yield from ("", "", "Hal", "", "lo", "")


@pytest.mark.parametrize("backend", ["interactions", "contents"])
def test_empty_pieces_are_no_text(backend: Backend) -> None:
    with (
        LoopbackServer(ScriptedMind(quiet)) as server,
        transport_to(backend, key="k", base_url=server.url) as transport,
    ):
        *texts, reply = transport.send(REQUEST)
    assert texts == ["Hal", "lo"]
    assert isinstance(reply, Reply)
    assert reply.text == "Hallo"


class Working:
    """Gives signs of life until it is stopped."""

    name = "working"

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def answer(self, prompt: Prompt) -> Iterator[str]:
        try:
            while True:
                yield ""
        finally:
            self.stopped.set()


def test_work_for_nobody_ends(connect: Connect) -> None:
    mind = Working()
    with LoopbackServer(mind) as server:
        client: Any = connect(server)
        with client.interactions.create(model="m", input="x", stream=True) as stream:
            next(iter(stream))
        assert mind.stopped.wait(30)
