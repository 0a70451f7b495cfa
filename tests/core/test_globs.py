"""Globs against paths: what the standard library finds on a disk is what matches."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.globs import matches

FILES = ["a.py", "b.txt", ".hidden", "x/a.py", "x/.b/a.py", "x/y/a.py", "x/y/z/[a].py", ".x/a.py", "**/a"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@given(
    parts=st.lists(
        st.sampled_from(["**", "*", "*.py", "?.py", "[!b]*", ".*", "x", ".b", "[[]a].py", "a.py", "y*", "[z-a]"]),
        min_size=1,
        max_size=4,
    )
)
def test_it_matches_what_glob_finds(tree: Path, parts: list[str]) -> None:
    found = glob.glob("/".join(parts), root_dir=tree, recursive=True)  # noqa: PTH207  the law is about it
    files = {name for name in found if (tree / name).is_file() and not name.endswith("/")}
    assert {name for name in FILES if matches(parts, name.split("/"))} == files


@pytest.mark.timeout(60)
def test_many_stars_and_many_directories_take_no_time() -> None:
    assert not matches(["**", "a"] * 40, ["a"] * 79 + ["b"])
    assert not matches(["*a" * 40 + "b"], ["a" * 250])
