"""What may leave: secrets, sizes, the borders of the project, ignore files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gemchat.workspace import TARGET_LIMIT
from tests.cli.conftest import Gemchat

KEY = "AI" + "za" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA-_9"


def state_of(gemchat: Gemchat) -> bytes:
    sessions = Path(gemchat.environ["GEMCHAT_STATE_DIR"]).rglob("*.json")
    return b"".join(file.read_bytes() for file in sessions)


@pytest.mark.parametrize("arguments", [["ask", "what?"], ["edit", "change"], ["ask", "what?", "--dry-run"]])
def test_a_secret_stays_here_and_is_named_by_its_place(gemchat: Gemchat, arguments: list[str]) -> None:
    gemchat.write("app.py", f"x = 1\nkey = '{KEY}'\n")
    code, out, err = gemchat(*arguments, "app.py")
    assert (code, out) == (5, "")
    assert "app.py, line 2: a Google API key" in err
    assert "--allow-secret" in err
    assert KEY not in err
    assert gemchat.requests == []
    assert KEY.encode() not in state_of(gemchat)


def test_secrets_in_prompts_context_and_attachments(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.write(".env", f"KEY={KEY}\n")
    assert "the prompt, line 1" in gemchat("ask", f"is {KEY} mine?").err
    assert ".env, line 1" in gemchat("ask", "what?", "app.py", "-c", ".env").err
    ran = gemchat("run", "--", "echo", KEY)
    assert ran.code == 5
    assert KEY not in ran.err
    assert gemchat.requests == []
    assert gemchat("ask", "what?").code == 0
    assert "attachments" not in gemchat.mind.belief.newest


def test_what_is_allowed_is_allowed_once_and_not_asked_for_again_while_it_is_held(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", "".join(f"line {n}\n" for n in range(50)) + f"key = '{KEY}'\n")
    assert gemchat("ask", "what?", "app.py", "--allow-secret").code == 0
    assert gemchat("ask", "and?").code == 0
    file.write_text(file.read_text() + "more\n")
    assert gemchat("ask", "and now?", "--json").json["sent"]["files"][0]["source"] == "delta"
    file.write_text(file.read_text() + f"other = '{KEY}'\n")
    assert "app.py, line 53" in gemchat("ask", "and now?").err


def test_ones_own_key_never_leaves(gemchat: Gemchat) -> None:
    gemchat.environ["GEMINI_API_KEY"] = "own-key-of-no-known-form"
    gemchat.write("app.py", "key = 'own-key-of-no-known-form'\n")
    result = gemchat("ask", "what?", "app.py")
    assert result.code == 5
    assert "your own API key" in result.err
    assert "own-key" not in result.err.replace("your own API key", "")


def test_ones_own_key_is_in_no_log_and_no_message(gemchat: Gemchat) -> None:
    key = "own-key-of-no-known-form"
    gemchat.environ["GEMINI_API_KEY"] = key
    assert key not in gemchat("sessions", "use", key * 3).err
    log = Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "gemchat.log"

    from gemchat.cli.app import run
    from gemchat.cli.surroundings import Surroundings

    def broken_clock() -> float:
        raise ZeroDivisionError(f"{key} \x1b[31m")

    assert run(["status"], Surroundings(environ=gemchat.environ, directory=gemchat.root, clock=broken_clock)) == 1
    said = log.read_text()
    assert "ZeroDivisionError: [API key] \\x1b[31m" in said
    assert key not in said


def test_a_file_that_no_model_can_read(gemchat: Gemchat) -> None:
    gemchat.write("huge.txt", b"seven. " * 700_000)
    for arguments in (["ask", "what?"], ["edit", "more"], ["ask", "what?", "--dry-run"]):
        result = gemchat(*arguments, "huge.txt")
        assert (result.code, result.out) == (5, "")
        assert "tokens, more than a model reads: huge.txt (1,225,000)" in result.err
    for arguments in (["context", "add"], ["ask", "what?", "-c"]):
        result = gemchat(*arguments, "huge.txt")
        assert (result.code, result.out) == (5, "")
        assert result.err.endswith("huge.txt is too large: it has 4,900,000 bytes\nThe limit is 4,000,000.\n")
    assert gemchat.requests == []


def test_a_file_that_is_too_large_is_not_even_read(gemchat: Gemchat) -> None:
    os.truncate(gemchat.write("huge.bin", b""), TARGET_LIMIT + 1)
    result = gemchat("ask", "what?", "huge.bin")
    assert (result.code, result.out) == (5, "")
    assert "huge.bin is too large: it has 32,000,001 bytes" in result.err


def test_a_large_file_that_the_model_holds_is_sent_as_a_diff(gemchat: Gemchat) -> None:
    lines = [f"line {number} of a file\n" for number in range(100_000)]
    gemchat.write("large.txt", "".join(lines).encode())
    assert gemchat("ask", "what?", "large.txt").code == 0
    lines[50_000:50_010] = ["changed\n"]
    gemchat.write("large.txt", "".join(lines).encode())
    result = gemchat("ask", "and now?", "--json")
    (file,) = json.loads(result.out)["sent"]["files"]
    assert (file["source"], file["reason"]) == ("delta", "changed +1 -10")
    assert gemchat.mind.belief.files["large.txt"] == "".join(lines)


def test_a_file_outside_is_taken_only_with_leave_and_then_stays_known(gemchat: Gemchat) -> None:
    other = gemchat.root.parent / "other.py"
    other.write_text("x = 1\n")
    refused = gemchat("edit", "two", "../other.py")
    assert refused.code == 5
    assert "--allow-outside" in refused.err
    gemchat.propose(("x = 1", "x = 2"))
    assert gemchat("edit", "two", "../other.py", "--allow-outside").code == 0
    assert gemchat.mind.belief.newest["path"] == "../other.py"
    assert gemchat("apply", "../other.py").code == 0
    assert other.read_text() == "x = 2\n"
    assert gemchat("ask", "and now?").code == 0
    assert gemchat("undo").code == 0
    assert other.read_text() == "x = 1\n"
    (gemchat.root.parent / "third.py").touch()
    assert gemchat("ask", "what?", "../third.py").code == 5


def test_a_link_that_leads_outside_needs_leave(gemchat: Gemchat) -> None:
    (gemchat.root.parent / "other.py").write_text("x = 1\n")
    (gemchat.root / "link.py").symlink_to("../other.py")
    (gemchat.root / "dir").symlink_to("..")
    for name in ("link.py", "dir/other.py"):
        assert gemchat("ask", "what?", name).code == 5
        assert gemchat("ask", "what?", "-c", name).code == 5
    assert gemchat("ask", "what?", "link.py", "--allow-outside").code == 0
    assert gemchat.mind.belief.newest["currentSource"] == "x = 1\n"
    assert gemchat("ask", "again?", "dir/other.py").code == 5


@pytest.mark.parametrize("name", ["../main", "a/b", ".hidden", "x.json", "", "a" * 65, "a\nb", "main/../../x"])
def test_a_session_has_a_plain_name(gemchat: Gemchat, name: str) -> None:
    before = sorted(gemchat.root.parent.rglob("*"))
    for arguments in (["new", name], ["sessions", "use", name], ["sessions", "rename", "main", name]):
        if name or arguments[0] != "new":
            assert gemchat(*arguments).code == 4
    if name:
        assert gemchat("ask", "what?", "-s", name).code == 4
    made = {path.name for path in set(gemchat.root.parent.rglob("*")) - set(before)}
    assert made <= {"state", "projects", "lock"} | {name for name in made if name.startswith("project-")}
    assert gemchat.requests == []
