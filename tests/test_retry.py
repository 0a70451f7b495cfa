"""Trying again: how long to wait, when to stop, and never after anything of an answer has arrived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.model import Event, Message, Reply, Request, Usage
from gemchat.errors import RequestRefused, Unavailable
from gemchat.retry import Patience, Policy, Retrying, span, wait_before_next, why_not_again

POLICY = Policy()
REQUEST = Request(model="m", system="", messages=(Message(role="user", parts=("hello",)),))
REPLY = Reply(text="Hello.", usage=Usage())
BUSY = Unavailable("busy", "Try again.", passing=True)
seconds = st.floats(0, 1e9)
chances = st.floats(0, 1, exclude_max=True)


class Service:
    """Answers each request as the script says: events, and perhaps a failure to end them."""

    def __init__(self, *script: Sequence[Event | Exception]) -> None:
        self.script = list(script)
        self.asked = 0

    def send(self, request: Request) -> Iterator[Event]:
        self.asked += 1
        for event in self.script.pop(0):
            if isinstance(event, Exception):
                raise event
            yield event


class Watch:
    """A clock that moves only while somebody waits, or when it is wound."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.notes: list[str] = []

    def pause(self, wait: float) -> None:
        self.waits.append(wait)
        self.now += wait

    def patience(self, policy: Policy = POLICY) -> Patience:
        return Patience(
            note=self.notes.append, pause=self.pause, clock=lambda: self.now, draw=lambda: 0.0, policy=policy
        )


def send(watch: Watch, service: Service, policy: Policy = POLICY) -> list[Event]:
    with Retrying(nullcontext(service), watch.patience(policy)) as transport:
        return list(transport.send(REQUEST))


@given(st.integers(1, 10_000), chances)
def test_waits_grow_to_a_limit_and_are_spread(attempt: int, draw: float) -> None:
    full, spread = wait_before_next(POLICY, attempt, None, 0.0), wait_before_next(POLICY, attempt, None, draw)
    assert full == min(POLICY.longest_wait, 2.0 ** min(attempt - 1, 10))
    assert full / 2 <= spread <= full


@given(st.integers(1, 10), seconds, chances)
def test_never_sooner_than_the_service_asks(attempt: int, asked: float, draw: float) -> None:
    assert wait_before_next(POLICY, attempt, asked, draw) >= asked


@given(st.integers(1, 4), seconds | st.none(), st.floats(0, POLICY.deadline))
def test_what_may_be_waited_for(attempt: int, asked: float | None, ends: float) -> None:
    error = Unavailable("busy", passing=True, retry_after=asked)
    assert (why_not_again(POLICY, error, attempt, ends) == "") == ((asked or 0) <= POLICY.longest_retry_after)


def test_failures_that_pass_are_waited_out() -> None:
    watch, service = Watch(), Service([BUSY], [BUSY], ["Hel", "lo.", REPLY])
    assert send(watch, service) == ["Hel", "lo.", REPLY]
    assert watch.waits == [1.0, 2.0]
    assert watch.notes == ["busy; attempt 2 of 5 in 1 s", "busy; attempt 3 of 5 in 2 s"]


def test_after_the_last_attempt_the_failure_is_told() -> None:
    watch, service = Watch(), Service(*[[BUSY]] * 9)
    with pytest.raises(Unavailable) as caught:
        send(watch, service)
    assert (caught.value.message, caught.value.hint) == ("busy", "Gave up after 5 attempts. Try again.")
    assert watch.waits == [1.0, 2.0, 4.0, 8.0]
    assert service.asked == 5


def test_the_service_may_ask_for_more_time() -> None:
    watch, service = Watch(), Service([Unavailable("busy", passing=True, retry_after=33.4)], [REPLY])
    assert send(watch, service) == [REPLY]
    assert watch.waits == [33.4]
    assert watch.notes == ["busy; attempt 2 of 5 in 34 s"]


def test_who_asks_for_too_much_time_is_left_alone_at_once() -> None:
    watch, service = Watch(), Service([Unavailable("busy", passing=True, retry_after=3600)])
    with pytest.raises(Unavailable) as caught:
        send(watch, service)
    assert caught.value.hint == "The service wants 60 min before the next request; gemchat waits 60 s at most."
    assert (watch.waits, watch.notes) == ([], [])


def test_all_attempts_together_have_a_deadline() -> None:
    watch = Watch()

    class Slow(Service):
        def send(self, request: Request) -> Iterator[Event]:
            watch.now += 50
            return super().send(request)

    service = Slow([BUSY], [BUSY], [BUSY], [BUSY])
    with pytest.raises(Unavailable, match="busy") as caught:
        send(watch, service)
    assert caught.value.hint.startswith("Gave up after 3 attempts: another one would begin after 120 s.")
    assert service.asked == 3


@pytest.mark.parametrize(
    "failing",
    [
        ["Hel", BUSY],
        [Unavailable("the connection broke after the request was sent")],
        [RequestRefused("no")],
    ],
)
def test_what_may_have_been_carried_out_is_not_sent_again(failing: list[Event | Exception]) -> None:
    watch, service = Watch(), Service(failing, [REPLY])
    with pytest.raises((Unavailable, RequestRefused)) as caught:
        send(watch, service)
    assert caught.value is failing[-1]
    assert (service.asked, watch.waits) == (1, [])


@pytest.mark.parametrize(
    ("length", "words"),
    [(0.2, "1 s"), (120, "120 s"), (121, "3 min"), (7200, "120 min"), (7201, "3 h"), (1e6, "12 days")],
)
def test_spans_of_time(length: float, words: str) -> None:
    assert span(length) == words
