"""Every command in a pipe: stdout has the result and nothing that only a terminal understands."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Gemchat
from tests.cli.test_schemas import RUNS, answer_the_runs
from tests.schemas import command_of, commands

MORE = [
    ["chat"],
    ["export"],
    ["log", "-v"],
    ["run", "--", sys.executable, "-c", "print('done')"],
    ["watch"],
    ["local", "stop"],
    ["warm", "stop"],
    ["local", "rm"],
    ["demo", "--scripted"],
    ["config", "set", "horizon", "4"],
    ["config", "unset", "horizon"],
    ["config", "path"],
    ["config", "unset-key"],
]
SAYS_NOTHING = {
    "watch",
    "chat",
    "rewind",
    "new",
    "sessions use",
    "sessions rename",
    "sessions rm",
    "config set",
    "config unset",
    "config unset-key",
}


def test_every_command_is_tried() -> None:
    """But for the one that wants a secret on stdin, and the one that needs a terminal."""
    assert {command_of(run) for run in [*RUNS, *MORE]} == {name for name, _ in commands()} - {
        "config set-key",
        "pick",
    }


def test_nothing_in_a_pipe_is_meant_for_a_terminal(gemchat: Gemchat, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    answer_the_runs(gemchat)
    for run in [*RUNS, *MORE]:
        code, out, err = gemchat(*run)
        assert code == 0, err
        assert all(char.isprintable() or char in "\n\t" for char in out + err), run
        assert bool(out) == (command_of(run) not in SAYS_NOTHING), run
        assert out == "" or out.endswith("\n")
        assert gemchat(*run[:1], "--help").code == 0
