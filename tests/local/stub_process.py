"""A server process with a mind that needs no model: python -m tests.local.stub_process DIRECTORY SERVES IDLE.

What it is to serve decides how it behaves.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gemchat.core.model import Value
from gemchat.local.belief import Belief
from gemchat.local.mind import Mind, Prompt
from gemchat.local.serve import Place, serve
from tests.replica import ReplicaMind

JOURNAL = "journal.jsonl"


class Heard(Value, frozen=True):
    """A line of the replica's journal: what it was asked, and what it believes after its answer."""

    prompt: Prompt
    belief: Belief


class StubMind:
    name = "stub"

    def answer(self, prompt: Prompt) -> Iterator[str]:
        yield f"process {os.getpid()}"


class CrashingMind:
    """Ends in the middle of its answer, as if the system had killed it."""

    name = "crashing"

    def answer(self, prompt: Prompt) -> Iterator[str]:
        yield "I was "
        os._exit(1)


class JournalingReplica(ReplicaMind):
    """The replica, with what the test reads of it in a file."""

    def __init__(self, journal: Path) -> None:
        super().__init__()
        self._journal = journal

    def answer(self, prompt: Prompt) -> Iterator[str]:
        pieces = super().answer(prompt)
        first = next(pieces)
        with self._journal.open("ab") as journal:
            journal.write(msgspec.json.encode(Heard(prompt=prompt, belief=self.belief)) + b"\n")
        yield first
        yield from pieces


def mind(serves: str, directory: Path) -> Mind:
    if serves == "broken":
        sys.exit("the stub is broken")
    if serves == "endless":
        threading.Event().wait()
    if serves == "replica":
        return JournalingReplica(directory / JOURNAL)
    return CrashingMind() if serves == "crashing" else StubMind()


if __name__ == "__main__":
    directory, serves, idle = sys.argv[1:]
    serve(lambda: mind(serves, Path(directory)), Place(directory=Path(directory)), serves, float(idle))
