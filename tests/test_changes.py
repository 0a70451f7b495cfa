"""What a crash in the middle of an apply leaves, and what the next command makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gemchat import changes
from gemchat.blobs import sha256
from gemchat.core import history
from gemchat.core.model import Session
from gemchat.errors import EditConflict, Ended, NothingPending, WorkspaceError
from gemchat.project import Project
from gemchat.store import Store
from gemchat.workspace import Replacement, Workspace
from tests.core.sessions import Script

OLD = {"a": b"old a\n", "b": b"old b\n", "c": None}
NEW = {"a": b"new a\n", "b": b"new b\n", "c": b"new c\n"}


class Crash(BaseException):
    """The process is gone."""


class CrashingWorkspace(Workspace):
    """Writes or deletes a number of files, then the process is gone."""

    def __init__(self, root: Path, steps: int, crash: BaseException | None = None) -> None:
        super().__init__(root)
        self.steps = steps
        self.crash = crash or Crash()

    def publish(self, replacement: Replacement) -> None:
        self.steps -= 1
        if self.steps == -1:
            raise self.crash
        super().publish(replacement)


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def open_project(tmp_path: Path, project_root: Path, notes: list[str]) -> Callable[..., Project]:
    """A project with a pending change of three files, one of them new."""

    def opened(steps: int = 1000, crash: BaseException | None = None) -> Project:
        return Project(
            store=Store(tmp_path / "state", project_root, notes.append),
            workspace=CrashingWorkspace(project_root, steps, crash),
            session="main",
            clock=lambda: 0.0,
            note=notes.append,
        )

    script = Script()
    blobs = opened().store.blobs
    versions = {
        path: (None if before is None else blobs.put(before), blobs.put(NEW[path] or b""))
        for path, before in OLD.items()
    }
    script.turn(files={path: before for path, (before, _) in versions.items()}, proposal=versions)
    opened().store.save(script.session)
    write(project_root, OLD)
    return opened


def write(root: Path, texts: dict[str, bytes | None]) -> None:
    for path, data in texts.items():
        (root / path).unlink(missing_ok=True)
        if data is not None:
            (root / path).write_bytes(data)


def on_disk(root: Path) -> dict[str, bytes | None]:
    return {path: (root / path).read_bytes() if (root / path).exists() else None for path in OLD}


@pytest.mark.parametrize("steps", range(4))
def test_an_interrupted_apply_is_completed_or_never_was(
    open_project: Callable[..., Project], project_root: Path, steps: int, notes: list[str]
) -> None:
    if steps < 3:
        with pytest.raises(Crash):
            changes.apply(open_project(steps))
    else:
        changes.apply(open_project(steps))
    session = open_project().load()
    assert session.intent is None
    if steps:
        assert on_disk(project_root) == NEW
        assert len(history.undo_stack(session).undo) == 1
        assert history.pending_changes(session) == {}
        changes.undo(open_project())
        assert on_disk(project_root) == OLD
    else:
        assert on_disk(project_root) == OLD
        assert len(history.pending_changes(session)) == 3
    assert notes == (["an interrupted change of files was completed"] if 0 < steps < 3 else [])


@pytest.mark.parametrize("steps", range(4))
def test_an_interrupted_undo_is_completed_or_never_was(
    open_project: Callable[..., Project], project_root: Path, steps: int
) -> None:
    changes.apply(open_project())
    if steps < 3:
        with pytest.raises(Crash):
            changes.undo(open_project(steps))
    else:
        changes.undo(open_project(steps))
    session = open_project().load()
    assert on_disk(project_root) == (OLD if steps else NEW)
    assert len(history.undo_stack(session).redo) == (1 if steps else 0)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), Ended(15)], ids=repr)
@pytest.mark.parametrize("steps", range(3))
def test_an_apply_or_undo_that_the_user_stops_has_not_happened(
    open_project: Callable[..., Project], project_root: Path, steps: int, interrupt: BaseException
) -> None:
    before = open_project().load()
    with pytest.raises(type(interrupt)):
        changes.apply(open_project(steps, interrupt))
    assert on_disk(project_root) == OLD
    assert open_project().load() == before
    changes.apply(open_project())
    applied = open_project().load()
    with pytest.raises(type(interrupt)):
        changes.undo(open_project(steps, interrupt))
    assert on_disk(project_root) == NEW
    assert open_project().load() == applied


class Impatient(Workspace):
    """The user interrupts before a replacement, and again before a later one."""

    def __init__(self, root: Path, *interrupted: int) -> None:
        super().__init__(root)
        self.count = 0
        self.interrupted = interrupted

    def publish(self, replacement: Replacement) -> None:
        self.count += 1
        if self.count in self.interrupted:
            raise KeyboardInterrupt
        super().publish(replacement)


@pytest.mark.parametrize("second", range(3, 7))
@pytest.mark.parametrize("first", [2, 3])
def test_who_interrupts_the_taking_back_as_well_loses_nothing(
    open_project: Callable[..., Project], project_root: Path, first: int, second: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        changes.apply(replace(open_project(), workspace=Impatient(project_root, first, second)))
    session = open_project().load()
    assert on_disk(project_root) == (NEW if history.undo_stack(session).undo else OLD)
    assert (history.pending_changes(session) == {}) == (on_disk(project_root) == NEW)


def test_what_somebody_wrote_after_the_crash_is_left_alone(
    open_project: Callable[..., Project], project_root: Path
) -> None:
    with pytest.raises(Crash):
        changes.apply(open_project(1))
    (project_root / "b").write_bytes(b"mine\n")
    open_project().load()
    assert on_disk(project_root) == {**NEW, "b": b"mine\n"}


def test_a_lost_version_stops_an_apply_before_it_starts(
    open_project: Callable[..., Project], project_root: Path, tmp_path: Path
) -> None:
    (tmp_path / "state/blobs" / sha256(NEW["c"] or b"")).unlink()
    with pytest.raises(WorkspaceError, match=r"the stored version .* of c is missing or damaged"):
        changes.apply(open_project())
    assert on_disk(project_root) == OLD


def test_what_was_there_before_is_stored_before_it_is_overwritten(
    open_project: Callable[..., Project], project_root: Path, tmp_path: Path
) -> None:
    for blob in (OLD["a"], OLD["b"]):
        (tmp_path / "state/blobs" / sha256(blob or b"")).unlink()
    changes.apply(open_project())
    changes.undo(open_project())
    assert on_disk(project_root) == OLD


def test_a_session_starts_empty(tmp_path: Path, project_root: Path) -> None:
    store = Store(tmp_path / "fresh", project_root, lambda _: None)
    project = Project(store, Workspace(project_root), "main", lambda: 7.0, lambda _: None)
    assert project.load() == Session(name="main", created=7.0)


def test_what_was_looked_at_is_what_is_applied(open_project: Callable[..., Project], project_root: Path) -> None:
    """Another terminal may have made something else pending meanwhile."""
    project = open_project()
    files = changes.select(project.load(), ["a"])
    picked = [changes.PickedFile(file, changes.hunks_of(project, file).decide_rest(True)) for file in files]
    changes.revise(open_project(), files[0], b"mine\n")
    with pytest.raises(EditConflict, match="something else is pending for a now"):
        changes.apply_picked(project, picked)
    with pytest.raises(EditConflict, match="something else is pending for a now"):
        changes.revise(project, files[0], b"other\n")
    assert on_disk(project_root) == OLD
    changes.apply(project, ["a"])
    assert on_disk(project_root) == {**OLD, "a": b"mine\n"}
    changes.undo(project)
    assert on_disk(project_root) == OLD


def test_no_part_of_a_new_file_is_no_empty_file(open_project: Callable[..., Project], project_root: Path) -> None:
    project = open_project()
    files = changes.select(project.load(), ["b", "c"])
    picked = [changes.PickedFile(file, changes.hunks_of(project, file)) for file in files]
    picked[0] = changes.PickedFile(files[0], picked[0].hunks.decide_rest(True))
    changes.apply_picked(project, picked)
    assert on_disk(project_root) == {**OLD, "b": NEW["b"]}
    with pytest.raises(NothingPending, match="no hunk was taken"):
        changes.apply_picked(project, picked[1:])


def test_a_revised_proposal_is_merged_and_gone(open_project: Callable[..., Project], project_root: Path) -> None:
    project = open_project()
    (file,) = changes.select(project.load(), ["a"])
    changes.revise(project, file, b"old a\nmine\n")
    (project_root / "a").write_bytes(b"first\nold a\n")
    changes.apply(project, ["a"], merge=True)
    assert on_disk(project_root)["a"] == b"first\nold a\nmine\n"
    assert set(history.pending_changes(project.load())) == {"b", "c"}
