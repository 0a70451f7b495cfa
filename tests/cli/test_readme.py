"""The README as a user would try it: its JSON is what comes out, its recipes run, its commands exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Gemchat
from tests.schemas import COMMANDS

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"^`gemchat ([^`]*--json)`[^`\n]*\n\n```json\n(.*?)```", README, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    (found,) = re.findall(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", fenced_off(README), re.MULTILINE | re.DOTALL)
    return str(found).replace("\0", "#")


def fenced_off(text: str) -> str:
    """Comments in code are no headings."""
    return re.sub(r"^(```.*?^```)", lambda m: m[0].replace("#", "\0"), text, flags=re.MULTILINE | re.DOTALL)


def blocks(title: str) -> list[str]:
    return re.findall(r"^```\w+\n(.*?)^```", section(title), re.MULTILINE | re.DOTALL)


def without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_numbers(inner) for inner in value]
    return 0 if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_the_json_of_the_readme_is_what_comes_out(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.mind.replies = ["It sets x.", '{"explanation":"As you wish.","proposedSource":"x = 2\\n"}']
    assert len(EXAMPLES) >= 5
    for line, shown in EXAMPLES:
        result = gemchat(*shlex.split(line))
        printed = json.loads(result.out or result.err)
        assert without_numbers(printed) == without_numbers(json.loads(shown)), f"{line}\n{result.out}{result.err}"


@pytest.fixture
def here(gemchat: Gemchat, tmp_path: Path) -> tuple[Gemchat, dict[str, str]]:
    """A git repository with a program and its failing test, and gemchat and python on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("gemchat", "-m gemchat"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    who = {f"GIT_{kind}_{what}": "a@b" for kind in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **gemchat.environ, **who, "PATH": f"{programs}:{os.environ['PATH']}"}
    environ["PYTHONDONTWRITEBYTECODE"] = "1"  # a scripted model edits twice within the second that bytecode knows
    gemchat.write("app.py", "def double(x):\n    return x\n")
    gemchat.write(
        "test_app.py",
        "import unittest\nimport app\n\n\nclass Test(unittest.TestCase):\n"
        "    def test(self):\n        self.assertEqual(app.double(2), 4)\n",
    )
    gemchat.write(".gitignore", "__pycache__\n")
    sh(gemchat, environ, "git init -q && git add . && git commit -qm 'A start'")
    return gemchat, environ


def sh(gemchat: Gemchat, environ: dict[str, str], script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script],
        cwd=gemchat.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def whole(text: str) -> str:
    return json.dumps({"explanation": "", "proposedSource": text})


def test_the_tour(here: tuple[Gemchat, dict[str, str]]) -> None:
    gemchat, environ = here
    checked = "VAT = 20\n\n\ndef net_price(gross):\n    if gross < 0:\n        raise ValueError(MESSAGE)\n"
    gemchat.write("shop.py", "VAT = 20\n\n\ndef net_price(gross):\n    return gross\n" + "# more\n" * 50)
    ask, refine, change, run, look = blocks("A tour of five minutes")

    def walk(script: str, *replies: str) -> str:
        gemchat.mind.replies = list(replies)
        done = sh(gemchat, environ, script)
        assert (done.returncode, gemchat.mind.replies) == (0, []), done.stderr
        return done.stderr

    said = walk(ask, "It returns it.", "The same.").splitlines()
    assert "shop.py sent in full" in said[0]
    assert "shop.py not sent" in said[1]
    first, second = (whole(checked.replace("MESSAGE", text) + "# more\n" * 50) for text in ('"no"', "gross"))
    assert walk(refine, first, second).count("shop.py not sent") == 2
    assert "raise ValueError(gross)" in (gemchat.root / "shop.py").read_text()
    assert "shop.py sent as a diff" in walk(change, "Yes.")
    applied = (gemchat.root / "shop.py").read_text()
    assert applied.startswith("VAT = 19\n")
    gemchat.write(
        "test_app.py",
        "import unittest\nfrom shop import VAT\n\n\nclass Test(unittest.TestCase):\n"
        "    def test(self):\n        self.assertEqual(VAT, 7)\n",
    )
    failing, *passing = run.splitlines(keepends=True)
    assert sh(gemchat, environ, failing).returncode == 1
    walk("".join(passing), whole(applied.replace("19", "7")))
    assert "FAIL" in str(gemchat.mind.belief.newest["attachments"])
    assert (gemchat.root / "shop.py").read_text() == applied, "undone"
    walk(look)
    assert gemchat("status", "--json").json["session"] == "refactoring"


def test_the_hook_stops_a_commit(here: tuple[Gemchat, dict[str, str]]) -> None:
    gemchat, environ = here
    (hook,) = blocks("Review before each commit")
    assert sh(gemchat, environ, hook).returncode == 0
    gemchat.write("app.py", "def double(x):\n    return 2 * x\n")
    commit = "git commit -qam 'Double'"
    gemchat.mind.replies = ["STOP: no test.", "OK"]
    stopped = sh(gemchat, environ, commit)
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "STOP: no test.\n" in stopped.stderr
    (attachment,) = gemchat.mind.belief.newest["attachments"]
    assert "+    return 2 * x\n" in attachment["text"]
    assert sh(gemchat, environ, commit).returncode == 0
    assert sh(gemchat, environ, "git log --format=%s").stdout == "Double\nA start\n"
    assert gemchat("status", "-s", "review", "--json").json["turns"] == 0, "reviews do not pile up"
    assert gemchat("sessions", "--json").json["current"] == "main"


@pytest.mark.parametrize("number", [0, 1])
def test_the_loop_ends_when_the_tests_pass(here: tuple[Gemchat, dict[str, str]], number: int) -> None:
    gemchat, environ = here
    gemchat.mind.replies = [
        whole("def double(x):\n    return x + 1\n"),
        whole("def double(x):\n    return 2 * x\n"),
        "never asked for",
    ]
    done = sh(gemchat, environ, blocks("Fix until the tests pass")[number])
    assert done.returncode == 0, done.stderr
    assert (gemchat.root / "app.py").read_text() == "def double(x):\n    return 2 * x\n"
    assert gemchat.mind.replies == ["never asked for"]
    assert "AssertionError: 3 != 4" in gemchat.mind.belief.newest["attachments"][0]["text"]


def test_the_git_alias_explains_a_commit(here: tuple[Gemchat, dict[str, str]]) -> None:
    gemchat, environ = here
    (alias,) = blocks("A git command")
    gemchat.mind.replies = ["It starts."]
    done = sh(gemchat, environ, alias)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It starts.\n", "")
    assert "A start" in gemchat.mind.belief.newest["attachments"][0]["text"]


@pytest.mark.skipif(not shutil.which("vim"), reason="the recipe is for Vim")
def test_vim_edits_and_asks(here: tuple[Gemchat, dict[str, str]], tmp_path: Path) -> None:
    gemchat, environ = here
    (commands,) = blocks("Commands for Vim")
    (tmp_path / "vimrc").write_text(commands)
    gemchat.mind.replies = [whole("def double(x):\n    return 2 * x\n"), "It doubles."]
    keys = ["Edit it's to double", "2Ask what's this?", "write! seen.py", "qa!"]
    script = "\n".join(keys)
    done = subprocess.run(
        ["vim", "-N", "-es", "-u", str(tmp_path / "vimrc"), "-i", "NONE", "app.py"],
        input=f"{script}\n",
        cwd=gemchat.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert gemchat.mind.replies == [], done.stderr
    assert (gemchat.root / "seen.py").read_text() == "def double(x):\n    return 2 * x\n", "vim has the new text"
    assert gemchat.mind.belief.newest["prompt"] == "what's this?"
    assert gemchat.mind.belief.newest["attachments"] == [{"name": "stdin", "text": "    return 2 * x\n"}]


def test_commands_and_options_of_the_readme_exist() -> None:
    lines = re.findall(r"gemchat ((?:[a-z]+|-)[^`\n|)]*)", README.split("## Exit codes")[0] + section("Recipes"))
    used = [words for line in lines if (words := named(line))]
    assert len(used) > 20
    for words in used:
        known, command = known_options(words)
        assert not {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)} - known, (command, words)


def named(line: str) -> list[str]:
    words = line.partition("#")[0].partition(" -- ")[0].split()
    return words if words[0] in COMMANDS.commands else []


def known_options(words: list[str]) -> tuple[set[str], str]:
    known, command, commands = {"--help"}, "", COMMANDS.commands
    for word in words:
        if word in commands:
            command, commands = word, {**getattr(commands[word], "commands", {}), "": commands[word]}
            known |= {option for param in commands[""].params for option in param.opts}
    return known, command


def test_every_option_is_in_the_readme() -> None:
    for name in ("ask", "edit", "diff", "apply", "log", "rewind"):
        for param in COMMANDS.commands[name].params:
            long = [option for option in param.opts if option.startswith("-")]
            assert not long or any(f"{option}" in README for option in long), (name, long)


def test_every_exit_code_has_a_remedy() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]*)\|$", section("Exit codes"), re.MULTILINE)
    assert [int(code) for code, _, _ in rows] == [*range(9), 130]
    assert all(len(remedy.strip()) > 10 for code, _, remedy in rows if code != "0")
