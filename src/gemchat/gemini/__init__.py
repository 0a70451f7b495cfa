"""The only part of gemchat that knows Google's SDK: two transports, one client, one translator of errors.

Importing this package does not import the SDK, which takes a second; connecting does.
"""

from __future__ import annotations

from gemchat.core.model import Backend
from gemchat.gemini.client import IDLE_TIMEOUT, build_client, check_key, collector_paused
from gemchat.gemini.generate import ContentsTransport
from gemchat.gemini.interactions import InteractionsTransport

__all__ = ["IDLE_TIMEOUT", "ContentsTransport", "InteractionsTransport", "connect"]


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
    if backend == "contents":
        return ContentsTransport(client, check_key(key))
    with collector_paused():
        client.interactions  # noqa: B018 - reaching for it is what loads the second half of the SDK
    return InteractionsTransport(client, check_key(key))
