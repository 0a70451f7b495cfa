"""What is known of watched files, and what that costs; what they lead to is in cli/test_watch.py."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from gemchat import ignoring
from gemchat.watching import Watched, file_key, output_files, saved_files
from gemchat.workspace import Workspace

ASKED = "# gemchat? why\n"


def watched(root: Path, *named: Path, notes: list[str] | None = None, outputs: Sequence[Path] = ()) -> Watched:
    return Watched(
        Workspace(root),
        named or [root],
        encodings={},
        is_own=lambda _: False,
        is_stored=lambda _: False,
        note=([] if notes is None else notes).append,
        outputs=[file_key(file) for file in outputs],
    )


def said(files: Watched, *names: Path) -> list[str]:
    return [remark.prompt for saved in files.appeared(map(str, names)) for remark in saved.remarks]


def test_all_that_was_forgotten_is_new_again(tmp_path: Path) -> None:
    """Also a line below it, which counts as there already if it is not forgotten, too."""
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    files = watched(tmp_path)
    files.begin()
    file.write_text("# gemchat? one\n# and more\nx = 1\n# gemchat? two\n# gemchat: three\n")
    (saved,) = files.appeared([str(file)])
    one, two, _ = saved.remarks
    files.forget(saved, [one])
    files.forget(saved, [two])
    assert said(files, file) == ["one\nand more", "two"]
    file.write_text(file.read_text() + "\n")
    assert said(files, file) == []


def test_a_file_that_it_writes_itself_is_none_of_them(tmp_path: Path) -> None:
    log = tmp_path / "watch.log"
    log.touch()
    files, others = watched(tmp_path, outputs=[log]), watched(tmp_path)
    assert (files.begin(), others.begin()) == (0, 1)
    log.write_text(ASKED)
    assert said(files, log) == []
    assert said(others, log) == ["why"]


def test_where_its_output_goes_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    """To files, while pytest captures it."""
    assert output_files() == {file_key(1), file_key(2)}
    with Path("/dev/null").open("rb") as null:
        assert file_key(null.fileno()) not in output_files()


def test_a_line_as_it_is_counts_in_a_file_that_is_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.log"):
        (tmp_path / name).touch()
    below, named = watched(tmp_path), watched(tmp_path, tmp_path / "a.txt", tmp_path / "b.log")
    assert (below.begin(), named.begin()) == (2, 2)
    for name in ("a.txt", "b.log"):
        (tmp_path / name).write_text("gemchat: do it\n")
        assert said(below, tmp_path / name) == []
        assert said(named, tmp_path / name) == ["do it"]


def test_a_directory_named_through_a_link_is_watched(tmp_path: Path) -> None:
    file = tmp_path / "src/a.py"
    file.parent.mkdir()
    file.write_text("x = 1\n")
    (tmp_path / "link").symlink_to("src")
    files = watched(tmp_path, tmp_path / "link")
    assert files.begin() == 1
    assert files.named == {tmp_path / "src"}, "where changes are told of"
    file.write_text(ASKED)
    assert said(files, file) == ["why"]


def test_links_to_directories_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").touch()
    root = tmp_path / "root"
    root.mkdir()
    files = watched(root)
    (root / "link").symlink_to(outside)
    assert files.begin() == 0
    assert list(files._files([root / "link"])) == []


def test_rules_are_read_once_and_asked_for_once_per_directory(tmp_path: Path) -> None:
    deep = tmp_path / "a/b/c"
    deep.mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.o\n")
    sources = [deep / f"{number}.py" for number in range(100)]
    for file in (*sources, deep / "x.o"):
        file.touch()
    files = watched(tmp_path)
    before = ignoring._read.cache_info()
    assert files.begin() == 101, "with the ignore file"
    assert said(files, *sources, deep / "x.o") == []
    after = ignoring._read.cache_info()
    assert after.misses - before.misses == 1
    assert after.hits - before.hits <= 2


def test_no_file_of_an_ignored_directory_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    built = [tmp_path / "build" / f"{number}.py" for number in range(10)]
    built[0].parent.mkdir()
    for file in built:
        file.write_text(ASKED)
    assert list(watched(tmp_path)._files([*built, tmp_path / "build"])) == []


def test_of_a_large_file_little_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("".join(f"{number},é\n" for number in range(300_000)))
    (tmp_path / "a.py").write_text("x = 1\n" * 1000 + ASKED + "y = 2\n" * 10_000)
    files = watched(tmp_path)
    assert files.begin() == 2
    assert len(pickle.dumps(files._known)) < 2_000


def test_a_file_of_more_than_four_megabytes_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ASKED + "#" * 4_000_000)
    (tmp_path / "b.py").write_text(ASKED + "#" * 3_000_000)
    files = watched(tmp_path)
    assert said(files, tmp_path / "a.py", tmp_path / "b.py") == ["why"]


def test_many_at_once_are_nobodys_wishes(tmp_path: Path) -> None:
    file, notes = tmp_path / "a.py", list[str]()
    files = watched(tmp_path, notes=notes)
    file.write_text("".join(f"# gemchat? {number}\n" for number in range(21)))
    assert said(files, file) == []
    assert notes == ["a.py: 21 new ones at once are more than 20, so its comments are left alone"]
    file.write_text(file.read_text() + ASKED)
    assert said(files, file) == ["why"]


def test_beside_a_named_file_nothing_deeper_is_watched(tmp_path: Path) -> None:
    """What changes below comes first, and would be told of first."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "src").mkdir()
    file = tmp_path / "app.py"
    file.touch()
    with closing(saved_files([file, tmp_path / "src"])) as bunches:
        assert next(bunches) == ()
        told: set[str] = set()
        (tmp_path / "sub/a.py").touch()
        (tmp_path / "src/b.py").touch()
        file.write_text("x")
        while not told >= {str(file), str(tmp_path / "src/b.py")}:
            told.update(next(bunches))
    assert str(tmp_path / "sub/a.py") not in told
