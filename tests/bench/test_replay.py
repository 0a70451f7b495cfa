"""What the replay promises, on a short session: the bill, not the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemchat.core.economics import Compaction
from tests.bench.baselines import lower_bound, naive
from tests.bench.bill import Bill
from tests.bench.events import Event, Version, events, from_git, made_up
from tests.bench.replay import replay

VERSIONS = made_up(8)
START, SESSION = VERSIONS[0].files, list(events(VERSIONS))


@pytest.fixture(scope="module")
def bills() -> dict[Compaction, Bill]:
    policies: tuple[Compaction, ...] = ("auto", "always", "never")
    return {name: replay(START, SESSION, compaction=name).bill for name in policies}


def test_the_session_has_every_kind_of_event() -> None:
    assert {event.kind for event in SESSION} == {"ask", "edit", "discarded edit", "hand edit"}


def test_auto_is_as_cheap_as_the_cheaper_policy_and_near_the_bound(bills: dict[Compaction, Bill]) -> None:
    assert bills["auto"].cost <= 1.02 * min(bills["always"].cost, bills["never"].cost)
    assert bills["auto"].cost <= 1.6 * lower_bound(START, SESSION).cost, (
        "so short a session pays for its first turn"
    )


def test_sending_everything_again_is_dear(bills: dict[Compaction, Bill]) -> None:
    again = naive(START, SESSION, whole=True)
    assert again.cost >= 4 * bills["auto"].cost
    assert again.bytes >= 5 * bills["auto"].bytes


def test_both_apis_bill_the_same_tokens(bills: dict[Compaction, Bill]) -> None:
    contents = replay(START, SESSION, compaction="never", backend="contents").bill
    assert contents.usage.input == pytest.approx(bills["never"].usage.input, rel=0.01)
    assert contents.usage.cached == pytest.approx(bills["never"].usage.cached, rel=0.01)
    assert contents.bytes > 2 * bills["never"].bytes


def test_a_history_from_git(tmp_path: Path) -> None:
    import subprocess

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
