from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from gemchat.blobs import Blobs, sha256
from gemchat.core.model import Session
from gemchat.errors import SessionCorrupt, SessionError, SessionLocked, SessionTooNew
from gemchat.generations import decode
from gemchat.store import Store, project_directory
from tests.core.sessions import Script


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, notes: list[str]) -> Store:
    return Store(tmp_path / "state", tmp_path, notes.append)


def session_file(store: Store) -> Path:
    return store.path("main")


def saved(store: Store, turns: int = 1) -> Session:
    script = Script()
    for _ in range(turns):
        script.turn(files={"a": "A"})
        with store.lock():
            store.save(script.session)
    return script.session


def test_what_is_saved_is_loaded(store: Store) -> None:
    assert store.load("main") is None
    session = saved(store)
    assert store.load("main") == session
    assert b'\n "schema": 2,' in session_file(store).read_bytes(), "people can read it"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"null", b'{"schema":1}', b"\xff\xfe", b'{"schema":"1","session":{}}']
)
def test_a_damaged_file_is_set_aside_and_its_predecessor_used(
    store: Store, notes: list[str], damage: bytes
) -> None:
    saved(store, turns=2)
    session_file(store).write_bytes(damage)
    session = store.load("main")
    assert session is not None
    assert len(session.journal) == 1
    assert session_file(store).with_name("main.json.corrupt-1").read_bytes() == damage
    assert "could not be read and was moved to" in notes[0]
    assert store.load("main") == session, "and the next command finds it in order"


def test_every_truncation_is_noticed(store: Store) -> None:
    session = saved(store, turns=2)
    whole = session_file(store).read_bytes()
    before = msgspec.structs.replace(session, journal=session.journal[:1], head="1")
    for length in range(len(whole)):
        session_file(store).write_bytes(whole[:length])
        loaded = store.load("main")
        assert loaded == (before if length < len(whole) - 1 else session), "only the line end may be missing"
        for aside in session_file(store).parent.glob("*.corrupt-*"):
            assert aside.read_bytes() == whole[:length]
            aside.unlink()


@pytest.mark.parametrize("broken", ['"head": "9"', '"head": 9'])
def test_a_file_that_contradicts_itself_is_damaged(store: Store, broken: str) -> None:
    saved(store, turns=2)
    text = session_file(store).read_text()
    assert '"head": "2"' in text
    session_file(store).write_text(text.replace('"head": "2"', broken))
    session = store.load("main")
    assert session is not None
    assert session.head == "1"


def test_the_first_generation_is_preceded_by_an_empty_one(store: Store, notes: list[str]) -> None:
    saved(store)
    session_file(store).write_text("")
    assert store.load("main") == Session(name="main", created=0)
    assert "main.json.corrupt-1" in notes[0]


@pytest.mark.parametrize("older", [b"{", None])
def test_without_any_generation_nothing_is_lost_or_started_anew(store: Store, older: bytes | None) -> None:
    saved(store, turns=2)
    session_file(store).write_bytes(b"damaged")
    backup = session_file(store).with_name("main.json.bak")
    backup.unlink() if older is None else backup.write_bytes(older)
    for _ in range(2):
        with pytest.raises(SessionCorrupt, match=r"main\.json cannot be read .* nor can its previous") as caught:
            store.load("main")
        assert "gemchat doctor --fix" in caught.value.hint
        assert session_file(store).read_bytes() == b"damaged"
        assert store.names() == ["main"]


def test_a_file_that_got_lost_is_restored(store: Store, notes: list[str]) -> None:
    session = saved(store, turns=2)
    session_file(store).unlink()
    restored = store.load("main")
    assert restored is not None
    assert restored.journal == session.journal[:1]
    assert "main.json is missing; the state before the last change is used" in notes[0]


def test_an_older_schema_is_read(store: Store) -> None:
    session = saved(store)
    older = session_file(store).read_bytes().replace(b'"schema": 2', b'"schema": 1')
    session_file(store).write_bytes(older)
    assert store.load("main") == session


def test_a_turn_that_goes_on_from_nowhere_is_damage(store: Store) -> None:
    session = saved(store, turns=2)
    odd = session_file(store).read_bytes().replace(b'"route": "continue",', b'"route": "continue", "kept": "7",')
    with pytest.raises(SessionCorrupt, match="turn 2 goes on from turn 7, which does not come before it"):
        decode(odd, session_file(store))
    session_file(store).write_bytes(odd)
    restored = store.load("main")
    assert restored is not None
    assert restored.journal == session.journal[:1]


def test_a_schema_that_never_was_is_damage(store: Store) -> None:
    saved(store, turns=2)
    odd = session_file(store).read_bytes().replace(b'"schema": 2', b'"schema": 0')
    session_file(store).write_bytes(odd)
    restored = store.load("main")
    assert restored is not None
    assert restored.head == "1"


def test_a_newer_schema_is_refused_and_kept(store: Store) -> None:
    saved(store)
    newer = session_file(store).read_bytes().replace(b'"schema": 2', b'"schema": 3')
    session_file(store).write_bytes(newer)
    with pytest.raises(SessionTooNew, match="schema 3, this one knows 2"):
        store.load("main")
    assert session_file(store).read_bytes() == newer


def test_a_newer_schema_may_have_fields_of_another_kind(store: Store) -> None:
    saved(store)
    document = session_file(store).read_bytes().replace(b'"schema": 2', b'"schema": 3')
    session_file(store).write_bytes(document.replace(b'"journal": [', b'"journal": "elsewhere", "turns": ['))
    with pytest.raises(SessionTooNew):
        store.load("main")


def test_a_session_that_cannot_be_read_is_an_error_of_its_own(store: Store) -> None:
    saved(store)
    session_file(store).unlink()
    session_file(store).mkdir()
    with pytest.raises(SessionError, match="cannot be read"):
        store.load("main")


def test_a_second_process_waits_and_gives_up(tmp_path: Path, notes: list[str]) -> None:
    store = Store(tmp_path / "state", tmp_path, notes.append, patience=0.1, quiet_wait=0.0)
    ready_in, ready_out = os.pipe()
    done_in, done_out = os.pipe()
    child = os.fork()
    if not child:
        with store.lock():
            os.write(ready_out, b"1")
            os.read(done_in, 1)
        os._exit(0)
    os.read(ready_in, 1)
    with pytest.raises(SessionLocked, match="kept this project locked"), store.lock():
        pass
    assert notes == ["waiting for another gemchat in this project …"]
    os.write(done_out, b"1")
    os.waitpid(child, 0)
    with store.lock():
        assert len(notes) == 1


def test_the_session_in_use_is_remembered(store: Store) -> None:
    assert store.current() == "main"
    store.use("other")
    assert store.current() == "other"
    (store.directory / "project.json").write_text("{")
    assert store.current() == "main"
    (store.directory / "project.json").write_text('{"root":"/","current":"../x"}')
    assert store.current() == "main"


def test_projects_of_the_same_name_do_not_meet(tmp_path: Path) -> None:
    one, two = (project_directory(tmp_path, Path(root)) for root in ("/a/app", "/b/app"))
    assert one != two
    assert one.name.startswith("app-")
    assert project_directory(tmp_path, Path("/")).name.startswith("root-")
    assert project_directory(tmp_path, Path("/a/ü b")).name.startswith("__b-")


def test_blobs_give_back_what_was_put(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    name = blobs.put(b"text")
    assert name == sha256(b"text") == blobs.put(b"text")
    assert blobs.get(name) == b"text"
    assert blobs.get(sha256(b"other")) is None
    (tmp_path / "blobs" / name).write_bytes(b"damaged")
    assert blobs.get(name) is None
    assert (blobs.put(b"text"), blobs.get(name)) == (name, b"text")


def test_a_blob_that_is_put_again_counts_as_young(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    names = [blobs.put(data) for data in (b"again", b"old", b"needed", b"young")]
    for name in names[:3]:
        os.utime(tmp_path / "blobs" / name, (1000, 1000))
    blobs.put(b"again")
    assert blobs.unneeded({names[2]}, before=2000) == 1
    assert blobs.sweep({names[2]}, before=2000) == 1
    assert [blobs.get(name) for name in names] == [b"again", None, b"needed", b"young"]


def test_an_interrupted_sweep_is_taken_back(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    name = blobs.put(b"needed")
    (tmp_path / "blobs" / name).rename(tmp_path / "blobs" / f"{name}.unneeded")
    assert blobs.sweep({name}, before=0) == 0
    assert blobs.get(name) == b"needed"


def test_a_blob_has_the_name_of_a_blob(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    assert Blobs(tmp_path / "blobs").get("../outside") is None
    assert Blobs(tmp_path / "blobs").get(f"{'0' * 63}\0") is None
