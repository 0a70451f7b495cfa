"""Ctrl-Z and fg in a real shell: the terminal is the shell's meanwhile, and the question stands afterwards."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest
from msgspec.structs import replace

from tests.cli.conftest import Gemchat
from tests.gemini.loopback import Service, as_events
from tests.gemini.script import events

SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"
GEMCHAT = f"{shlex.quote(sys.executable)} -m gemchat"


@pytest.fixture
def shell(gemchat: Gemchat) -> Iterator[Any]:
    environ = {**os.environ, **gemchat.environ, "TERM": "xterm-256color", "PS1": "", "PS2": ""}
    process = pexpect.spawn(
        "bash", ["--norc", "--noprofile", "-i"], cwd=str(gemchat.root), env=environ, encoding="utf-8",
        dimensions=(40, 100), timeout=60, echo=False,
    )  # fmt: skip
    process.sendline("bind 'set enable-bracketed-paste off'; PS1=; PS2=; echo ready; echo")
    process.expect("ready\r\n\r\n")
    yield process
    process.close(force=True)


def last_said_of_the_cursor(shell: Any) -> str:
    return max((SHOWN, HIDDEN), key=shell.before.rfind)


@pytest.mark.parametrize("where", ["thinking", "words"])
def test_the_cursor_is_there_while_a_turn_is_stopped(gemchat: Gemchat, shell: Any, where: str) -> None:
    with Service() as service:
        service.enqueue(replace(as_events(events("Some words ", "and more.")), pause=0.4))
        shell.sendline(f"export GOOGLE_GEMINI_BASE_URL={service.url}; {GEMCHAT} ask well?")
        shell.expect(where)
        shell.sendcontrol("z")
        shell.expect("Stopped")
        assert last_said_of_the_cursor(shell) == SHOWN
        shell.sendline("fg; echo left $?")
        shell.expect("Some words and more")
        shell.expect("left 0")
        assert last_said_of_the_cursor(shell) == SHOWN


def test_a_question_is_asked_again_and_answered_by_a_key(gemchat: Gemchat, shell: Any) -> None:
    file = gemchat.write("app.py", "x = 1\n")
    gemchat.propose(("x = 1\n", "x = 2\n"))
    shell.sendline(f"{GEMCHAT} edit two app.py; echo left $?")
    shell.expect(r"\[o\]pen ")
    shell.sendcontrol("z")
    shell.expect("Stopped")
    shell.sendline("fg; echo left $?")
    shell.expect(r"\[o\]pen ")
    shell.send("a")
    shell.expect("left 0")
    assert "applied; take it back" in shell.before
    assert file.read_text() == "x = 2\n"


def test_keys_typed_before_the_change_is_shown_do_not_answer(gemchat: Gemchat, shell: Any) -> None:
    file = gemchat.write("app.py", "x = 1\n")
    reply = '{"explanation":"Words.","proposedSource":"x = 2\\n"}'
    with Service() as service:
        service.enqueue(replace(as_events(events(reply)), pause=0.4))
        shell.sendline(f"export GOOGLE_GEMINI_BASE_URL={service.url}; {GEMCHAT} edit two app.py; echo left $?")
        shell.expect("thinking")
        shell.send("a")
        shell.expect(r"\[o\]pen ")
        shell.send("d")
        shell.expect("left 0")
        assert "discarded; no file was touched" in shell.before
    assert file.read_text() == "x = 1\n"
