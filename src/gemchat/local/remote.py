"""The engine elsewhere: any server that speaks OpenAI's chat completions, such as llama.cpp, Ollama or LM Studio.

The server's own word counts for tokens. It is asked for its first model unless it has none to name.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from gemchat.core.contents import to_json
from gemchat.core.model import Usage
from gemchat.local.engine import WINDOW, Call, as_openai, piece_of, usage_of
from gemchat.local.mind import Refusal

_CONNECT_SECONDS = 15.0
_SILENCE_SECONDS = 600.0


class OpenAiServer:
    def __init__(self, url: str, window: int = WINDOW) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refusal(f"{url} is not an http or https address.")
        self._host, self._port = parts.hostname, parts.port
        self._secure = parts.scheme == "https"
        self._prefix = f"{parts.path.rstrip('/').removesuffix('/v1')}/v1"
        self.window = window
        self.name = self._first_model()

    def chat(self, call: Call) -> Generator[str | Usage, None, None]:
        """A server tells what it used at the end only, so it is let finish what is `enough` already."""
        used = Usage()
        with closing(self._connection(_SILENCE_SECONDS)) as connection:
            body = to_json({"model": self.name, **as_openai(call)}).encode()
            for chunk in _events(_answer(connection, "POST", f"{self._prefix}/chat/completions", body)):
                used = usage_of(chunk) or used
                yield piece_of(chunk)
        yield used

    def _first_model(self) -> str:
        with closing(self._connection(_CONNECT_SECONDS)) as connection:
            listed = _loaded(_answer(connection, "GET", f"{self._prefix}/models").read())
        models = listed.get("data") or []
        return str(models[0].get("id", "default")) if models else "default"

    def _connection(self, timeout: float) -> HTTPConnection:
        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, self._port, timeout=timeout)


def _answer(connection: HTTPConnection, method: str, path: str, body: bytes | None = None) -> HTTPResponse:
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
    except (OSError, HTTPException) as error:
        raise Refusal(f"The model's server does not answer: {error}", 503, "UNAVAILABLE") from error
    if response.status != 200:
        said = response.read(2000).decode("utf-8", "replace")
        raise Refusal(f"The model's server answers {response.status}: {said}", 503, "UNAVAILABLE")
    return response


def _events(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in response:
        data = line.strip().removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        if line.startswith(b"data:"):
            yield _loaded(data)


def _loaded(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refusal("The model's server sends what is no JSON object.", 503, "UNAVAILABLE")
    if error := value.get("error"):
        raise Refusal(
            f"The model's server refuses: {error.get('message', error)}" if isinstance(error, dict) else str(error)
        )
    return value
