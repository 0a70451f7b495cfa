"""A project directory, a loopback Gemini with a replica in it, and gemchat called as a user calls it."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
from gemchat.local.server import Exchange, LoopbackServer
from gemchat.watching import SavedFiles
from tests import schemas
from tests.replica import ReplicaMind


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def nothing_is_saved(paths: Sequence[Path]) -> Generator[Collection[str], None, None]:
    """What `watch` hears of, until it ends."""
    yield ()


@dataclass
class Gemchat:
    """Calls the command line inside this process; every call reads and writes the same state on disk."""

    root: Path
    environ: dict[str, str]
    mind: ReplicaMind
    server: LoopbackServer
    capture: pytest.CaptureFixture[str]
    requests: list[Exchange] = field(default_factory=list)
    has_local: bool = False
    slept: list[float] = field(default_factory=list)
    saved_files: SavedFiles = nothing_is_saved
    now: float = 1_800_000_000.0

    def __call__(self, *arguments: str, directory: Path | None = None) -> Result:
        here = Surroundings(
            environ=self.environ,
            directory=directory or self.root,
            clock=lambda: self.now,
            has_local=lambda _: self.has_local,
            sleep=self.slept.append,
            draw=lambda: 0.0,
            saved_files=self.saved_files,
        )
        self.capture.readouterr()
        code = run(arguments, here)
        result = Result(code, *self.capture.readouterr())
        schemas.check(arguments, *result)
        return result

    def propose(self, *pairs: tuple[str, str], explanation: str = "because", path: str | None = None) -> None:
        """The next reply of the model: these edits."""
        named = {} if path is None else {"path": path}
        edits = [{**named, "search": search, "replace": text} for search, text in pairs]
        self.mind.replies.append(json.dumps({"explanation": explanation, "edits": edits}))

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file


@pytest.fixture
def gemchat(project_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Gemchat]:
    mind = ReplicaMind()
    requests: list[Exchange] = []
    with LoopbackServer(mind, on_request=requests.append) as server:
        environ = {
            "GEMINI_API_KEY": "test-key",
            "GOOGLE_GEMINI_BASE_URL": server.url,
            "GEMCHAT_STATE_DIR": str(tmp_path / "state"),
            "XDG_RUNTIME_DIR": str(tmp_path),
        }
        yield Gemchat(project_root, environ, mind, server, capsys, requests)


@pytest.fixture
def connections(gemchat: Gemchat) -> Iterator[list[threading.Thread]]:
    """For each request the connection it came over: the server has a thread for each."""
    seen: list[threading.Thread] = []

    def note(_: Exchange) -> None:
        seen.append(threading.current_thread())

    with LoopbackServer(gemchat.mind, on_request=note) as server:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = server.url
        yield seen
