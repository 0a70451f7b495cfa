"""A server that speaks OpenAI's format in place of a model of our own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gemchat.core.model import Usage
from gemchat.local.engine import Call, Say
from gemchat.local.mind import Refusal
from gemchat.local.remote import OpenAiServer

CALL = Call(messages=(Say(role="user", text="hi"),), limit=9, schema={"type": "object"})
WORDS = [
    {"choices": [{"delta": {"role": "assistant", "content": None}}]},
    {"choices": [{"delta": {"content": "Hal"}}]},
    {"choices": [{"delta": {"content": "lo ü"}}]},
]
COUNTED = {
    "choices": [],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}},
}


class OpenAi(ThreadingHTTPServer):
    """Answers with `chunks`, or with `status` if that is not 200."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.chunks: list[Any] = [*WORDS, COUNTED]
        self.status = 200
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: OpenAi

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the inherited name
        """Says nothing."""

    def do_GET(self) -> None:
        self._send({"/v1/models": b'{"data":[{"id":"m1"}]}'}.get(self.path, b"{}"))

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        lines = [
            f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n" for chunk in self.server.chunks
        ]
        self._send("".join([": ping\n\n", *lines, "data: [DONE]\n\n"]).encode())

    def _send(self, data: bytes) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def openai() -> Iterator[OpenAi]:
    with OpenAi() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_text_and_tokens_arrive(openai: OpenAi, suffix: str) -> None:
    engine = OpenAiServer(f"{openai.url}{suffix}")
    assert engine.name == "m1"
    said = list(engine.chat(CALL))
    assert "".join(item for item in said if isinstance(item, str)) == "Hallo ü"
    assert said[-1] == Usage(input=7, cached=5, output=2)
    (body,) = openai.bodies
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m1", 9, True)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_the_counts_of_llama_cpp_come_first(openai: OpenAi) -> None:
    openai.chunks = [*WORDS, {**COUNTED, "timings": {"cache_n": 3, "prompt_n": 4, "predicted_n": 6}}]
    assert list(OpenAiServer(openai.url).chat(CALL))[-1] == Usage(input=7, cached=3, output=6)


@pytest.mark.parametrize("timings", [{"total_ms": 5}, {}, None])
def test_timings_without_counts_are_passed_over(openai: OpenAi, timings: object) -> None:
    openai.chunks = [*WORDS, {**COUNTED, "timings": timings}]
    assert list(OpenAiServer(openai.url).chat(CALL))[-1] == Usage(input=7, cached=5, output=2)


def test_counts_that_are_missing_are_none(openai: OpenAi) -> None:
    openai.chunks = [*WORDS, {"timings": {"prompt_n": 4}}]
    assert list(OpenAiServer(openai.url).chat(CALL))[-1] == Usage(input=4, cached=0, output=0)


@pytest.mark.parametrize(
    "chunk",
    ["nonsense", "[]", "[" * 50_000, '{"error":{"message":"out of memory"}}', '{"error":"no"}'],
    ids=["nonsense", "a list", "nested too deeply", "an error", "an error's text"],
)
def test_what_is_no_answer_is_a_refusal(openai: OpenAi, chunk: str) -> None:
    engine = OpenAiServer(openai.url)
    openai.chunks = [chunk]
    with pytest.raises(Refusal):
        list(engine.chat(CALL))


def test_an_error_and_silence_are_refusals(openai: OpenAi) -> None:
    engine = OpenAiServer(openai.url)
    openai.status = 500
    with pytest.raises(Refusal, match="answers 500"):
        list(engine.chat(CALL))
    for nowhere in ("http://127.0.0.1:1", "ftp://x"):
        with pytest.raises(Refusal):
            OpenAiServer(nowhere)
