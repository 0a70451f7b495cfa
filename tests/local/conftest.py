"""Minds that do as they are told, and the real SDK as their client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from gemchat.core.model import Usage
from gemchat.local.mind import Prompt
from gemchat.local.server import LoopbackServer

if TYPE_CHECKING:
    from google.genai import Client

Script = Callable[[Prompt], Iterator[str | Usage]]
Connect = Callable[..., "Client"]


class ScriptedMind:
    """Remembers what it was asked and answers with a script, by default with how much it was told."""

    name = "scripted"

    def __init__(self, script: Script | None = None) -> None:
        self.prompts: list[Prompt] = []
        self._script = script or told

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        self.prompts.append(prompt)
        return self._script(prompt)


def told(prompt: Prompt) -> Iterator[str | Usage]:
    yield from ("I was told ", f"{len(prompt.messages)}", " things. ü")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def mind() -> ScriptedMind:
    return ScriptedMind()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(mind: ScriptedMind, clock: Clock) -> Iterator[LoopbackServer]:
    with LoopbackServer(mind, clock=clock) as running:
        yield running


@pytest.fixture
def connect() -> Iterator[Connect]:
    from google.genai import Client

    clients: list[Client] = []

    def connected(server: LoopbackServer, key: str = "any-key", version: str = "v1") -> Client:
        client = Client(
            api_key=key,
            enterprise=False,
            http_options={
                "base_url": server.url,
                "api_version": version,
                "timeout": 10_000,
                "retry_options": {"attempts": 1},
                "client_args": {"trust_env": False},
            },
        )
        clients.append(client)
        return client

    yield connected
    for client in clients:
        client.close()


@pytest.fixture
def client(server: LoopbackServer, connect: Connect) -> Client:
    return connect(server)
