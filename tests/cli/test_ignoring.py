"""Ignore files as they are found: with lines that are no patterns, with hostile ones, links, pipes; and globs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from gemchat.ignoring import linear, rules_of, spec
from gemchat.selection import walk
from tests.cli.conftest import Gemchat

PATTERN = st.lists(st.sampled_from(["*", "**/", "/**/", "a", "b", "/", "?", "[ab]", "[!a]", r"\*"]), max_size=9)
PATH = st.lists(st.text("ab*", min_size=1, max_size=4), min_size=1, max_size=6).map("/".join)


@given(PATTERN.map("".join), PATH, st.sampled_from(["", "/"]))
@example("*a*b", "abcab", "")
@example("**/a/**/b/**/c", "a/b/a/b/c", "/")
def test_a_linear_pattern_is_the_same_pattern(pattern: str, path: str, end: str) -> None:
    try:
        regex, _ = GitIgnoreSpecPattern.pattern_to_regex(pattern)
    except ValueError:
        return
    if regex is not None:
        before, after = re.match(regex, path + end), re.match(linear(regex), path + end)
        assert (before and before.groupdict()) == (after and after.groupdict())


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 20 + "b", "a" * 250),
        ("*?" * 60 + "b", "a" * 250),
        ("*" * 60 + "b", "a" * 250),
        ("**/" + "a/**/" * 20 + "b", "a/" * 1000 + "c"),
        ("**/*a*a*a/**/*a*a*b/**/x", "aaaaaa/" * 300),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    assert spec(pattern).check_file(path).include is None
    assert spec(pattern).patterns


@pytest.mark.parametrize("line", ["!", "\\", "a\\", "[z-a]", "[", "!/", "[[:nothing:]]x", "[a&&b]"])
def test_a_line_that_is_no_pattern_says_nothing(gemchat: Gemchat, line: str) -> None:
    """Nor is it seen: warnings are errors here."""
    gemchat.write(".gitignore", f"first\n{line}\nlast\n")
    for name in ("first", "last", "other"):
        gemchat.write(name, "x\n")
    added = gemchat("context", "add", ".", "--json")
    assert added.code == 0
    assert [file["path"] for file in added.json["added"]] == [".gitignore", "other", "pyproject.toml"]


@pytest.mark.timeout(60)
def test_an_ignore_file_is_a_file_of_some_size(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "a/.gitignore").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "a/b/.gitignore")
    (tmp_path / "a/b/c/.gitignore").write_text("*\n" * 200_000)
    (tmp_path / "a/b/c/.aiexclude").write_text("out\n")
    for name in ("out", "in"):
        (tmp_path / "a/b/c" / name).touch()
    found = [path.name for path in walk(tmp_path, tmp_path / "a/b/c")]
    assert found == [".aiexclude", ".gitignore", "in"]


def test_rules_that_change_hold_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for rules, found in (("a\n", [".gitignore"]), ("b\n", [".gitignore", "a"])):
        (tmp_path / ".gitignore").write_text(rules)
        assert [path.name for path in walk(tmp_path, tmp_path)] == found
    (tmp_path / ".gitignore").unlink()
    assert rules_of(tmp_path, tmp_path) == []


def test_directories_may_be_deep(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(1200):
        deep /= "d"
        deep.mkdir()
    file = deep / "a"
    file.touch()
    try:
        assert list(walk(tmp_path, tmp_path)) == [file]
    finally:
        file.unlink()  # pytest removes directories by recursion
        for directory in (deep, *deep.parents)[:1200]:
            directory.rmdir()


@pytest.mark.timeout(60)
def test_a_glob_follows_no_links(gemchat: Gemchat) -> None:
    gemchat.write("a.py", "x\n")
    gemchat.write("lib/b.py", "x\n")
    for name in ("one", "two"):
        (gemchat.root / name).symlink_to(".")
    added = gemchat("context", "add", "**/*.py", "--json").json["added"]
    assert [file["path"] for file in added] == ["a.py", "lib/b.py"]


def test_a_glob_may_climb_and_start_anywhere(gemchat: Gemchat) -> None:
    for name in ("a.py", "lib/b.py", "lib/.c/d.py", "lib/.e.py"):
        gemchat.write(name, "x\n")
    (gemchat.root / "link").symlink_to("lib")
    for pattern, names in {
        "../*.py": ["a.py"],
        "../**/*.py": ["a.py", "lib/b.py"],
        "../*/./b.py": ["lib/b.py"],
        "../link/*.py": ["lib/b.py"],
        "**/.*.py": ["lib/.e.py"],
        ".?/*": ["lib/.c/d.py"],
        f"{gemchat.root}/l*b/*": ["lib/b.py"],
        "*/": [],
        "no/*": [],
        "a" * 300 + "*": [],
        "a" * 300 + "/*": [],
    }.items():
        added = gemchat("context", "add", pattern, "--json", directory=gemchat.root / "lib")
        assert [file["path"] for file in added.json["added"]] == names if names else added.code == 5, pattern
        gemchat("context", "rm", *names)
