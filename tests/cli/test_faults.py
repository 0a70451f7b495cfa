"""The table of faults, driven through the command line: exit code, message, and what is left in the state.

A turn that fails leaves every byte of the state as it was; if a part of an answer had arrived, that part is added
as an incomplete turn and nothing else is. The next turn continues where the last complete one ended.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
from tests.cli.conftest import Result
from tests.faults import ATTEMPTS, CASES, FAULTS, HELLO, WAYS, Fault, Way, good
from tests.gemini.loopback import Service
from tests.gemini.script import KEY

State = dict[str, bytes]
SESSION = "sessions/main.json"
BEFORE_IT = f"{SESSION}.bak"


@dataclass
class Asker:
    """gemchat in a project whose conversation has one turn already."""

    root: Path
    state: Path
    service: Service
    slept: list[float] = field(default_factory=list)

    def __call__(self, way: Way, *more: str) -> int:
        here = Surroundings(
            environ={
                "GEMINI_API_KEY": KEY,
                "GOOGLE_GEMINI_BASE_URL": self.service.url,
                "GEMCHAT_STATE_DIR": str(self.state),
            },
            directory=self.root,
            clock=lambda: 1_800_000_000.0,
            sleep=self.slept.append,
            draw=lambda: 0.0,
            idle_timeout=0.4,
        )
        whole = [] if way.stream else ["--no-stream"]
        return run(["ask", "well?", "app.py", "--backend", way.backend, *whole, *more], here)

    def content(self) -> State:
        (project,) = (self.state / "projects").iterdir()
        files = (path for path in sorted(project.rglob("*")) if path.is_file())
        return {str(path.relative_to(project)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, and for each backend the state after a first turn about it."""
    place = tmp_path_factory.mktemp("faults")
    (place / "project").mkdir()
    (place / "project/pyproject.toml").touch()
    (place / "project/app.py").write_text("x = 1\n")
    return place


@pytest.fixture
def asker(conversations: Path, service: Service, tmp_path: Path) -> Callable[[Way], Asker]:
    def with_first_turn(way: Way) -> Asker:
        service.forget()
        first = conversations / way.backend
        if not first.exists():
            service.enqueue(good(Way(way.backend, stream=True)))
            assert Asker(conversations / "project", first, service)(Way(way.backend, stream=True)) == 0
            service.forget()
        shutil.copytree(first, tmp_path / "state")
        return Asker(conversations / "project", tmp_path / "state", service)

    return with_first_turn


def only_added(fault: Fault, before: State, after: State) -> None:
    """The incomplete turn, the blob with what it had sent, the copy of the session before it, and nothing else."""
    assert after[BEFORE_IT] == before[SESSION]
    others = {name: data for name, data in after.items() if name in before and name not in (SESSION, BEFORE_IT)}
    assert others == {name: data for name, data in before.items() if name not in (SESSION, BEFORE_IT)}
    assert all(name.startswith("blobs/") for name in after.keys() - before.keys() - {BEFORE_IT})
    was, now = (json.loads(state[SESSION]) for state in (before, after))
    added = now["session"]["journal"].pop()
    assert now == was
    assert (added["status"], added["reply"]) == ("incomplete", fault.kept)
    assert "remote" not in added


@pytest.mark.parametrize(("fault", "way"), CASES, ids=[f"{fault.name}-{way}" for fault, way in CASES])
def test_fault(asker: Callable[[Way], Asker], capsys: pytest.CaptureFixture[str], fault: Fault, way: Way) -> None:
    ask = asker(way)
    before = ask.content()
    ask.service.enqueue(*fault.answers(way))
    capsys.readouterr()
    result = Result(ask(way), *capsys.readouterr())
    after = ask.content()
    assert result.code == fault.code
    assert fault.says in result.err
    requests = fault.requests
    if way.backend == "interactions" and fault.name.endswith("404"):
        requests = 2
        assert "it is sent again from the local history" in result.err
    assert len(ask.service.seen) == requests
    assert len(ask.slept) == (requests - 1 if "attempt 2" in result.err else 0)
    assert KEY not in result.err + result.out
    assert not any(KEY.encode() in data for data in after.values())
    assert all(len(line) < 300 and line.isprintable() for line in result.err.splitlines())
    assert "Traceback" not in result.err
    if not fault.code:
        assert result.out == f"{HELLO}\n"
        assert json.loads(after[SESSION])["session"]["journal"][-1]["reply"] == HELLO
    elif fault.kept is not None:
        assert result.out == (f"{fault.kept}\n" if fault.kept else "")
        only_added(fault, before, after)
    else:
        assert result.out == ""
        assert after == before


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_after_a_failure_the_chain_goes_on(asker: Callable[[Way], Asker], way: Way) -> None:
    ask = asker(way)
    (torn,) = (fault for fault in FAULTS if fault.name == "sse-drop-late")
    ask.service.enqueue(*torn.answers(Way(way.backend, stream=True)), good(way))
    assert ask(Way(way.backend, stream=True)) == 7
    assert ask(way) == 0
    failed, repeated = (seen.body for seen in ask.service.seen)
    assert failed.pop("stream", None) in (True, None)
    assert repeated.pop("stream", None) in (way.stream, None)
    assert repeated == failed, "the lost answer is in nothing that is sent"
    if way.backend == "interactions":
        assert repeated["previous_interaction_id"] == "v1_a"


def test_the_table_knows_each_status_as_passing_or_not(asker: Callable[[Way], Asker]) -> None:
    counts = {fault.name: fault.requests for fault in FAULTS}
    assert [counts[f"err-{code}"] for code in (400, 401, 403, 404, 409)] == [1] * 5
    assert [counts[f"err-{code}"] for code in (408, 429, 500, 502, 503, 504)] == [ATTEMPTS] * 6
