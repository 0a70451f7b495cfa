"""The only part of gemchat that knows Google's SDK: two transports, one client, one translator of errors.

Importing this package does not import the SDK, which takes a second; connecting does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemchat.core.model import Backend
from gemchat.gemini.client import IDLE_TIMEOUT, build_client, check_key, collector_paused
from gemchat.gemini.generate import ContentsTransport
from gemchat.gemini.interactions import InteractionsTransport

if TYPE_CHECKING:
    from google import genai

__all__ = ["IDLE_TIMEOUT", "ContentsTransport", "InteractionsTransport", "connect", "connect_vertex", "load"]


def connect(
    backend: Backend,
    *,
    key: str,
    base_url: str | None = None,
    idle_timeout: float = IDLE_TIMEOUT,
    insecure: bool = False,
) -> InteractionsTransport | ContentsTransport:
    """A transport for one process. It holds a client, so close it, or use it as a context manager."""
    client = build_client(key, base_url, idle_timeout=idle_timeout, insecure=insecure)
    return _transport(backend, client, check_key(key))


def connect_vertex(
    backend: Backend, project: str | None, location: str, *, base_url: str | None = None, insecure: bool = False
) -> InteractionsTransport | ContentsTransport:
    """The same over Vertex AI, with application default credentials."""
    from gemchat.gemini.vertex import sign_in

    account = sign_in(project, location)
    client = build_client(account, base_url, insecure=insecure)
    return _transport(backend, client, account.credentials.token or "")


def load() -> None:
    """Imports all that connecting and the first request would, and sends nothing."""
    connect("interactions", key="unused", base_url="http://127.0.0.1").close()


def _transport(backend: Backend, client: genai.Client, secret: str) -> InteractionsTransport | ContentsTransport:
    if backend == "contents":
        return ContentsTransport(client, secret)
    with collector_paused():
        client.interactions  # noqa: B018 - reaching for it is what loads the second half of the SDK
    return InteractionsTransport(client, secret)
