"""Real processes that die, or are refused, at every single file-system call; then what the next command finds."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Gemchat
from tests.crashing import Launcher, Outcome

OLD: dict[str, str | None] = {"a.py": "a = 1\n", "b.py": "b = 1\r\n", "c.py": None}
NEW: dict[str, str | None] = {"a.py": "a = 2\n", "b.py": "b = 2\r\n", "c.py": "c = 2\n"}
_MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where that is to be had: thousands of flushes to a disk take minutes."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        yield Path(directory).resolve()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    started = Launcher()
    yield started
    started.close()


class Bench:
    """A project whose files and state are put back before every run."""

    def __init__(self, gemchat: Gemchat, launcher: Launcher) -> None:
        self.gemchat = gemchat
        self.launcher = launcher
        self.state = Path(gemchat.environ["GEMCHAT_STATE_DIR"])
        self.kept = gemchat.root.parent / "kept"

    def keep(self) -> None:
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.state, self.kept / "state")
        shutil.copytree(self.gemchat.root, self.kept / "project")

    def run(self, *arguments: str, at: int = 0, how: str = "kill") -> Outcome:
        for place, kept in ((self.state, "state"), (self.gemchat.root, "project")):
            shutil.rmtree(place)
            shutil.copytree(self.kept / kept, place)
        return self.launcher.run(arguments, self.gemchat.environ, self.gemchat.root, at=at, how=how)

    def files(self) -> dict[str, str | None]:
        found = {name: self.gemchat.root / name for name in OLD}
        return {name: file.read_bytes().decode() if file.exists() else None for name, file in found.items()}

    def log(self) -> list[dict[str, object]]:
        result = self.gemchat("log", "--json")
        assert (result.code, "Traceback" in result.err) == (0, False), result.err
        turns: list[dict[str, object]] = result.json["turns"]
        return turns


@pytest.fixture
def bench(gemchat: Gemchat, launcher: Launcher) -> Bench:
    """A proposal for three files, one of them new, is pending."""
    for name, text in OLD.items():
        if text is not None:
            gemchat.write(name, text)
    edits = [{"path": name, "search": "1", "replace": "2"} for name in ("a.py", "b.py")]
    edits.append({"path": "c.py", "search": "", "replace": "c = 2\n"})
    gemchat.mind.replies.append(json.dumps({"explanation": "because", "edits": edits}))
    assert gemchat("edit", "two", *OLD).code == 0
    prepared = Bench(gemchat, launcher)
    prepared.keep()
    return prepared


_FIRST = {"apply": 1, "undo": 2, "redo": 3, "fail": 1, "full": 2, "read-only": 3, "ask": 1, "first ask": 2}


def some(calls: int, what: str) -> range:
    """Every third call, not the same ones in tests that are alike; EXHAUSTIVE=1 leaves none out."""
    if os.environ.get("EXHAUSTIVE"):
        return range(1, calls + 1)
    return range(_FIRST[what], calls + 1, 3)


@pytest.mark.parametrize("command", ["apply", "undo", "redo"])
def test_killed_at_any_call_it_is_done_or_it_never_was(bench: Bench, command: str) -> None:
    before, after, status = OLD, NEW, ("proposed", "applied")
    if command in ("undo", "redo"):
        assert bench.gemchat("apply").code == 0
        before, after, status = NEW, OLD, ("applied", "undone")
    if command == "redo":
        assert bench.gemchat("undo").code == 0
        before, after, status = OLD, NEW, ("undone", "applied")
    bench.keep()
    calls = bench.run(command).calls
    assert calls > 30
    assert bench.files() == after
    seen = set()
    for at in some(calls, command):
        assert bench.run(command, at=at).code == -9
        (turn,) = bench.log()
        done = bench.files() == after
        assert done or bench.files() == before, f"neither old nor new after call {at} of {calls}"
        assert turn["outcome"] == status[done], f"after call {at} of {calls}"
        assert sorted(path.name for path in bench.gemchat.root.iterdir()) == sorted(
            ["pyproject.toml", *(name for name, text in bench.files().items() if text is not None)]
        )
        seen.add(done)
    assert seen == {True, False}


@pytest.mark.parametrize("how", ["fail", "full", "read-only"])
def test_refused_at_any_call_an_apply_says_so_and_leaves_nothing_half_done(bench: Bench, how: str) -> None:
    calls = bench.run("apply").calls
    codes = set()
    for at in some(calls, how):
        code, _, error = bench.run("apply", at=at, how=how)
        codes.add(code)
        assert code in (0, 4, 5), f"call {at} of {calls}: {error}"
        assert (code == 0) == (error == "") or "interrupted" in error
        assert bench.files() in (OLD, NEW) or (how == "read-only" and "cannot be taken back" in error)
        if code == 0:
            assert bench.files() == NEW
        (turn,) = bench.log()
        assert bench.files() == (NEW if turn["outcome"] == "applied" else OLD)
    assert 4 in codes


def test_killed_at_any_call_a_question_is_recorded_or_it_never_was(bench: Bench) -> None:
    calls = bench.run("ask", "why?").calls
    assert calls > 15
    seen = set()
    for at in some(calls, "ask"):
        assert bench.run("ask", "why?", at=at).code == -9
        prompts = [turn["prompt"] for turn in bench.log()]
        assert prompts in (["two"], ["two", "why?"]), f"after call {at} of {calls}"
        seen.add(len(prompts))
        assert bench.gemchat("diff", "--json").code == 0
    assert seen == {1, 2}


@pytest.mark.parametrize("how", ["fail", "full", "read-only"])
def test_refused_at_any_call_a_question_says_so(bench: Bench, how: str) -> None:
    calls = bench.run("ask", "why?").calls
    for at in some(calls, how):
        code, _, error = bench.run("ask", "why?", at=at, how=how)
        assert code in (0, 4, 5), f"call {at} of {calls}: {error}"
        complete = [turn["prompt"] for turn in bench.log() if turn["status"] == "complete"]
        assert complete == (["two"] if code else ["two", "why?"]), f"after call {at} of {calls}: {error}"


def test_killed_at_any_call_the_first_question_leaves_something_that_works(
    gemchat: Gemchat, launcher: Launcher
) -> None:
    bench = Bench(gemchat, launcher)
    bench.state.mkdir(mode=0o700)
    bench.keep()
    calls = bench.run("ask", "why?").calls
    for at in some(calls, "first ask"):
        assert bench.run("ask", "why?", at=at).code == -9
        assert [turn["prompt"] for turn in bench.log()] in ([], ["why?"])
        assert bench.gemchat("ask", "and?").code == 0
