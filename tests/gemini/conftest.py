"""A scripted service, transports that talk to it, and the rule that nothing is ever printed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from gemchat.core.model import Backend
from gemchat.gemini import ContentsTransport, InteractionsTransport
from gemchat.gemini.client import build_client

from .loopback import Service
from .script import KEY

AnyTransport = InteractionsTransport | ContentsTransport
Open = Callable[..., AnyTransport]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("GOOGLE_", "GEMINI_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _silence_is_kept(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def open_transport(service: Service) -> Iterator[Open]:
    opened: list[AnyTransport] = []

    def open_one(backend: Backend, url: str = "", idle_timeout: float = 20.0) -> AnyTransport:
        client = build_client(KEY, url or service.url, idle_timeout=idle_timeout, connect_timeout=5.0)
        kind = ContentsTransport if backend == "contents" else InteractionsTransport
        opened.append(kind(client, KEY))
        return opened[-1]

    yield open_one
    for transport in opened:
        transport.close()


@pytest.fixture
def interactions(open_transport: Open) -> InteractionsTransport:
    transport = open_transport("interactions")
    assert isinstance(transport, InteractionsTransport)
    return transport


@pytest.fixture
def contents(open_transport: Open) -> ContentsTransport:
    transport = open_transport("contents")
    assert isinstance(transport, ContentsTransport)
    return transport
