"""gemchat's contents backend against Gemini servers that others wrote. By hand: `pytest -m interop tests/interop`.

A server that is not named is skipped. `INTEROP_LLMOCK` and `INTEROP_LITELLM` name the commands of the packages
`llmock` and `litellm[proxy]`, each in an environment of its own; `INTEROP_AIMOCK` the `dist/cli.js` of the npm
package `@copilotkit/aimock`. Last run on 30 November 2026 with llmock 0.2.2, aimock 1.43.0 and LiteLLM 1.108.7.

What differs from the service, and from the server in this package:
- All three serve /v1beta only; the SDK's default is /v1. `GOOGLE_GENAI_API_VERSION=beta` is what their users set.
- None has thought signatures; what comes back to them is ignored.
- llmock fills a schema with made-up strings, so every proposal has the right form and no search text is found. It
  counts words, not tokens.
- aimock ignores the schema: its answers are fixtures, chosen by a piece of the newest message. It counts nothing.
- LiteLLM's mocked model ignores the schema too, so an edit is answered with prose. It needs its own key, and says
  400, not 404, for a model it does not have.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]
NAMED = {name: value for name, value in os.environ.items() if name.startswith("INTEROP_")}
KEY = "sk-interop-0123456789abcdefghij"
START_SECONDS = 300
FIXTURES = [
    {"match": {"userMessage": "again"}, "response": {"content": "aimock answers once more"}},
    {
        "match": {"userMessage": "change it"},
        "response": {"content": json.dumps({"explanation": "Two.", "proposedSource": "x = 2\n"})},
    },
    {"match": {}, "response": {"content": "aimock answers"}},
]
LITELLM = """\
model_list:
  - model_name: mock
    litellm_params: {model: openai/mock, api_key: none, mock_response: LiteLLM answers.}
"""


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Peer:
    """gemchat in a project, with another's server as the service."""

    def __init__(self, url: str, root: Path, state: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capture = capture
        self._environ = {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMCHAT_STATE_DIR": str(state),
            "GEMCHAT_BACKEND": "contents",
            "GEMCHAT_MODEL": "mock",
        }

    def __call__(self, *arguments: str) -> Result:
        self._capture.readouterr()
        code = run(arguments, Surroundings(environ=self._environ, directory=self.root))
        return Result(code, *self._capture.readouterr())


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def peer(
    request: pytest.FixtureRequest, port: int, project_root: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Peer]:  # fmt: skip
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "beta")
    name, prefix = request.param
    command = command_of(name, port, tmp_path)
    log = tmp_path / "server.log"
    environ = {**os.environ, "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    (project_root / "app.py").write_text("x = 1\n")
    with log.open("wb") as output, subprocess.Popen(
        command, cwd=tmp_path, stdout=output, stderr=output, env=environ
    ) as server:  # fmt: skip
        try:
            wait_for(port, server, log)
            yield Peer(f"http://127.0.0.1:{port}{prefix}", project_root, tmp_path / "state", capsys)
        finally:
            server.terminate()


def command_of(name: str, port: int, directory: Path) -> list[str]:
    program = NAMED.get(f"INTEROP_{name.upper()}")
    if program is None:
        pytest.skip(f"INTEROP_{name.upper()} does not say where {name} is")
    if name == "llmock":
        return [program, "serve", "--response-style", "echo", "--port", str(port)]
    if name == "aimock":
        fixtures = directory / "fixtures.json"
        fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
        return ["node", program, "-p", str(port), "-f", str(fixtures)]
    config = directory / "litellm.yaml"
    config.write_text(LITELLM)
    return [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until somebody listens; a server that ends or takes minutes fails the test with its log."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


def only(name: str, prefix: str = "") -> pytest.MarkDecorator:
    return pytest.mark.parametrize("peer", [(name, prefix)], indirect=True, ids=[name])


@only("llmock", "/gemini")
def test_llmock(peer: Peer) -> None:
    first = peer("ask", "what is this?", "app.py")
    assert (first.code, "what is this?" in first.out) == (0, True), first.err
    assert peer("ask", "again?").code == 0
    unfit = peer("edit", "change it", "--format", "edits")
    assert (unfit.code, unfit.out) == (8, "")
    whole = peer("edit", "change it", "--format", "whole")
    assert whole.code == 0
    assert "+mock-proposedSource" in whole.out


@only("aimock")
def test_aimock(peer: Peer) -> None:
    assert peer("ask", "what is this?", "app.py").out == "aimock answers\n"
    assert peer("ask", "again?").out == "aimock answers once more\n"
    assert "+x = 2" in peer("edit", "change it").out
    assert peer("apply").code == 0
    assert (peer.root / "app.py").read_text() == "x = 2\n"
    assert peer("undo").code == 0
    assert (peer.root / "app.py").read_text() == "x = 1\n"


@only("litellm")
def test_litellm(peer: Peer) -> None:
    assert peer("ask", "what is this?", "app.py").out == "LiteLLM answers.\n"
    assert peer("ask", "again?", "--no-stream").out == "LiteLLM answers.\n"
    unfit = peer("edit", "change it")
    assert (unfit.code, unfit.out) == (8, "")
    unknown = peer("ask", "and?", "--model", "another")
    assert (unknown.code, unknown.out) == (6, "")
