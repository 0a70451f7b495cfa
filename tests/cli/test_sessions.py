from __future__ import annotations

import stat
from pathlib import Path

from tests.cli.conftest import Gemchat


def test_each_session_has_its_own_conversation(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat("ask", "what?", "app.py")
    assert gemchat("new", "second") == (0, "", "gemchat: using the new session second\n")
    assert gemchat("ask", "what?", "app.py", "--json").json["sent"]["files"][0]["source"] == "full"
    assert gemchat("ask", "why?", "-s", "main", "--json").json["sent"]["files"][0]["source"] == "synchronized"
    assert gemchat("sessions").out == "  main\n* second\n"
    assert gemchat("sessions", "use", "main").code == 0
    assert gemchat("sessions", "list", "--json").json == {"current": "main", "sessions": ["main", "second"]}


def test_the_environment_names_a_session(gemchat: Gemchat) -> None:
    gemchat("new", "second")
    gemchat.environ["GEMCHAT_SESSION"] = "main"
    assert gemchat("status", "--json").json["session"] == "main"
    assert gemchat("status", "-s", "second", "--json").json["session"] == "second"


def test_names_are_found_renamed_and_removed(gemchat: Gemchat) -> None:
    gemchat("new")
    gemchat("new")
    assert gemchat("sessions").out == "  chat-2\n* chat-3\n"
    assert gemchat("sessions", "rename", "chat-3", "work").code == 0
    assert gemchat("sessions").out == "  chat-2\n* work\n"
    assert gemchat("sessions", "rm", "chat-2").code == 0
    assert gemchat("sessions").out == "* work\n"


def test_removing_the_session_in_use_goes_back_to_the_first(gemchat: Gemchat) -> None:
    gemchat("new", "work")
    assert gemchat("sessions", "rm", "work").code == 0
    assert gemchat("status", "--json").json["session"] == "main"
    assert gemchat("sessions", "use", "main").code == 0


def test_what_is_not_there_is_an_error(gemchat: Gemchat) -> None:
    missing = (4, "", "gemchat: there is no session named nope\nCreate it with: gemchat new nope\n")
    assert gemchat("sessions", "use", "nope") == missing
    assert gemchat("sessions", "rm", "nope") == missing
    assert gemchat("sessions", "rename", "nope", "x") == missing
    assert gemchat("status", "-s", "nope") == missing
    gemchat("new", "taken")
    assert gemchat("new", "taken").code == 4
    gemchat("new", "other")
    assert gemchat("sessions", "rename", "other", "taken").code == 4


def test_names_cannot_leave_the_directory(gemchat: Gemchat) -> None:
    for name in ("../evil", "a/b", "", ".hidden", "x.json", "x.bak", "n" * 65):
        result = gemchat("new", name)
        assert result.code == (4 if name else 0)
    assert not list(gemchat.root.parent.rglob("evil*"))


def test_state_is_private(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat("ask", "what?", "app.py")
    state = Path(gemchat.environ["GEMCHAT_STATE_DIR"])
    entries = [state, *state.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in entries if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in entries if path.is_file()} == {0o600}


def test_the_log_lists_turns(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.mind.replies = ["a", '{"explanation":"","proposedSource":"x = 2\\n"}']
    gemchat("ask", "first\nquestion \x1b[31m", "app.py")
    gemchat("edit", "second", "-y")
    lines = gemchat("log").out.splitlines()
    assert len(lines) == 4
    assert lines[0].split(maxsplit=5)[3:] == ["ask", "answered", "first question \\x1b[31m"]
    assert "applied" in lines[2]
    assert gemchat("log", "-n", "1", "--json").json["turns"][0]["outcome"] == "applied"


def test_the_status_tells_where_files_stand(gemchat: Gemchat) -> None:
    assert "0 turns" in gemchat("status").out
    text = "".join(f"line {number}\n" for number in range(70))
    file = gemchat.write("app.py", text)
    gemchat("ask", "what?", "app.py")
    assert "app.py: synchronized with the model\n" in gemchat("status").out
    file.write_text(f"{text}more\n")
    assert "app.py: changed +1 -0 since the model saw it\n" in gemchat("status").out
    gemchat.propose(("more\n", "less\n"))
    gemchat("edit", "less")
    assert "app.py: synchronized with the model; proposal pending\n" in gemchat("status").out
    file.write_text("other\n")
    target = gemchat("status", "--json").json["targets"][0]
    assert (target["state"], target["proposal"]) == ("changed", "stale")
    file.unlink()
    assert gemchat("status", "--json").json["targets"][0]["state"] == "absent"
