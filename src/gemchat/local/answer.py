"""One answer on its way out: asks the mind, keeps the text and its price, turns a mind's failure into a refusal.

Both APIs serve an `Answer`; how it is written down is theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from gemchat.core.model import Usage
from gemchat.local.meter import Meter, tokens
from gemchat.local.mind import Mind, Prompt, Refusal


class Desk:
    """What answers have in common: the mind, the meter, the clock, and the lock around all that changes."""

    def __init__(self, mind: Mind, clock: Callable[[], float]) -> None:
        self.mind = mind
        self.clock = clock
        self.meter = Meter()
        self.lock = threading.Lock()

    def answer(self, prompt: Prompt) -> Answer:
        """Asks the mind. A refusal is raised here, before anything was answered."""
        return Answer(self, prompt)


class Answer:
    """Iterates over the pieces of text, once. `text` and `usage` run along and are final after the last piece.

    An empty piece is a sign of life: it is passed on, so that a client which has hung up is noticed while the mind
    is still at work. Whoever stops iterating stops the mind.
    """

    def __init__(self, desk: Desk, prompt: Prompt) -> None:
        self._desk = desk
        self._prompt = prompt
        self._override: Usage | None = None
        self._pieces = self._guarded(desk.mind)
        self._first = next(self._pieces, None)
        self.text = ""
        with desk.lock:
            self._usage = desk.meter.quote(prompt, desk.clock())

    @property
    def usage(self) -> Usage:
        quoted = self._usage
        running = Usage(input=quoted.input, cached=quoted.cached, output=tokens(len(self.text)))
        return self._override or running

    def read(self) -> str:
        return "".join(self)

    def __iter__(self) -> Iterator[str]:
        with closing(self._pieces):
            if self._first is not None:
                yield self._taken(self._first)
            for piece in self._pieces:
                yield self._taken(piece)
        with self._desk.lock:
            self._usage = self._desk.meter.bill(self._prompt, self.text, self._desk.clock())

    def _taken(self, piece: str) -> str:
        self.text += piece
        return piece

    def _guarded(self, mind: Mind) -> Generator[str, None, None]:
        try:
            for piece in mind.answer(self._prompt):
                if isinstance(piece, Usage):
                    self._override = piece
                else:
                    piece.encode()  # what is no Unicode text cannot be sent
                    yield piece
        except Refusal:
            raise
        except Exception as error:  # a mind is foreign code: whatever it raises is an answer to the client
            raise Refusal(f"The model failed: {type(error).__name__}: {error}", 500, "INTERNAL") from error
