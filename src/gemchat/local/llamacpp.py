"""The engine inside this process: llama.cpp through xllamacpp, on a GGUF file.

Loading takes seconds and gigabytes, so it happens where an engine is made and nowhere else.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from gemchat.core.model import Usage
from gemchat.local.engine import WINDOW, Call, as_openai, piece_of, usage_of
from gemchat.local.mind import Refusal

_SIGN_OF_LIFE_SECONDS = 1.0
_PROMPT_CACHE_MIB = 512
_DRAFT_AFTER = 8  # so many tokens that stood before in the same order are taken as a quotation


class LlamaCpp:
    """Drafts come from the prompt itself: a file that is written once more goes out in long runs."""

    def __init__(self, path: Path, name: str, window: int = WINDOW) -> None:
        self.name = name
        self.window = window
        self._server = _load(path, window)

    def chat(self, call: Call) -> Generator[str | Usage, None, None]:
        text, used = "", Usage()
        for chunk in _chunks(self._server.handle_chat_completions, as_openai(call) | {"timings_per_token": True}):
            piece = piece_of(chunk)
            text += piece
            used = usage_of(chunk) or used
            yield piece
            if piece and call.enough is not None and call.enough(text):
                break
        yield used


def _load(path: Path, window: int) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = window
    params.n_parallel = 1
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    params.speculative.ngram_simple.size_n = _DRAFT_AFTER
    params.api_keys = [secrets.token_urlsafe(32)]  # it also listens on a port of its own; nobody gets the key
    params.verbosity = 0
    return xllamacpp.Server(params)


def _chunks(complete: Callable[..., object], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What llama.cpp calls back with, an empty chunk where it is silent for long."""
    queue: SimpleQueue[dict[str, Any] | BaseException | None] = SimpleQueue()
    stopped = threading.Event()

    def take(chunk: dict[str, Any]) -> bool:
        queue.put(chunk)
        return stopped.is_set()

    def run() -> None:
        try:
            complete(body, take)
            queue.put(None)
        except BaseException as error:  # noqa: BLE001  goes on in the thread that asked
            queue.put(error)

    thread = threading.Thread(target=run, name="gemchat-llama", daemon=True)
    thread.start()
    try:
        while (item := _next(queue)) is not None:
            yield _checked(item)
    finally:
        stopped.set()
        thread.join()


def _next(queue: SimpleQueue[Any]) -> Any:
    try:
        return queue.get(timeout=_SIGN_OF_LIFE_SECONDS)
    except Empty:
        return {}


def _checked(item: dict[str, Any] | BaseException) -> dict[str, Any]:
    if isinstance(item, BaseException):
        raise item
    if error := item.get("error"):
        raise Refusal(f"The local model refuses: {error.get('message', error)}")
    return item
