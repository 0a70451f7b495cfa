"""The client: the key's form, whom it talks to, what the environment cannot make it do, how little it costs."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from gemchat import __version__
from gemchat.core.model import Backend
from gemchat.errors import ConfigError, MissingKey, Unavailable
from gemchat.gemini import connect
from gemchat.gemini.client import DISARMED, build_client, check_base_url, check_key, collector_paused
from gemchat.gemini.generate import ContentsTransport

from .conftest import Open
from .loopback import Answer, Service, as_events
from .script import KEY, REQUEST, chunks, collect, events, failure

BACKENDS: tuple[Backend, ...] = ("interactions", "contents")


def good(backend: Backend) -> Answer:
    return as_events(events("ok") if backend == "interactions" else chunks("ok"))


@pytest.mark.parametrize("key", ["", " ", "\n\t"])
def test_no_key(key: str) -> None:
    with pytest.raises(MissingKey) as caught:
        check_key(key)
    assert "aistudio.google.com" in caught.value.hint


@pytest.mark.parametrize("key", ["abc def", "abc\ndef", "abc\x00", "abcdéf", "abc\u200bdef", "auth_tokens/abc"])
def test_a_key_that_cannot_be_one_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_key(key)
    assert "abc" not in caught.value.message + caught.value.hint


def test_blanks_around_a_key_do_not_matter() -> None:
    assert check_key(f" {KEY}\n") == KEY


@pytest.mark.parametrize(
    "url", ["ftp://x", "localhost:80", "http://", "http://[::1", "http://x:y", "https://a\nb"]
)
def test_a_base_url_must_be_one(url: str) -> None:
    with pytest.raises(ConfigError):
        check_base_url(url)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://example.com", True),
        ("http://localhost:80", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:80/x", True),
        ("http://example.com", False),
        ("HTTP://example.com", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://localhost@example.com", False),
        ("http://0.0.0.0", False),
        ("http://192.168.0.1", False),
    ],
)
def test_without_tls_only_this_machine_is_trusted(url: str, safe: bool) -> None:
    if safe:
        assert check_base_url(url) == url
    else:
        with pytest.raises(ConfigError, match="plain http"):
            check_base_url(url)
    assert check_base_url(url, insecure=True) == url


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_request_carries_the_key_and_gemchats_name(service: Service, backend: Backend) -> None:
    service.enqueue(good(backend))
    with connect(backend, key=f"{KEY}\n", base_url=service.url) as transport:
        assert collect(transport, REQUEST)[1].text == "ok"
        assert KEY not in repr(transport)
    headers = {name.lower(): text for name, text in service.seen[0].headers.items()}
    assert headers["x-goog-api-key"] == KEY
    assert headers["user-agent"].endswith(f"gemchat/{__version__}")
    assert headers["user-agent"].count("gemchat/") == 1


def test_a_path_in_the_base_url_is_kept(service: Service) -> None:
    service.enqueue(good("interactions"))
    with connect("interactions", key=KEY, base_url=f"{service.url}/gate/") as transport:
        collect(transport, REQUEST)
    assert service.seen[0].path == "/gate/v1/interactions"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_environment_cannot_take_over_the_client(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backend: Backend
) -> None:
    hostile = dict.fromkeys(DISARMED, "1") | {
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "1",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_API_KEY": "other",
        "GEMINI_API_KEY": "another",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "socks5://127.0.0.1:9",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    service.enqueue(good(backend))
    with connect(backend, key=KEY, base_url=service.url) as transport:
        collect(transport, REQUEST)
    assert {name.lower(): text for name, text in service.seen[0].headers.items()}["x-goog-api-key"] == KEY
    assert service.seen[0].path.startswith(("/v1/interactions", "/v1/models/"))
    assert not [record for record in caplog.records if record.name.startswith("google")]
    assert not [name for name in DISARMED if name in os.environ]


def test_without_a_base_url_it_is_googles_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    client: Any = build_client(KEY)
    assert client._api_client._http_options.base_url.startswith("https://generativelanguage.googleapis.com")
    client.close()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:9", "proxy"),
        ("HTTPS_PROXY", "http://[::1", "proxy"),
        ("SSL_CERT_FILE", "/no/such/file", "certificates"),
    ],
)
def test_what_is_wrong_with_the_environment_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        build_client(KEY)
    assert words in caught.value.message


def test_tls_is_verified_and_loopback_needs_none() -> None:
    remote: Any = build_client(KEY)
    local: Any = build_client(KEY, "http://localhost:9")
    contexts = [client._api_client._async_httpx_client_args["verify"] for client in (remote, local)]
    assert [context.check_hostname for context in contexts] == [True, True]
    assert contexts[1].get_ca_certs() == []
    remote.close()
    local.close()


@pytest.mark.timeout(30)
def test_connecting_is_waited_for_less_long_than_answering() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        client = build_client(
            KEY, f"http://127.0.0.1:{full.getsockname()[1]}", connect_timeout=0.2, idle_timeout=60
        )
        with ContentsTransport(client, KEY) as transport:
            error = failure(transport, REQUEST)[1]
        for one in waiting:
            one.close()
    assert type(error) is Unavailable
    assert "in time" in error.message


def test_a_slow_but_living_stream_is_not_cut_off(service: Service, open_transport: Open) -> None:
    service.enqueue(replace(as_events(events(*"abcdef")), pause=0.1))
    assert collect(open_transport("interactions", idle_timeout=0.4), REQUEST)[1].text == "abcdef"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool) -> None:
    was = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        with suppress(RuntimeError), collector_paused():
            assert not gc.isenabled()
            raise RuntimeError
        assert gc.isenabled() is enabled
    finally:
        gc.enable() if was else gc.disable()


def test_importing_the_package_does_not_import_the_sdk() -> None:
    code = "import sys, gemchat.gemini; print([name for name in sys.modules if name.startswith('google')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
