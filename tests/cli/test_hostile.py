"""Text of models, files and users that tries to act on the terminal, on terminals of every kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pexpect
import pytest

from tests.cli.conftest import Gemchat
from tests.cli.test_processes import environ

HOSTILE = "[/red] \x1b[2J\x1b]0;title\x07 a\rb \x9b31m \u202eevil\u202c \u2066x\u2069 \ufeff {} %s \\1 :smile: é日"
ACTIVE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[[0-9]*[AK]|\x1b\[2K|\r(?=\n|\x1b|\r)")
COMMANDS = (
    ["edit", HOSTILE, "app.py"],
    ["diff"],
    ["log"],
    ["show", "2"],
    ["status"],
    ["ask", HOSTILE],
    ["show", "1"],
)


def prepared(gemchat: Gemchat) -> None:
    """A conversation in which everything that can be hostile is, but for names of files."""
    gemchat.write("app.py", "".join(f"line {n}\n" for n in range(50)) + f"{HOSTILE}\n")
    gemchat.mind.replies.append(f"# {HOSTILE}\n\n- {HOSTILE}\n\n```\n{HOSTILE}\n```\n")
    assert gemchat("ask", HOSTILE, "app.py").code == 0


def replies(gemchat: Gemchat, arguments: list[str]) -> None:
    if arguments[0] == "edit":
        gemchat.propose(("line 49\n", f"{HOSTILE}!\n"), explanation=HOSTILE)
    elif arguments[0] == "ask":
        gemchat.mind.replies.append(
            f"| a | b |\n|---|---|\n| {HOSTILE} | {HOSTILE} |\n\n> {HOSTILE}\n\n1. {HOSTILE}"
        )


def on_terminal(gemchat: Gemchat, arguments: list[str], width: int, **more: str) -> tuple[int, str]:
    process: Any = pexpect.spawn(
        sys.executable,
        ["-m", "gemchat", *arguments],
        cwd=str(gemchat.root),
        env={**environ(gemchat), "TERM": "xterm-256color", **more},
        encoding="utf-8",
        codec_errors="replace",
        dimensions=(40, width),
        timeout=60,
    )
    if arguments[0] == "edit":
        process.expect(r"\[k\]eep ")
        process.send("k")
    shown = (process.before or "") if arguments[0] == "edit" else ""
    shown += process.read()
    process.close()
    return process.exitstatus, shown


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (10, {}),
        (80, {}),
        (400, {}),
        (20, {"TERM": "dumb"}),
        (80, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}),
    ],
    ids=["narrow", "usual", "wide", "dumb", "ascii"],
)
def test_nothing_acts_on_a_terminal(gemchat: Gemchat, width: int, more: dict[str, str]) -> None:
    prepared(gemchat)
    for arguments in COMMANDS:
        replies(gemchat, arguments)
        code, shown = on_terminal(gemchat, arguments, width, **more)
        assert code == 0, (arguments, shown)
        left = OWN.sub("", shown)
        assert not ACTIVE.search(left), (arguments, left)
        assert "\x1b" not in left, (arguments, left)
        assert "Traceback" not in shown
        if arguments != ["status"] and width > 20:
            assert "\\x1b[2J" in left, arguments
            assert "[/red]" in left, arguments


@pytest.mark.parametrize("more", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}])
def test_nothing_acts_from_json_or_from_the_error_stream_and_nothing_is_lost(
    gemchat: Gemchat, more: dict[str, str]
) -> None:
    prepared(gemchat)
    for arguments in COMMANDS:
        replies(gemchat, arguments)
        done = subprocess.run(
            [sys.executable, "-m", "gemchat", *arguments, "--json"],
            cwd=gemchat.root,
            env={**environ(gemchat), **more},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        assert not ACTIVE.search(done.stdout.decode()), arguments
        assert b"\x1b" not in done.stdout
        assert done.stderr == b""
        if arguments[0] == "edit":
            assert json.loads(done.stdout)["reply"] == HOSTILE
    (first, *_) = gemchat("log", "--json").json["turns"]
    assert first["prompt"] == HOSTILE


def test_an_error_that_quotes_hostile_text(gemchat: Gemchat) -> None:
    for arguments in (
        ["ask", "x", HOSTILE.replace("/", "")],
        ["ask", "x", "-s", HOSTILE],
        [HOSTILE],
        ["ask", "x", "--backend", HOSTILE],
    ):
        plain = gemchat(*arguments)
        assert plain.code in (2, 4, 5)
        assert not ACTIVE.search(plain.err)
        assert "\x1b" not in plain.err
        as_json = gemchat(*arguments, "--json")
        assert not ACTIVE.search(as_json.err)
        assert json.loads(as_json.err)["error"]["code"] == plain.code


def test_a_hostile_file_name(gemchat: Gemchat) -> None:
    name = f"{HOSTILE.replace('/', '')}.txt"
    gemchat.write(name, "a\n" * 70)
    gemchat.propose(("a\n" * 70, "b\n"))
    assert gemchat("edit", "x", name, "-c", name).code == 0
    for arguments in (["status"], ["log"], ["diff", "--stat"], ["context"], ["apply"]):
        result = gemchat(*arguments)
        assert result.code == 0
        assert not ACTIVE.search(result.out)
        assert "\x1b" not in result.out
