"""A connection that is kept open over turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gemchat.connection import KeptOpen
from gemchat.core.model import Reply, Request, Transport, Usage
from gemchat.errors import MissingKey, Unavailable


class Quiet:
    def send(self, request: Request) -> Iterator[str | Reply]:
        yield Reply(text="", usage=Usage())


class Opened:
    """Counts what is opened and closed; the first ones fail if told so."""

    def __init__(self, failures: int = 0) -> None:
        self.opened = self.closed = 0
        self._failures = failures

    @contextmanager
    def __call__(self) -> Iterator[Transport]:
        self.opened += 1
        if self.opened <= self._failures:
            raise MissingKey("no key")
        yield Quiet()
        self.closed += 1


def test_turns_share_it() -> None:
    opened = Opened()
    kept = KeptOpen(opened)
    with kept as first:
        pass
    with kept as second:
        assert second is first
    assert (opened.opened, opened.closed) == (1, 0)
    kept.close()
    kept.close()
    assert (opened.opened, opened.closed) == (1, 1)


def test_it_is_there_before_the_first_turn() -> None:
    opened = Opened()
    kept = KeptOpen(opened)
    kept.open_ahead()
    with kept:
        assert opened.opened == 1
    kept.close()
    assert opened.closed == 1


def test_after_an_error_there_is_a_new_one() -> None:
    opened = Opened()
    kept = KeptOpen(opened)
    with pytest.raises(Unavailable), kept as first:
        raise Unavailable("gone")
    with kept as second:
        assert second is not first
    assert opened.opened == 2


def test_what_fails_ahead_is_told_by_the_first_turn() -> None:
    opened = Opened(failures=2)
    kept = KeptOpen(opened)
    kept.open_ahead()
    with pytest.raises(MissingKey), kept:
        pass
    with kept:
        assert opened.opened == 3


def test_closing_waits_for_what_is_being_opened() -> None:
    opened = Opened()
    kept = KeptOpen(opened)
    kept.open_ahead()
    kept.close()
    assert (opened.opened, opened.closed) == (1, 1)
