"""The server process: `python -m gemchat.local`. Started by gemchat when a command needs it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gemchat.local.choice import Choice
from gemchat.local.engine import Engine
from gemchat.local.llama import LlamaMind
from gemchat.local.mind import Mind, Refusal
from gemchat.local.process import identity
from gemchat.local.serve import IDLE_SECONDS, Place, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gemchat.local", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="where the server says how to reach it")
    parser.add_argument("--model", help="a GGUF file")
    parser.add_argument("--url", help="a server that speaks OpenAI's chat completions")
    parser.add_argument("--window", type=int, required=True, help="tokens of question and answer together")
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS, help="seconds without a question to live on")
    given = parser.parse_args()
    chosen = Choice(path=given.model, url=given.url, window=given.window)
    try:
        serve(lambda: _mind(chosen), Place(directory=given.directory), identity(chosen), given.idle)
    except Refusal as refusal:
        sys.exit(refusal.message)


def _mind(chosen: Choice) -> Mind:
    return LlamaMind(_engine(chosen))


def _engine(chosen: Choice) -> Engine:
    if chosen.url:
        from gemchat.local.remote import OpenAiServer

        return OpenAiServer(chosen.url, chosen.window)
    from gemchat.local.llamacpp import LlamaCpp

    path = Path(chosen.path or "")
    return LlamaCpp(path, path.stem, chosen.window)


if __name__ == "__main__":
    main()
