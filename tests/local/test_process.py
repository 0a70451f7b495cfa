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

from gemchat.core.model import Message, Request
from gemchat.errors import ConfigError, Unavailable
from gemchat.gemini import connect
from gemchat.local import process
from gemchat.local.mind import Prompt
from gemchat.local.serve import Place, Record, Turnstile

pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
ROOT = Path(__file__).parent.parent.parent
REQUEST = Request(model="m", system="", messages=(Message(role="user", parts=("x",)),))
PROMPT = Prompt(model="m", system="", messages=())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    place = Place(directory=tmp_path / "one")
    yield place
    process.stop(place)


def started(place: Place, serves: str, idle: float) -> list[str]:
    return [sys.executable, "-m", "tests.local.stub_process", str(place.directory), serves, str(idle)]


def ensure(
    place: Place, serves: str = "stub", idle: float = 60, waiting: Callable[[], None] = lambda: None
) -> Record:
    return process.ensure(place, serves, started(place, serves, idle), waiting)


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


def test_a_server_that_dies_while_it_answers_is_an_error_and_the_next_question_starts_another(
    place: Place,
) -> None:
    first = ensure(place, "crashing")
    said: list[object] = []
    with (
        connect("interactions", key=first.token, base_url=first.url) as transport,
        pytest.raises(Unavailable),
    ):
        said.extend(transport.send(REQUEST))
    assert process.running(place) is None
    assert ensure(place).pid != first.pid


def test_a_start_that_is_given_up_leaves_nothing_behind(place: Place) -> None:
    def give_up() -> None:
        if place.read() is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(place, "endless", waiting=give_up)
    assert not process.stop(place)
    assert ensure(place).serves == "stub"


def left_loading(place: Place) -> subprocess.Popen[bytes]:
    """A server whose starter was killed while it loads."""
    loading = subprocess.Popen(started(place, "endless", 60))
    eventually(lambda: place.read() is not None)
    return loading


def test_a_server_that_was_left_loading_is_stopped(place: Place) -> None:
    loading = left_loading(place)
    assert process.running(place) is None
    assert process.stop(place)
    assert loading.wait() != 0


def test_a_server_that_was_left_loading_does_not_keep_another_from_starting(place: Place) -> None:
    loading = left_loading(place)
    assert ensure(place).pid != loading.pid
    assert loading.wait() != 0


def test_a_directory_that_others_can_write_to_is_not_believed(place: Place) -> None:
    ensure(place)
    place.directory.chmod(0o777)
    assert place.read() is None
    with pytest.raises(ConfigError, match="others can write"):
        ensure(place)
    place.directory.chmod(0o700)
    assert ensure(place).serves == "stub"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_record_in_the_directory_of_another_user_is_not_believed(place: Place) -> None:
    ensure(place)
    os.chown(place.directory, 12345, 12345)
    assert process.running(place) is None
    os.chown(place.directory, 0, 0)


def test_the_server_gets_no_keys(place: Place) -> None:
    told = {**os.environ, "GEMINI_API_KEY": "secret", "GOOGLE_API_KEY": "secret"}
    record = process.ensure(place, "stub", started(place, "stub", 60), environ=told)
    status = Path(f"/proc/{record.pid}/environ")
    if not status.exists():
        pytest.skip("the system does not tell what a process was given")
    assert b"secret" not in status.read_bytes()


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
