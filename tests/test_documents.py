"""What is written beside the code stays true: commands in the README, the check that CI calls, completions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemchat import errors
from gemchat.cli.config import in_toml
from gemchat.cli.table import COMMANDS, Deferred
from gemchat.configtable import OPTIONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^.*python -m tests$", README, re.MULTILINE)
    assert command in (ROOT / ".ci/run").read_text().splitlines()


def test_the_first_command_installs_the_model_and_the_next_one_is_light() -> None:
    first, light = re.findall(r"^python3 -m venv .*gemchat demo$", README, re.MULTILINE)
    assert "install -q '.[local]' &&" in first
    assert light == first.replace("'.[local]'", ".")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_as_it_describes_itself(name: str) -> None:
    command = Deferred(name, help=COMMANDS[name][1])
    said = command.loaded().help.split("\n\n")[0].replace("\n", " ")
    assert (said, command.loaded().name) == (command.help, name)


def test_every_command_is_in_the_readme() -> None:
    assert len(COMMANDS) > 10
    for name in COMMANDS:
        assert re.search(rf"`{name}[` \[|]", README), name


def test_every_exit_code_is_in_the_readme() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for code in {kind.exit_code for kind in kinds if issubclass(kind, errors.GemchatError)}:
        assert f"\n| {code} |" in README


def test_every_setting_is_in_the_readme() -> None:
    (table,) = re.findall(r"<!-- settings: .*? -->\n(.*?)<!-- end of settings -->", README, re.DOTALL)
    assert table == "".join(f"{line}\n" for line in settings_table())


def settings_table() -> Iterator[str]:
    """The table of settings as the README has it."""
    yield "| setting | means | takes | default | environment | project's file |"
    yield "|---|---|---|---|---|---|"
    for row in OPTIONS:
        default = "" if row.default is None else f"`{in_toml(row.default)}`"
        variable = f"`{row.variable}`" if row.variable else ""
        cells = (f"`{row.name}`", row.about, row.takes, default, variable, "yes" if row.shared else "no")
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


@pytest.mark.parametrize(
    ("shell", "name"),
    [("bash", "gemchat.bash"), ("zsh", "_gemchat"), ("fish", "gemchat.fish"), ("powershell", "gemchat.ps1")],
)
def test_completions_are_fresh(shell: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = subprocess.run(
        [sys.executable, "-m", "gemchat", "--show-completion", shell], capture_output=True, text=True, check=True
    )
    assert shown.stdout == (ROOT / "completions" / name).read_text()


def test_a_tab_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GEMCHAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "gemchat ap")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = subprocess.run([sys.executable, "-m", "gemchat"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["apply"]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["config", "get", "cache"], ["cache_ttl"]),
        (["config", "unset", "local."], ["local.path", "local.url"]),
        (["config", "get", "pr"], ["project", "prices."]),
        (["ask", "--model", "l"], ["local"]),
        (["ask", "--model", "m"], ["mine-too", "mine"]),
    ],
)
def test_a_tab_completes_settings_and_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], completed: list[str]
) -> None:
    (tmp_path / "config.toml").write_text(
        'model = "mine-too"\n[prices]\nmine = {fresh = 1, cached = 1, output = 1}\n'
    )
    monkeypatch.setenv("GEMCHAT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("_GEMCHAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["gemchat", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    done = subprocess.run([sys.executable, "-m", "gemchat"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == completed
    assert done.stderr == ""


def test_the_picture_is_what_the_demo_shows() -> None:
    from tests.picture import PICTURE, drawn, screen

    assert drawn(screen()) == PICTURE.read_text("utf-8"), "draw it again: python -m tests.picture"
