"""Brings up the local model's server and says on stderr what takes so long.

What it says are notes in order: joining the parts, which happens once, and loading, once per server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gemchat.local import process
from gemchat.local.choice import Choice, ready
from gemchat.local.serve import Place, Record

Note = Callable[[str], None]

_STEPS = 10


def local_server(chosen: Choice, place: Place, environ: Mapping[str, str], note: Note) -> Record:
    """The user's server of this model, started if it does not run."""
    loadable = ready(chosen, environ, _Steps(note))
    return process.ensure(
        place,
        process.identity(loadable),
        process.command(loadable, place),
        _Once(note, chosen.title),
        environ,
    )


class _Steps:
    """Progress in tenths."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._told = -1

    def __call__(self, done: int, size: int) -> None:
        step = done * _STEPS // size
        if step > self._told:
            self._told = step
            self._note(f"joining the local model, this once: {step * 100 // _STEPS} % of {size / 1e9:.1f} GB")


class _Once:
    """Waiting is worth one line."""

    def __init__(self, note: Note, title: str) -> None:
        self._note = note
        self._title = title
        self._told = False

    def __call__(self) -> None:
        if not self._told:
            self._told = True
            self._note(f"loading {self._title} …")
