from __future__ import annotations

import pytest

from gemchat.core.tree import Listed, overview

FILES = [
    Listed(path="zoo.txt", bytes=17),
    Listed(path="src/app/main.py", bytes=1234, symbols=("main", "App")),
    Listed(path="src/app/util.py", bytes=999),
    Listed(path="src/lib/app/x.go", bytes=34_567),
    Listed(path="src/top.py", bytes=5_649_000),
    Listed(path="src-other/a", bytes=0),
]


def test_a_tree_with_sizes_and_names() -> None:
    assert overview(FILES) == (
        "src/\n"
        "  app/\n"
        "    main.py 1.2 kB: main, App\n"
        "    util.py 1 kB\n"
        "  lib/\n"
        "    app/\n"
        "      x.go 35 kB\n"
        "  top.py 5.6 MB\n"
        "src-other/\n"
        "  a 0 B\n"
        "zoo.txt 17 B"
    )
    assert overview([]) == ""


@pytest.mark.parametrize(("before", "after", "same"), [(1234, 1240, True), (1234, 1299, False), (12, 13, False)])
def test_a_small_edit_leaves_it_as_it_is(before: int, after: int, same: bool) -> None:
    one, other = (overview([Listed(path="a", bytes=size)]) for size in (before, after))
    assert (one == other) is same


def test_a_large_project_loses_names_first_and_says_so() -> None:
    files = [Listed(path=f"f{number}", bytes=1, symbols=("name",) * 10) for number in range(100)]
    without = overview(files, limit=400)
    assert without.splitlines()[-2:] == ["f99 1 B", "(names are left out: the project is too large)"]
    assert "name," not in without
    cut = overview(files, limit=100)
    assert cut.splitlines()[-1] == "(names and many files are left out: the project is too large)"
    assert 10 < len(cut.splitlines()) < 100
