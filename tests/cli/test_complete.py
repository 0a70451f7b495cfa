"""What the tab key offers, asked for as bash does, and never more than an empty answer when something is wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gemchat.cli.complete import MODELS
from tests.cli.conftest import Gemchat


def tab(gemchat: Gemchat, line: str, directory: Path | None = None, shell: str = "bash") -> list[str]:
    """What is offered for the last, possibly empty, word of the line."""
    done = subprocess.run(
        [sys.executable, "-m", "gemchat"],
        env={
            **os.environ,
            **gemchat.environ,
            "_GEMCHAT_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_WORD_TO_COMPLETE": line.rsplit(" ", maxsplit=1)[-1],
        },
        cwd=directory or gemchat.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [word for word in done.stdout.split("\n") if word]


@pytest.fixture
def worked(gemchat: Gemchat) -> Gemchat:
    """Two sessions; the one in use has two turns and a pending change of a file in a directory."""
    gemchat.write("src/app.py", "x = 1\n")
    gemchat("new", "work")
    gemchat("ask", "what?", "src/app.py", "-m", "my-model")
    gemchat.mind.replies = ['{"explanation":"","proposedSource":"x = 2\\n"}']
    assert gemchat("edit", "two").code == 0
    return gemchat


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gemchat sessions use ", ["work", "main"]),
        ("gemchat sessions rm w", ["work"]),
        ("gemchat sessions rename ", ["work", "main"]),
        ("gemchat status -s w", ["work"]),
        ("gemchat ask hello --session ", ["work", "main"]),
        ("gemchat show ", ["2", "1"]),
        ("gemchat show -s main ", []),
        ("gemchat rewind --to ", ["2", "1"]),
        ("gemchat ask hello -m ", ["gemini-3.8-flash", "my-model", *MODELS]),
        ("gemchat ask hello --model my", ["my-model"]),
        ("gemchat ask hello --backend c", ["contents"]),
        ("gemchat edit hello --thinking ", ["low", "medium", "high"]),
        ("gemchat apply ", ["src/app.py"]),
        ("gemchat diff s", ["src/app.py"]),
        ("gemchat discard x", []),
        ("gemchat rew", ["rewind"]),
    ],
)
def test_what_the_state_offers(worked: Gemchat, line: str, offered: list[str]) -> None:
    assert tab(worked, line) == offered


def test_pending_files_are_named_from_here(worked: Gemchat) -> None:
    assert tab(worked, "gemchat apply ", worked.root / "src") == ["app.py"]


def test_another_project_can_be_named(worked: Gemchat, tmp_path: Path) -> None:
    assert tab(worked, "gemchat show ", tmp_path) == []
    assert tab(worked, f"gemchat show --project {shlex.quote(str(worked.root))} ", tmp_path) == ["2", "1"]


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_other_shells_are_offered_the_same(worked: Gemchat, shell: str) -> None:
    assert "work" in "".join(tab(worked, "gemchat sessions use w", shell=shell))


def test_a_tab_neither_repairs_nor_complains(worked: Gemchat) -> None:
    (file,) = Path(worked.environ["GEMCHAT_STATE_DIR"]).rglob("sessions/work.json")
    file.write_text("{")
    assert tab(worked, "gemchat show ") == []
    assert tab(worked, "gemchat apply ") == []
    assert file.read_text() == "{"
    worked.environ["GEMCHAT_STATE_DIR"] = "~nobody-of-that-name/state"
    assert tab(worked, "gemchat show ") == []


def test_bash_completes_with_the_script_of_the_repository(worked: Gemchat, tmp_path: Path) -> None:
    script = Path(__file__).parent.parent.parent / "completions/gemchat.bash"
    command = tmp_path / "gemchat"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gemchat "$@"\n')
    command.chmod(0o755)
    asked = f"""source {shlex.quote(str(script))}
COMP_WORDS=(gemchat sessions use ''); COMP_CWORD=3
_gemchat_completion gemchat
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        cwd=worked.root,
        env={**os.environ, **worked.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["work", "main"]
