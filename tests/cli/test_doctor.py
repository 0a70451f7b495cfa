from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gemchat.blobs import sha256
from tests.cli.conftest import Gemchat, Result

HOUR = 3600


@pytest.fixture(autouse=True)
def someone(gemchat: Gemchat, tmp_path: Path) -> None:
    gemchat.environ |= {"SHELL": "/bin/bash", "HOME": str(tmp_path / "home")}


def project_state(gemchat: Gemchat) -> Path:
    (found,) = (Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "projects").iterdir()
    return found


def findings(result: Result, state: str) -> dict[str, str]:
    return {check["check"]: check["message"] for check in result.json["checks"] if check["state"] == state}


def asked(gemchat: Gemchat) -> Path:
    """A project with two turns about one file; returns where its state is."""
    gemchat.write("app.py", "x = 1\n")
    gemchat("ask", "what?", "app.py")
    gemchat("ask", "why?")
    return project_state(gemchat)


def test_all_is_well(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    before = sorted((path, path.stat().st_mtime_ns) for path in state.rglob("*"))
    code, out, err = gemchat("doctor")
    assert (code, err) == (0, "")
    assert out == (
        "ok       key: there is an API key, and it has the form of one\n"
        f"ok       base URL: requests go to {gemchat.server.url}\n"
        "ok       warm start: off\n"
        "note     completions: bash does not complete\n"
        "         gemchat --install-completion\n"
        "ok       lock: nobody holds the project's lock\n"
        f"ok       permissions: {gemchat.environ['GEMCHAT_STATE_DIR']} is yours alone\n"
        "ok       sessions: session main is in order\n"
        "ok       blobs: 3 stored texts are what they should be\n"
    )
    assert sorted((path, path.stat().st_mtime_ns) for path in state.rglob("*")) == before
    assert len(gemchat.requests) == 2, "and nobody was talked to"


def test_nothing_stored_is_well_too(gemchat: Gemchat) -> None:
    assert gemchat("doctor", "--fix").code == 0
    assert not Path(gemchat.environ["GEMCHAT_STATE_DIR"]).exists()


def test_settings_are_checked_in_form(gemchat: Gemchat) -> None:
    gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = "http://far.example"
    del gemchat.environ["GEMINI_API_KEY"]
    result = gemchat("doctor", "--json")
    assert result.code == 3
    assert set(findings(result, "problem")) == {"key", "base URL"}
    gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = "nowhere"
    assert set(findings(gemchat("doctor", "--json"), "problem")) == {"settings"}
    gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = "http://far.example"
    gemchat.has_local = True
    assert "key" in findings(gemchat("doctor", "--json"), "note")


def test_an_installed_completion_is_found(gemchat: Gemchat) -> None:
    script = Path(gemchat.environ["HOME"], ".bash_completions/gemchat.sh")
    script.parent.mkdir(parents=True)
    script.touch()
    assert findings(gemchat("doctor", "--json"), "ok")["completions"] == "bash completes commands and options"


def test_permissions_are_mended(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    open_file, open_directory = state / "sessions/main.json", state / "blobs"
    open_file.chmod(0o644)
    open_directory.chmod(0o755)
    result = gemchat("doctor")
    assert result.code == 4
    assert f"problem  permissions: {open_file} has other permissions than 600\n" in result.out
    assert open_file.stat().st_mode & 0o777 == 0o644
    assert gemchat("doctor", "--fix").code == 0
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (open_file, open_directory)]
    assert modes == [0o600, 0o700]


def test_state_is_private_whatever_the_umask(gemchat: Gemchat) -> None:
    mask = os.umask(0)
    try:
        state = asked(gemchat)
        gemchat("new", "other")
    finally:
        os.umask(mask)
    assert "permissions" in findings(gemchat("doctor", "--json"), "ok")
    assert (state / "project.json").stat().st_mode & 0o777 == 0o600


def test_a_damaged_session_is_replaced_by_its_predecessor(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    (state / "sessions/main.json").write_text("{")
    assert gemchat("doctor").code == 4
    assert (state / "sessions/main.json").read_text() == "{", "looking changes nothing"
    result = gemchat("doctor", "--fix")
    assert result.code == 0
    assert (state / "sessions/main.json.corrupt-1").read_text() == "{"
    assert len(gemchat("log", "--json").json["turns"]) == 1
    assert "set aside" in findings(gemchat("doctor", "--json"), "note")


def test_two_damaged_generations_stop_everything_until_the_user_says_so(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    for name in ("main.json", "main.json.bak"):
        (state / "sessions" / name).write_text("{")
    for command in (["status"], ["ask", "and?"], ["ask", "and?"], ["log"]):
        result = gemchat(*command)
        assert (result.code, result.out) == (4, "")
        assert "main.json cannot be read" in result.err
        assert "gemchat doctor --fix" in result.err
    assert len(gemchat.requests) == 2
    assert gemchat("new", "beside").code == 0
    assert gemchat("ask", "hello").code == 0
    assert findings(gemchat("doctor", "--json"), "problem")
    assert gemchat("doctor", "--fix").code == 0
    assert [path.read_text() for path in sorted((state / "sessions").glob("*.corrupt-1"))] == ["{", "{"]
    assert gemchat("status", "-s", "main", "--json").json["turns"] == 0


def test_a_newer_session_is_left_alone(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    file = state / "sessions/main.json"
    file.write_bytes(file.read_bytes().replace(b'"schema": 2', b'"schema": 3'))
    newer = file.read_bytes()
    result = gemchat("doctor", "--fix")
    assert result.code == 4
    assert "was written by a newer gemchat (schema 3, this one knows 2)" in result.out
    assert "nothing is removed while a session cannot be read" in result.out
    assert file.read_bytes() == newer


def test_a_damaged_project_record(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    (state / "project.json").write_text("{")
    assert f"gemchat: {state / 'project.json'} is damaged; session main is used" in gemchat("status").err
    assert gemchat("doctor").code == 4
    assert gemchat("doctor", "--fix").code == 0
    assert (state / "project.json.corrupt-1").read_text() == "{"
    assert gemchat("status").err == ""


def test_lost_texts_are_named_and_taken_from_the_file_where_it_still_has_them(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    text = state / "blobs" / sha256(b"x = 1\n")
    text.write_bytes(b"damaged")
    other = next(path for path in (state / "blobs").iterdir() if path != text)
    other.unlink()
    result = gemchat("doctor", "--json")
    assert result.code == 4
    wrong = [check["message"] for check in result.json["checks"] if check["state"] == "problem"]
    assert sorted(wrong) == [
        f"session main: app.py: the stored text {text.name[:12]} is missing or damaged",
        f"session main: what was said: the stored text {other.name[:12]} is missing or damaged",
    ]
    mended = gemchat("doctor", "--fix", "--json")
    assert findings(mended, "fixed") == {
        "blobs": f"app.py: its stored text {text.name[:12]} was read from the file again"
    }
    assert text.read_bytes() == b"x = 1\n"
    assert mended.code == 4


def aged(path: Path, now: float = 1_800_000_000.0, *, hours: float) -> Path:
    os.utime(path, (now - hours * HOUR, now - hours * HOUR))
    return path


def test_what_nothing_needs_is_removed_when_it_is_old(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    needed = [aged(path, hours=9) for path in (state / "blobs").iterdir()]
    old, young = (state / "blobs" / sha256(data) for data in (b"old", b"young"))
    for path, data, hours in ((old, b"old", 1.1), (young, b"young", 0.9)):
        path.write_bytes(data)
        path.chmod(0o600)
        aged(path, hours=hours)
    (state / "sessions/.gemchat-0-x.tmp").touch(0o600)
    said = "1 stored texts and 1 unfinished files that nothing needs"
    assert findings(gemchat("doctor", "--json"), "note")["unneeded"] == said
    assert findings(gemchat("doctor", "--fix", "--json"), "fixed")["unneeded"] == said
    assert not old.exists()
    assert young.exists()
    assert all(path.exists() for path in needed)
    assert not list(state.rglob("*.tmp"))


def test_removing_a_session_removes_what_it_alone_needed(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    gemchat("new", "other")
    gemchat("ask", "what?", gemchat.write("other.py", "y = 1\n").name, "app.py")
    for path in (state / "blobs").iterdir():
        aged(path, hours=2)
    assert gemchat("sessions", "rm", "other").code == 0
    assert not (state / "blobs" / sha256(b"y = 1\n")).exists()
    assert (state / "blobs" / sha256(b"x = 1\n")).exists()
    assert gemchat("doctor").code == 0


@pytest.mark.parametrize("keeper", ["main.json.bak", "main.json.corrupt-1"])
def test_older_and_damaged_files_keep_their_texts_too(gemchat: Gemchat, keeper: str) -> None:
    state = asked(gemchat)
    current = state / "sessions/main.json"
    shutil.copy(current, state / "sessions" / keeper)
    empty = '{"schema":1,"session":{"name":"main","created":0}}'
    current.write_text(empty)
    blobs = [aged(path, hours=2) for path in (state / "blobs").iterdir()]
    assert gemchat("doctor", "--fix").code == 0
    assert all(path.exists() for path in blobs)
    (state / "sessions" / keeper).write_text(empty)
    (state / "sessions/main.json.bak").unlink(missing_ok=True)
    gemchat("doctor", "--fix")
    assert not any(path.exists() for path in blobs)


def test_nothing_is_removed_while_a_session_cannot_be_read(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    (state / "sessions/other.json").mkdir()
    unneeded = state / "blobs" / sha256(b"old")
    unneeded.write_bytes(b"old")
    aged(unneeded, hours=9)
    assert gemchat("doctor", "--fix").code == 4
    assert gemchat("sessions", "rm", "main").code == 0
    assert unneeded.exists()


HOLD = """
import sys
from pathlib import Path
from gemchat.store import Store
with Store(Path(sys.argv[1]), Path(), print).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_who_holds_the_lock_is_said(gemchat: Gemchat) -> None:
    state = asked(gemchat)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        result = gemchat("doctor", "--fix")
        assert result.code == 4
        if Path("/proc/locks").exists():
            assert f"process {holder.pid} holds the project's lock" in result.out
        assert "A lock ends with its process" in result.out
        holder.kill()
    assert gemchat("doctor").code == 0, "a killed process leaves no lock behind"


NO_FLOCK = """
import errno, fcntl, os, sys
def flock(descriptor, operation):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
fcntl.flock = flock
from gemchat.cli.app import main
sys.exit(main())
"""


def test_a_file_system_without_locks_is_served_by_a_marker(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    environ = {**os.environ, **gemchat.environ}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", NO_FLOCK, *arguments]
        return subprocess.run(
            command, cwd=gemchat.root, env=environ, capture_output=True, text=True, check=False, input=""
        )

    asked = run("ask", "what?", "app.py", "-q")
    assert (asked.returncode, asked.stderr) == (0, "")
    marker = project_state(gemchat) / "lock"
    assert not marker.exists(), "a marker is removed with the lock"
    marker.write_text(f"{os.getpid()}\nelsewhere.example\n")
    examined = run("doctor")
    assert examined.returncode == 4
    assert f"process {os.getpid()} on elsewhere.example holds the project's lock" in examined.stdout
    assert f"remove {marker}" in examined.stdout


def moved(gemchat: Gemchat) -> Path:
    """The project is somewhere else now, under the same name."""
    (gemchat.root.parent / "new").mkdir()
    gemchat.root = Path(shutil.move(gemchat.root, gemchat.root.parent / "new" / gemchat.root.name))
    return gemchat.root


def test_a_moved_project_is_adopted(gemchat: Gemchat) -> None:
    before = asked(gemchat)
    old_root = gemchat.root
    moved(gemchat)
    assert gemchat("status", "--json").json["turns"] == 0
    result = gemchat("doctor")
    assert result.code == 0
    assert f"there are conversations of {old_root}, which is not there any more" in result.out
    assert f"gemchat doctor --adopt {before.name}" in result.out
    mended = gemchat("doctor", "--fix")
    assert mended.code == 0
    assert f"the conversations of {old_root} are now those of {gemchat.root}" in mended.out
    assert not before.exists()
    assert gemchat("status", "--json").json["turns"] == 2
    sent = gemchat("ask", "still there?", "--json").json["sent"]
    assert (sent["route"], sent["files"][0]["source"]) == ("continue", "synchronized")


def test_what_is_ambiguous_is_adopted_by_name_only(gemchat: Gemchat) -> None:
    before = asked(gemchat)
    shutil.copytree(before, before.with_name("project-0"))
    moved(gemchat)
    assert gemchat("doctor", "--fix").code == 0
    assert gemchat("status", "--json").json["turns"] == 0
    refused = gemchat("doctor", "--adopt", "../x")
    assert refused.code == 2
    assert gemchat("doctor", "--adopt", "project-0").code == 0
    assert gemchat("status", "--json").json["turns"] == 2


def test_a_project_with_conversations_adopts_no_others(gemchat: Gemchat) -> None:
    before = asked(gemchat)
    moved(gemchat)
    gemchat("ask", "anew")
    assert gemchat("doctor", "--fix").code == 0
    assert before.exists()
    refused = gemchat("doctor", "--adopt", before.name)
    assert (refused.code, before.exists()) == (4, True)
    assert "has conversations of its own: main" in refused.err
    assert gemchat("status", "--json").json["turns"] == 1


def test_requests_are_logged_without_what_they_say(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "secret_text = 1\n")
    gemchat("ask", "secret question", "app.py")
    gemchat.server.close()
    assert gemchat("ask", "another secret").code == 7
    log = Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "gemchat.log"
    first, second = log.read_text().splitlines()
    assert "interactions 'gemini-3.8-flash' 1 messages, " in first
    assert "bytes: complete, " in first
    assert second.endswith(": Unavailable")
    assert "secret" not in log.read_text()
    assert "app.py" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_log_does_not_grow_for_ever(gemchat: Gemchat) -> None:
    log = Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "gemchat.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * 500_001)
    gemchat("ask", "what?")
    assert log.stat().st_size < 1000
    assert log.with_name("gemchat.log.1").stat().st_size == 500_001
    gemchat("ask", "what?")
    assert len(log.read_text().splitlines()) == 2
