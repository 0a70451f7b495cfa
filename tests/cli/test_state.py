"""What is stored, met by the commands: of an old version, damaged in every way, used by many at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemchat import changes, generations, past, report
from gemchat.blobs import Drafts
from gemchat.cli.surroundings import Surroundings
from gemchat.doctor import examine
from gemchat.errors import GemchatError, SessionCorrupt, SessionTooNew
from gemchat.prepare import Ask, prepare
from gemchat.project import Project
from gemchat.store import project_directory
from gemchat.view import View
from tests.cli.conftest import Gemchat

FIRST_VERSION = Path(__file__).parent.parent / "data/first-version"
PARALLEL = 16
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def with_old_state(gemchat: Gemchat) -> Path:
    """A project whose state the first version wrote: a question, an edit applied and undone, an edit pending."""
    gemchat.write("app.py", "x = 1\n")
    state = project_directory(Path(gemchat.environ["GEMCHAT_STATE_DIR"]), gemchat.root)
    shutil.copytree(FIRST_VERSION, state, dirs_exist_ok=True)
    return state


def test_the_state_of_the_first_version_goes_on(gemchat: Gemchat) -> None:
    with_old_state(gemchat)
    turns = gemchat("log", "--json").json["turns"]
    assert [(turn["prompt"], turn["outcome"]) for turn in turns] == [
        ("what?", None),
        ("make it two", "undone"),
        ("make it three", "proposed"),
    ]
    assert gemchat("doctor", "--fix").code == 0
    assert gemchat("apply").code == 0
    assert (gemchat.root / "app.py").read_text() == "x = 3\n"
    assert gemchat("undo").code == 0
    assert (gemchat.root / "app.py").read_text() == "x = 1\n"
    answered = gemchat("ask", "and now?", "--json")
    assert (answered.code, answered.json["turn"]) == (0, "4")
    assert "it is sent again from the local history" in answered.err
    assert gemchat.mind.contradictions == []


@given(st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_any_bytes_are_a_session_or_a_documented_error(data: bytes) -> None:
    with pytest.raises((SessionCorrupt, SessionTooNew)):
        generations.decode(data, Path("x"))


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(
        ["", "1", "9", "\0", "..", "/", "../../x", "a" * 300, "app.py", "edit", "applied", "\x1b[2J"]
    )
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def damaged(data: st.DataObject) -> str:
    document = json.loads((FIRST_VERSION / "sessions/main.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        document = changed(document, data.draw(st.sampled_from(list(places(document)))), data.draw(JUNK))
    return json.dumps(document)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_a_session_with_junk_anywhere_raises_documented_errors(gemchat: Gemchat, data: st.DataObject) -> None:
    def dry_run(place: Project) -> object:
        place.store.blobs = Drafts(place.store.blobs)
        return prepare(place, Ask(mode="ask", prompt="why?", model="m", backend="contents"))

    uses: list[Callable[[Project], object]] = [
        lambda place: report.overview_json(report.overview(place)),
        lambda place: past.log_json(place.load(), past.entries(place.load())),
        lambda place: report.file_diffs(place, changes.select(place.load())),
        dry_run,
        lambda place: list(examine(place, place.store.directory, fix=False)),
        changes.apply,
        changes.undo,
        changes.redo,
    ]
    text = damaged(data)
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        gemchat.environ["GEMCHAT_STATE_DIR"] = directory
        state = with_old_state(gemchat)
        (state / "sessions/main.json").write_text(text)
        (state / "sessions/main.json.bak").write_text(text)
        for use in uses:
            with suppress(GemchatError):
                use(Surroundings(environ=gemchat.environ, directory=gemchat.root).project(View(quiet=True)))


def test_many_at_once_lose_nothing(gemchat: Gemchat) -> None:
    """Questions, edits of a file each, and applies, all in one session."""
    for number in range(PARALLEL):
        gemchat.write(f"f{number}.py", "old\n")
    gemchat("ask", "first", "f0.py")
    wish = json.dumps({"replace": [[None, "old", "new"]]})
    for number in range(0, PARALLEL, 4):
        assert gemchat("edit", f"{wish} {number}", f"f{number}.py").code == 0

    def arguments(number: int) -> list[str]:
        if number % 4 == 0:
            return ["apply", f"f{number}.py", "--json"]
        if number % 4 == 1:
            return [
                "edit",
                f"{json.dumps({'replace': [[None, 'old', 'new']]})} {number}",
                f"f{number}.py",
                "--json",
            ]
        return ["ask", f"question {number}", f"f{number}.py", "--json"]

    running = [
        subprocess.Popen(
            [sys.executable, "-m", "gemchat", *arguments(number)],
            cwd=gemchat.root,
            env={**os.environ, **gemchat.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(PARALLEL)
    ]
    said = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * PARALLEL, said
    prompts = [turn["prompt"] for turn in gemchat("log", "-n", "99", "--json").json["turns"]]
    for number in range(PARALLEL):
        if number % 4 == 0:
            assert (gemchat.root / f"f{number}.py").read_text() == "new\n"
        else:
            assert prompts.count(arguments(number)[1]) == 1
    status = gemchat("status", "--json").json
    assert status["turns"] == 1 + PARALLEL
    assert status["undo"] == PARALLEL // 4
    pending = {change["path"] for change in gemchat("diff", "--json").json["files"]}
    assert pending == {f"f{number}.py" for number in range(1, PARALLEL, 4)}
    assert gemchat("apply").code == 0
    assert gemchat("ask", "and now?").code == 0
    assert gemchat("doctor").code == 0
    assert gemchat.mind.contradictions == []


def test_any_session_finishes_what_was_interrupted_in_another(gemchat: Gemchat) -> None:
    """The state a process leaves that is killed between two files."""
    for name in ("a.py", "b.py"):
        gemchat.write(name, "old\n")
    wanted = json.dumps({"write": [["a.py", "new\n"], ["b.py", "new\n"]]})
    gemchat("edit", wanted, "a.py", "b.py")
    pending = project_directory(Path(gemchat.environ["GEMCHAT_STATE_DIR"]), gemchat.root) / "sessions/main.json"
    before = json.loads(pending.read_bytes())
    gemchat("apply")
    after = json.loads(pending.read_bytes())
    before["session"]["intent"] = after["session"]["journal"][-1]
    pending.write_text(json.dumps(before))
    gemchat.write("b.py", "old\n")
    made = gemchat("new", "other")
    assert (made.code, made.err) == (
        0,
        "gemchat: an interrupted change of files was completed\ngemchat: using the new session other\n",
    )
    assert (gemchat.root / "b.py").read_text() == "new\n"
    assert gemchat("undo", "-s", "main").code == 0
    assert [(gemchat.root / name).read_text() for name in ("a.py", "b.py")] == ["old\n", "old\n"]
