"""What local commands load: the SDK and what it brings cost a second, so they must not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "google.genai",
    "pydantic",
    "httpx2",
    "asyncio",
    "rich",
    "http.server",
    "tomlkit",
    "keyring",
    "prompt_toolkit",
)

PROBE = f"""
import sys
from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
try:
    code = run(sys.argv[1:], Surroundings())
except SystemExit as ended:
    code = ended.code
sys.stderr.write(repr([code, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def probe(root: Path, *arguments: str, program: str = PROBE) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    found: tuple[int, list[str]] = tuple(eval(done.stderr.splitlines()[-1]))
    return found


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["status"], ["log"], ["sessions"], ["diff"], ["apply"], ["undo"], ["config"]],
)
def test_a_local_command_loads_nothing_heavy(project_root: Path, arguments: list[str]) -> None:
    code, loaded = probe(project_root, *arguments)
    assert loaded == []
    assert code == (5 if arguments[0] in ("diff", "apply", "undo") else 0)


@pytest.mark.parametrize(
    "line",
    ["gemchat -s ", "gemchat show ", "gemchat rewind --to ", "gemchat apply ", "gemchat ask x -m ", "gemchat "],
)
def test_a_tab_loads_nothing_heavy(project_root: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GEMCHAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split())))
    assert probe(project_root) == (0, [])


LIGHT = ("msgspec", "gemchat.view", "gemchat.project", "gemchat.cli.talk", "gemchat.cli.review")
UNUSED = ("gemchat.chat", "gemchat.prepare", "gemchat.core.planner", "gemchat.cli.talk", "filelock", "json")


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_what_is_about_no_project_loads_no_command(project_root: Path, argument: str) -> None:
    program = PROBE.replace(repr(HEAVY), repr(LIGHT))
    assert probe(project_root, argument, program=program) == (0, [])


@pytest.mark.parametrize("name", ["status", "log"])
def test_what_shows_state_loads_nothing_that_makes_turns(project_root: Path, name: str) -> None:
    program = PROBE.replace(repr(HEAVY), repr(UNUSED))
    assert probe(project_root, name, program=program) == (0, [])


@pytest.mark.parametrize("line", ["gemchat show ", "gemchat ask x -m ", "gemchat apply ", "gemchat sessions use "])
def test_a_tab_loads_nothing_that_runs_or_draws(
    project_root: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GEMCHAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split())))
    program = PROBE.replace(repr(HEAVY), repr(("gemchat.chat", "gemchat.view", "gemchat.report", "filelock")))
    assert probe(project_root, program=program) == (0, [])


def test_a_dry_run_does_not_load_the_sdk(project_root: Path) -> None:
    (project_root / "app.py").write_text("x = 1\n")
    assert probe(project_root, "ask", "what?", "app.py", "--dry-run") == (0, [])


def test_settings_are_read_without_loading_more(project_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project_root / "app.py").write_text("x = 1\n")
    (project_root / ".gemchat.toml").write_text("model = 'm'\n")
    assert probe(project_root, "ask", "what?", "app.py", "--dry-run") == (0, [])
    assert probe(project_root, "config", "set", "model", "m") == (0, ["tomlkit"])


def test_without_a_file_no_parser_is_loaded(project_root: Path) -> None:
    (project_root / "app.py").write_text("x = 1\n")
    program = PROBE.replace(repr(HEAVY), repr(("tomllib",)))
    assert probe(project_root, "ask", "what?", "app.py", "--dry-run", program=program) == (0, [])


STARTING = """
import sys
import gc, signal
before = set(sys.modules)
from gemchat.warm.meeting import has_parent
assert not has_parent()
looking = set(sys.modules) - before
from gemchat.warm.launch import launched
sys.stderr.write(repr((sorted(looking), sorted(set(sys.modules) - before))))
"""


def test_looking_for_a_parent_loads_nothing_and_finding_one_loads_sockets(project_root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STARTING], cwd=project_root, capture_output=True, check=True)
    looking, launching = eval(done.stderr)
    ours = {"gemchat", "gemchat.warm", "gemchat.warm.meeting"}
    assert set(looking) - {"__future__", "collections.abc"} == ours
    foreign = {"_socket", "array", "collections.abc", "errno", "math", "select", "selectors", "socket"}
    assert set(launching) - set(looking) - {"gemchat.warm.launch"} <= foreign
