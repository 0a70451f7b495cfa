"""Builds the one SDK client a process needs: whom it talks to, for how long it waits, and what it must not do.

It owns the key's form, the base URL, timeouts, TLS, redirects, retries and the environment variables and noise of
the SDK. It does not send anything, and it does not decide where key and base URL come from. The SDK is imported
here only when a client is built.
"""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import logging
import os
import ssl
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from gemchat import __version__
from gemchat.errors import ConfigError, MissingKey

if TYPE_CHECKING:
    from google import genai

    from gemchat.gemini.vertex import Account

GEMINI_URL = "https://generativelanguage.googleapis.com"
IDLE_TIMEOUT = 120.0
_KEEP_ALIVE = 120.0  # seconds between turns; firewalls on the way forget a connection after a few minutes
GET_A_KEY = "Get a key at https://aistudio.google.com/apikey and set GEMINI_API_KEY."

# Read by the SDK itself, and none of them is the user's word to gemchat. Where the SDK takes an argument instead
# (the key, the base URL, the choice of Vertex AI), the argument is always given.
DISARMED = (
    "GOOGLE_GENAI_DEBUG",  # prints every request to stderr, the key included
    "GOOGLE_GENAI_CLIENT_MODE",  # records conversations to disk, or replays them in place of the service
    "GOOGLE_GENAI_REPLAYS_DIRECTORY",  # where it does so
    "GOOGLE_GENAI_REPLAY_ID",
    "GOOGLE_GENAI_HTTP_CLIENT",  # another HTTP library, whose exceptions are not translated
    "GOOGLE_VERTEX_BASE_URL",  # where Vertex AI is
)


@dataclass(frozen=True)
class Connection:
    """A client and the key it was built with, which must never be shown. Close it when done."""

    client: genai.Client
    secret: str = field(repr=False)

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def build_client(
    identity: str | Account,
    base_url: str | None = None,
    *,
    user_agent: str = f"gemchat/{__version__}",
    connect_timeout: float = 15.0,
    idle_timeout: float = IDLE_TIMEOUT,
    insecure: bool = False,
) -> genai.Client:
    """The key or the account says which of Google's services it is; without `base_url` it is at its own address.

    `idle_timeout` is how long the service may stay silent, not how long an answer may take; both in seconds.
    """
    who = _arguments(identity)
    url = check_base_url(base_url or GEMINI_URL, insecure=insecure)
    disarm_environment()
    _silence()
    with collector_paused():
        import httpx2
        from google import genai

        from gemchat.gemini.endings import read_to_the_end

    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies, and trusts nobody: loading no roots is quick
    http: dict[str, Any] = {
        "follow_redirects": False,  # a redirect would take the key and the prompt to another host
        "limits": httpx2.Limits(keepalive_expiry=_KEEP_ALIVE),
        "event_hooks": {
            "request": [_wait(connect_timeout, idle_timeout)],
            "response": [_read_refusal, read_to_the_end],
        },
    }
    websocket: dict[str, Any] = {"ssl": unused}
    if _is_loopback(url):
        http |= {"verify": unused, "trust_env": False}
        websocket |= {"verify": unused, "trust_env": False}
    options: Any = {
        "base_url": url if base_url or isinstance(identity, str) else None,
        "headers": {"User-Agent": user_agent},
        "retry_options": {"attempts": 1},
        "client_args": http,
        "async_client_args": websocket,
    }
    with _environment_trouble():
        return genai.Client(**who, http_options=options)


def _arguments(identity: str | Account) -> dict[str, Any]:
    if isinstance(identity, str):
        return {"api_key": check_key(identity), "enterprise": False}
    account = {"project": identity.project, "location": identity.location, "credentials": identity.credentials}
    return {"enterprise": True, **account}


def check_key(key: str) -> str:
    """The key without surrounding blanks. No message ever quotes it."""
    key = key.strip()
    if not key:
        raise MissingKey("there is no API key", GET_A_KEY)
    if not all("!" <= char <= "~" for char in key):
        raise ConfigError("the API key contains blanks or characters that no key has", GET_A_KEY)
    if key.startswith("auth_tokens/"):
        raise ConfigError("that is a short-lived token for another API, not an API key", GET_A_KEY)
    return key


def check_base_url(url: str, *, insecure: bool = False) -> str:
    """The URL, if key and files may be sent there. Without TLS anybody on the way could read both."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable():
        raise ConfigError("the base URL is not an http or https address", "Check GOOGLE_GEMINI_BASE_URL.")
    if url.lower().startswith("http:") and not (insecure or _is_loopback(url)):
        raise ConfigError(
            "the base URL is plain http: the API key and your files would go over the network unencrypted",
            "Use https, or add --insecure if you trust every network on the way.",
        )
    return url


def disarm_environment() -> None:
    """Removes the variables of `DISARMED` from this process, for good: some are read as late as the first call."""
    for name in DISARMED:
        os.environ.pop(name, None)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Importing the SDK makes a great many objects that all stay; searching them for garbage takes a tenth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _silence() -> None:
    """The SDK remarks on stderr what it finds odd; what matters to gemchat it returns or raises as well."""
    logger = logging.getLogger("google_genai")
    logger.handlers = [logging.NullHandler()]
    logger.propagate = False
    warnings.filterwarnings("ignore", module=r"google\.genai(\.|$)")


def _wait(connect: float, idle: float) -> Any:
    """Sets the timeouts of each request as it leaves.

    The SDK's own option knows one number for connecting and waiting, and for generate_content tells the service
    to give up after it, however well the answer is coming along.
    """

    def hook(request: Any) -> None:
        request.extensions["timeout"] = {"connect": connect, "read": idle, "write": idle, "pool": connect}

    return hook


def _read_refusal(response: Any) -> None:
    """Reads what is not an answer at once: of a stream the SDK looks at it unread, and trips if it is empty."""
    if not response.is_success:
        response.read()


def _is_loopback(url: str) -> bool:
    """Plain HTTP to this machine: no TLS to prepare, and no proxy that could reach it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        return parts.scheme == "http" and (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False


@contextlib.contextmanager
def _environment_trouble() -> Iterator[None]:
    """What is left to go wrong in building a client are proxies and certificates named by the environment."""
    try:
        yield
    except OSError:
        raise ConfigError(
            "the TLS certificates cannot be loaded", "Check SSL_CERT_FILE and SSL_CERT_DIR."
        ) from None
    except Exception as error:
        if not isinstance(error, ValueError | ImportError) and type(error).__name__ != "InvalidURL":
            raise
        raise ConfigError(
            "the proxy named by the environment cannot be used",
            "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; SOCKS is not supported.",
        ) from None
