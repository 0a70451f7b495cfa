"""A server process with a mind that needs no model: python -m tests.local.stub_process DIRECTORY SERVES IDLE."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gemchat.local.mind import Prompt
from gemchat.local.serve import Place, serve


class StubMind:
    name = "stub"

    def answer(self, prompt: Prompt) -> Iterator[str]:
        yield f"process {os.getpid()}"


if __name__ == "__main__":
    directory, serves, idle = sys.argv[1:]
    if serves == "broken":
        sys.exit("the stub is broken")
    serve(StubMind, Place(directory=Path(directory)), serves, float(idle))
