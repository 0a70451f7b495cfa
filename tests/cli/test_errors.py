from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
from tests.cli.conftest import Gemchat


def test_no_key(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    del gemchat.environ["GEMINI_API_KEY"]
    code, out, err = gemchat("ask", "what?", "app.py")
    assert (code, out) == (3, "")
    assert err.startswith("gemchat: there is no Gemini API key\n")
    assert "https://aistudio.google.com/apikey" in err
    assert "gemchat demo" in err
    assert gemchat.requests == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ask", "what?", "missing.py"], 5, "there is no file missing.py"),
        (["ask", "what?", "app.py", "-c", "missing.py"], 5, "there is no file missing.py"),
        (["edit", "what?", "missing/dir/new.py"], 5, "missing/dir"),
        (["edit", "what?"], 2, "edit needs a file to work on"),
        (["edit", "what?", "app.py", "--format", "xml"], 2, "there is no format 'xml'"),
        (["ask", " "], 2, "the prompt is empty"),
        (["ask"], 2, "Missing argument"),
        (["ask", "x", "--bad"], 2, "No such option: --bad"),
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["log", "-n", "0"], 2, "-n"),
        (["diff", "--color", "blue"], 2, "there is no colour mode 'blue'"),
        (["ask", "x", "--backend", "soap"], 2, "--backend must be auto, interactions or contents, not soap"),
        (["ask", "x", ".."], 5, "outside the project"),
        (["ask", "x", "/etc/passwd"], 5, "outside the project"),
        (["ask", "x", "dir"], 5, "not a regular file"),
        (["ask", "x", "binary"], 5, "binary is a binary file"),
        (["ask", "x", "latin1"], 5, "latin1 is not UTF-8 text (byte 0xe9 at offset 1)"),
        (["ask", "x", "link"], 5, "outside the project"),
        (["apply"], 5, "nothing is pending"),
        (["discard"], 5, "nothing is pending"),
        (["undo"], 5, "nothing has been applied"),
        (["redo"], 5, "nothing has been undone"),
        (["ask", "x", "--project", "nowhere"], 5, "nowhere"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    gemchat: Gemchat, arguments: list[str], code: int, said: str
) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.write("binary", b"a\0b")
    gemchat.write("latin1", b"h\xe9")
    gemchat.write("dir/file", "")
    (gemchat.root / "link").symlink_to("/etc/hostname")
    result = gemchat(*arguments)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert "Traceback" not in result.err
    assert gemchat.requests == []


def test_an_error_as_json(gemchat: Gemchat) -> None:
    result = gemchat("apply", "--json")
    assert (result.code, result.out) == (5, "")
    assert json.loads(result.err) == {
        "error": {
            "code": 5,
            "kind": "NothingPending",
            "message": "nothing is pending",
            "hint": 'Ask for a change first: gemchat edit "…" FILE',
        }
    }
    assert json.loads(gemchat("apply", "--bad", "--json").err)["error"]["kind"] == "UsageError"
    assert gemchat("ask", "--", "--json").code in (0, 5)


def test_a_bad_key_is_named_without_being_shown(gemchat: Gemchat) -> None:
    gemchat.environ["GEMINI_API_KEY"] = "wrong key"
    result = gemchat("ask", "hello")
    assert result.code == 3
    assert "wrong key" not in result.err


def test_a_service_that_is_not_there(gemchat: Gemchat) -> None:
    gemchat.server.close()
    result = gemchat("ask", "hello")
    assert result.code == 7
    assert "Traceback" not in result.err
    assert gemchat("log", "--json").json["turns"] == []


def test_a_bug_is_logged_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def broken_clock() -> float:
        raise ZeroDivisionError("secret detail of a-real-key-of-some-length")

    environ = {"GEMCHAT_STATE_DIR": str(tmp_path / "state"), "GEMINI_API_KEY": "a-real-key-of-some-length"}
    here = Surroundings(environ=environ, directory=tmp_path, clock=broken_clock)
    assert run(["status"], here) == 1
    out, err = capsys.readouterr()
    log = tmp_path / "state/gemchat.log"
    assert out == ""
    assert err == f"gemchat: this is a bug in gemchat: ZeroDivisionError\nPlease report it with: {log}\n"
    assert "secret detail of [API key]" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_state_directory_that_cannot_be_written(gemchat: Gemchat, tmp_path: Path) -> None:
    gemchat.write("app.py", "x = 1\n")
    (tmp_path / "file").touch()
    gemchat.environ["GEMCHAT_STATE_DIR"] = str(tmp_path / "file/state")
    for arguments in (["ask", "what?", "app.py"], ["ask", "what?"], ["new"], ["apply"]):
        result = gemchat(*arguments)
        assert (result.code, result.out) == (4, "")
        assert "state" in result.err


def test_a_link_to_itself(gemchat: Gemchat) -> None:
    (gemchat.root / "loop").symlink_to("loop")
    assert gemchat("ask", "what?", "loop").code == 5


def test_an_unknown_home_is_said(gemchat: Gemchat) -> None:
    gemchat.environ["GEMCHAT_STATE_DIR"] = "~nobody-of-that-name/state"
    assert gemchat("status").code == 3


def test_a_file_name_that_no_model_can_be_told(gemchat: Gemchat) -> None:
    result = gemchat("ask", "what?", "bad\udcff.py")
    assert result.code == 5
    assert "is not UTF-8" in result.err


def test_help_and_version(gemchat: Gemchat) -> None:
    assert gemchat("--version") == (0, "gemchat 0.1.0\n", "")
    assert gemchat() == gemchat("--help")
    assert gemchat("--help").code == 0
    assert "apply" in gemchat("--help").out
