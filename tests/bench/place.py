"""A user's home with a project in it, and a loopback service: where the measured commands run."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gemchat.core.model import Usage
from gemchat.local.mind import Prompt
from gemchat.local.server import Exchange, LoopbackServer
from tests.bench.timing import GEMCHAT, Job, clean_environ, cpu

SOURCE = "".join(f"def step_{number}(value):\n    return value + {number}\n\n\n" for number in range(60))


class Mind:
    """Answers a question in a few words, and an edit with the change of one line."""

    name = "bench"

    def __init__(self) -> None:
        self.pieces: tuple[str, ...] = ("It adds numbers ", "to a value.\n")

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        if prompt.schema is None:
            yield from self.pieces
        else:
            edit = {"search": "return value + 7\n", "replace": "return value + 77\n"}
            yield json.dumps({"explanation": "As asked.", "edits": [edit]})


class Place(NamedTuple):
    home: Path
    root: Path
    environ: dict[str, str]
    mind: Mind
    asked: list[float]  # when requests arrived at the service, by the monotonic clock

    def job(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> Job:
        return Job((*GEMCHAT, *arguments), self.environ, self.root, codes=codes)

    def run(self, *arguments: str) -> None:
        cpu(self.job(*arguments))

    def kept(self) -> Path:
        """A copy of the home as it is now, for `restore`."""
        copy = Path(tempfile.mkdtemp(dir=self.home.parent), "home")
        shutil.copytree(self.home, copy)
        return copy

    def restore(self, copy: Path) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(copy, self.home)


@contextmanager
def place() -> Iterator[Place]:
    """The project is a repository with one module in it; nothing was asked yet."""
    mind, asked = Mind(), list[float]()

    def heard(_: Exchange) -> None:
        asked.append(time.monotonic())

    with tempfile.TemporaryDirectory() as directory, LoopbackServer(mind, on_request=heard) as server:
        home = Path(directory, "home")
        root = home / "project"
        root.mkdir(parents=True)
        (root / "module.py").write_text(SOURCE)
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        environ = clean_environ(
            HOME=str(home), PWD=str(root), GEMINI_API_KEY="bench-key", GOOGLE_GEMINI_BASE_URL=server.url
        )
        yield Place(home, root, environ, mind, asked)
