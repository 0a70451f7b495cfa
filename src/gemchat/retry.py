"""Sends a request again when that may help and can do no harm: how often, how long to wait, and when not to.

Only failures marked as passing are met with another attempt, and only while nothing of an answer has arrived; so
no answer is ever received twice. Waiting is said through `note`, and what waits, counts or draws lots is an
argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from gemchat.core.model import Event, Request, Transport
from gemchat.errors import Unavailable

T = TypeVar("T")


class Policy(NamedTuple):
    """`attempts` counts the first one, the rest are seconds. No wait ends later than `deadline` from the start."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 20.0
    longest_retry_after: float = 60.0
    deadline: float = 120.0


def wait_before_next(policy: Policy, attempt: int, retry_after: float | None, draw: float) -> float:
    """Seconds to wait after the failure of attempt number `attempt`, the first being 1.

    Twice as long each time, of which up to half is left to chance, `draw` being in [0, 1): many clients that
    failed together must not come back together. Never less than the service asks for.
    """
    longest = min(policy.longest_wait, policy.first_wait * 2.0 ** min(attempt - 1, 30))
    return max(longest * (1 - draw / 2), retry_after or 0.0)


def why_not_again(policy: Policy, error: Unavailable, attempt: int, ends: float) -> str:
    """Why no further attempt is made, or the empty string. `ends` is when the wait for it would be over."""
    wanted = error.retry_after or 0.0
    if wanted > policy.longest_retry_after:
        return (
            f"The service wants {span(wanted)} before the next request; "
            f"gemchat waits {span(policy.longest_retry_after)} at most."
        )
    if attempt >= policy.attempts:
        return f"Gave up after {attempt} attempts."
    if ends > policy.deadline:
        return f"Gave up after {attempt} attempts: another one would begin after {span(policy.deadline)}."
    return ""


def span(seconds: float) -> str:
    """A length of time in the largest unit that tells it well, rounded up."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size)} {unit}"
    return f"{math.ceil(seconds)} s"


@dataclass(frozen=True)
class Patience:
    """`pause` waits, in seconds; `clock` counts them; `draw` gives a random number in [0, 1)."""

    note: Callable[[str], None]
    pause: Callable[[float], None]
    clock: Callable[[], float]
    draw: Callable[[], float]
    policy: Policy = field(default=Policy())

    def tried(self, attempt: Callable[[], Iterator[T]]) -> Iterator[T]:
        """What the first attempt that gets anywhere yields. Raises the last failure, its hint says why no more."""
        begun, number = self.clock(), 1
        while True:
            arrived = False
            try:
                for item in attempt():
                    arrived = True
                    yield item
            except Unavailable as error:
                if arrived or not error.passing:
                    raise
                wait = self._wait(error, number, self.clock() - begun)
                self.note(f"{error.message}; attempt {number + 1} of {self.policy.attempts} in {span(wait)}")
            else:
                return
            self.pause(wait)
            number += 1

    def _wait(self, error: Unavailable, number: int, elapsed: float) -> float:
        wait = wait_before_next(self.policy, number, error.retry_after, self.draw())
        if reason := why_not_again(self.policy, error, number, elapsed + wait):
            raise Unavailable(error.message, f"{reason} {error.hint}".strip()) from None
        return wait


@dataclass
class Retrying:
    """A transport over another one, which it opens and closes."""

    inner: AbstractContextManager[Transport]
    patience: Patience
    _transport: Transport = field(init=False, repr=False)

    def send(self, request: Request) -> Iterator[Event]:
        return self.patience.tried(lambda: self._transport.send(request))

    def __enter__(self) -> Self:
        self._transport = self.inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inner.__exit__(kind, error, trace)
