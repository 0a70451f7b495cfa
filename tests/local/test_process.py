"""The server process: shared, replaced when it is gone or not the one meant, and gone when nobody needs it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gemchat.errors import Unavailable
from gemchat.local import process
from gemchat.local.mind import Prompt
from gemchat.local.serve import Place, Record, Turnstile

pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
ROOT = Path(__file__).parent.parent.parent
PROMPT = Prompt(model="m", system="", messages=())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    place = Place(directory=tmp_path / "one")
    yield place
    process.stop(place)


def ensure(place: Place, serves: str = "stub", idle: float = 60) -> Record:
    start = [sys.executable, "-m", "tests.local.stub_process", str(place.directory), serves, str(idle)]
    return process.ensure(place, serves, start)


def eventually(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.05)


def test_one_server_for_all_and_only_its_owner_can_read_the_token(place: Place) -> None:
    first = ensure(place)
    assert ensure(place) == first
    assert stat.S_IMODE(place.record.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700


def test_two_at_once_end_up_with_one_server(place: Place) -> None:
    found: list[Record] = []
    threads = [threading.Thread(target=lambda: found.append(ensure(place))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] == found[1]


def test_a_killed_server_is_replaced(place: Place) -> None:
    first = ensure(place)
    os.kill(first.pid, signal.SIGKILL)
    second = ensure(place)
    assert second.pid != first.pid
    assert process.running(place) == second


@pytest.mark.parametrize("wrong", [{"token": "wrong"}, {"url": "http://127.0.0.1:1"}])
def test_a_record_that_is_not_true_is_replaced(place: Place, wrong: dict[str, str]) -> None:
    first = ensure(place)
    place.record.write_bytes(msgspec.json.encode(replace(first, **wrong)))
    assert process.running(place) is None
    assert ensure(place).pid != first.pid


def test_a_record_of_a_process_that_is_not_ours_harms_nobody(place: Place) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    place.directory.mkdir(mode=0o700)
    stale = Record(pid=bystander.pid, url="http://127.0.0.1:1", token="t", serves="stub", name="stub")
    place.record.write_bytes(msgspec.json.encode(stale))
    assert ensure(place).pid != bystander.pid
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_another_model_needs_another_server(place: Place) -> None:
    first = ensure(place)
    second = ensure(place, "another")
    assert second.serves == "another"
    assert second.pid != first.pid


def test_two_users_have_a_server_each(place: Place, tmp_path: Path) -> None:
    other = Place(directory=tmp_path / "two")
    one, two = ensure(place), ensure(other)
    assert one.url != two.url
    assert one.token != two.token
    assert process.stop(other)
    assert process.running(place) == one


def test_it_leaves_when_nobody_has_asked_for_a_while(place: Place) -> None:
    ensure(place, idle=0.2)
    eventually(lambda: not place.record.exists())


def test_stop(place: Place) -> None:
    assert not process.stop(place)
    ensure(place)
    assert process.stop(place)
    assert process.running(place) is None


def test_a_server_that_does_not_start_says_why(place: Place) -> None:
    with pytest.raises(Unavailable, match="the stub is broken"):
        ensure(place, "broken")


class SlowMind:
    name = "slow"

    def __init__(self) -> None:
        self.gate = threading.Event()

    def answer(self, prompt: Prompt) -> Iterator[str]:
        yield "begun"
        self.gate.wait()
        yield "done"


def test_others_queue() -> None:
    mind = SlowMind()
    turnstile = Turnstile(mind)
    first, second = turnstile.answer(PROMPT), turnstile.answer(PROMPT)
    assert next(first) == "begun"
    assert next(second) == ""
    assert turnstile.idle == 0
    mind.gate.set()
    assert list(first) == ["done"]
    assert [piece for piece in second if piece] == ["begun", "done"]
