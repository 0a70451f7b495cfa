"""What the replay promises, on a short session: the bill, not the time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gemchat.core.economics import Compaction
from tests.bench.baselines import lower_bound, naive
from tests.bench.bill import Bill
from tests.bench.events import Event, Version, events, from_git, made_up
from tests.bench.replay import POLICIES, replay

ROOT = Path(__file__).parent.parent.parent
OWN = "4cce19f46e45fd94c93f5ca4d025d11f450f3511"  # fixed, for the figures change with every commit
VERSIONS = made_up()
START, SESSION = VERSIONS[0].files, list(events(VERSIONS))
LEAST = lower_bound(START, SESSION)


@pytest.fixture(scope="module")
def bills() -> dict[Compaction, Bill]:
    policies: tuple[Compaction, ...] = ("auto", "always", "never")
    return {name: replay(START, SESSION, compaction=name).bill for name in policies}


def test_the_session_has_every_kind_of_event() -> None:
    assert {event.kind for event in SESSION} == {"ask", "edit", "discarded edit", "hand edit"}


def test_auto_is_as_cheap_as_the_cheaper_policy_and_near_the_bound(bills: dict[Compaction, Bill]) -> None:
    assert bills["auto"].cost <= 1.02 * min(bills["always"].cost, bills["never"].cost)
    assert bills["auto"].cost <= 1.25 * LEAST.cost


def test_sending_everything_again_is_dear(bills: dict[Compaction, Bill]) -> None:
    again = naive(START, SESSION, whole=True)
    assert again.cost >= 4 * bills["auto"].cost
    assert again.bytes >= 10 * bills["auto"].bytes


def test_the_same_holds_for_a_real_history() -> None:
    """The newest 40 changes of this project's README, at one of its commits."""
    if subprocess.call(["git", "-C", str(ROOT), "cat-file", "-e", OWN], stderr=subprocess.DEVNULL):
        pytest.skip("needs this repository's history")
    versions = from_git(ROOT, "README.md", 40, until=OWN)
    if len(versions) < 40:
        pytest.skip("needs all of this repository's history")
    start, session = versions[0].files, list(events(versions))
    auto, always, never = (replay(start, session, compaction=name).bill for name in POLICIES)
    assert auto.cost <= 1.02 * min(always.cost, never.cost)
    assert auto.cost <= 1.25 * lower_bound(start, session).cost
    again = naive(start, session, whole=True)
    assert again.cost >= 4 * auto.cost
    assert again.bytes >= 10 * auto.bytes


def test_both_apis_bill_the_same_tokens(bills: dict[Compaction, Bill]) -> None:
    contents = replay(START, SESSION, compaction="never", backend="contents").bill
    assert contents.usage.input == pytest.approx(bills["never"].usage.input, rel=0.01)
    assert contents.usage.cached == pytest.approx(bills["never"].usage.cached, rel=0.01)
    assert contents.bytes > 2 * bills["never"].bytes


def test_in_a_long_session_forgetting_pays() -> None:
    versions = made_up(40, seed=4)
    session = list(events(versions))
    auto, never = (replay(versions[0].files, session, compaction=name).bill for name in ("auto", "never"))
    assert auto.cost <= 0.92 * never.cost


def test_what_must_be_sent_once() -> None:
    """Of 40 characters and two words that are changed by hand that much is fresh, and all else is cached."""
    before = "one two three four\nfive six seven eight\n"
    after = before.replace("two", "TWO").replace("seven", "7")
    ask, edit = Event("ask", 1.0, "why?", answer="so"), Event("edit", 1.0, "do", {"a": after}, "done")
    hand = Event("hand edit", 1.0, files={"a": after})

    def fresh(*session: Event, known: bool = False) -> int:
        used = lower_bound({"a": before}, session, known=known).usage
        return used.input - used.cached

    assert fresh(ask) == 10 + 1, "the text and the question"
    assert fresh(ask, ask) == 10 + 1 + 1
    assert fresh(ask, hand, ask) == 10 + 1 + 1 + 1, "TWO and 7 are a token"
    assert fresh(ask, edit, ask) == 10 + 1 + 1 + 1, "what the model proposed it knows"
    assert fresh(ask, edit._replace(kind="discarded edit"), hand, ask) == 10 + 1 + 1 + 1
    assert fresh(ask, hand, ask, known=True) == 2


def test_remembering_is_read_from_the_cache() -> None:
    ask = Event("ask", 1.0, "why?", answer="so it is")
    once, again = (lower_bound({"a": "x"}, [ask, ask], remembering=said).usage for said in (False, True))
    assert (again.input - once.input, again.cached - once.cached) == (3, 3)


def test_a_history_from_git(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    for number, text in enumerate((b"one\n", b"\xff", b"two\n")):
        (tmp_path / "a.txt").write_bytes(text)
        git("add", ".")
        git("commit", "-qm", f"change {number}")
    versions = from_git(tmp_path, "a.txt", 10)
    assert versions == [Version("change 0", {"a.txt": "one\n"}), Version("change 2", {"a.txt": "two\n"})]
    (only,) = events(versions)
    assert only == Event("edit", only.pause, "change 2", {"a.txt": "two\n"}, only.answer)
