from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.diff import (
    apply_hunks,
    apply_patch,
    count,
    git_patch,
    hunks,
    parsed,
    short_diff,
    split_lines,
    unified,
)
from gemchat.core.opcodes import opcodes
from tests.core.strategies import texts


@given(texts())
def test_lines_join_to_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text
    assert all(line.endswith("\n") for line in split_lines(text)[:-1])


@given(texts(), texts())
def test_opcodes_cover_both_sides_and_agree_on_what_is_equal(old: str, new: str) -> None:
    before, after = split_lines(old), split_lines(new)
    a = c = 0
    for tag, start, end, new_start, new_end in opcodes(before, after):
        assert (start, new_start) == (a, c)
        assert (tag == "equal") == (before[start:end] == after[new_start:new_end])
        a, c = end, new_end
    assert (a, c) == (len(before), len(after))


@given(texts(max_lines=40), texts(max_lines=40))
def test_a_diff_applied_to_the_old_text_gives_the_new_one(old: str, new: str) -> None:
    diff = unified(old, new, old_name="a", new_name="b")
    assert bool(diff) == (old != new)
    assert apply_patch(old, diff) == new


@given(texts(max_lines=40), texts(max_lines=40), st.integers(0, 300))
def test_a_diff_is_written_if_there_is_room_for_it(old: str, new: str, room: int) -> None:
    whole = unified(old, new, old_name="f", new_name="f", context=1)
    if old == new:
        return
    expected = (whole, *count(parsed(whole))) if len(whole) <= room else None
    assert short_diff(old, new, "f", room) == expected


def test_changes_far_apart_need_little_room() -> None:
    lines = [f"line {number}\n" for number in range(300)]
    new = [*lines[:10], "more\n", *lines[10:290], "end\n", *lines[290:]]
    whole = unified("".join(lines), "".join(new), old_name="f", new_name="f", context=1)
    assert short_diff("".join(lines), "".join(new), "f", len(whole)) == (whole, 2, 0)


def test_a_diff_that_is_too_long_is_not_begun() -> None:
    old = "".join(f"line {number}\n" for number in range(3000))
    shorter = old.replace("line 5", "row 5")
    whole = unified(old, shorter, old_name="f", new_name="f", context=1)
    assert short_diff(old, shorter, "f", len(whole)) == (whole, *count(parsed(whole)))
    for other in (old.replace("line", "row"), "".join(reversed(split_lines(old))), shorter):
        assert short_diff(old, other, "f", len(whole) - 1) is None


@given(texts(max_lines=40), texts(max_lines=40), st.integers(0, 3))
def test_hunks_applied_one_by_one_leave_the_rest(old: str, new: str, context: int) -> None:
    found = hunks(old, new, context)
    assert apply_hunks(old, found) == new
    assert apply_hunks(old, []) == old


def test_hunks_far_apart_in_a_long_text() -> None:
    lines = [f"line {number}\n" for number in range(30_000)]
    new = [*lines[:9_000], "more\n", *lines[9_000:25_000], *lines[25_100:], "end"]
    found = hunks("".join(lines), "".join(new))
    assert [(hunk.old_start, hunk.new_start) for hunk in found] == [
        (8_997, 8_997),
        (24_997, 24_998),
        (29_997, 29_898),
    ]
    assert apply_hunks("".join(lines), found) == "".join(new)
    first, _, last = found
    assert apply_hunks("".join(lines), [first, last]) == "".join([*lines[:9_000], "more\n", *lines[9_000:], "end"])
    alike = hunks("a\n" * 9, "a\n" * 2 + "b\n" + "a\n" * 6, context=0)
    with pytest.raises(ValueError, match="does not apply at line 3"):
        apply_hunks("a\n" * 9, [*alike, *alike])
    for twice in ([first, first], [last, first]):
        with pytest.raises(ValueError, match="does not apply at line"):
            apply_hunks("".join(lines), twice)


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        ("bc\n", "@@ -1,1 +1,1 @@\n-b\n\\ No newline at end of file\n+c\n"),
        ("a\n", "@@ -4,1 +4,1 @@\n-b\n+c\n"),
        ("a\n", "@@ -1,2 +1,1 @@\n-a\n-b\n+c\n"),
    ],
)
def test_a_diff_applies_to_whole_lines_that_are_there(text: str, diff: str) -> None:
    with pytest.raises(ValueError, match="does not apply"):
        apply_patch(text, diff)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        ("", "x\n", "@@ -0,0 +1,1 @@\n+x\n"),
        ("x\n", "", "@@ -1,1 +0,0 @@\n-x\n"),
        ("a\x0cb\r\n", "a\x0cb\n", "@@ -1,1 +1,1 @@\n-a\x0cb\r\n+a\x0cb\n"),
    ],
)
def test_how_a_diff_is_written(old: str, new: str, expected: str) -> None:
    assert unified(old, new, old_name="f", new_name="f", context=1) == f"--- f\n+++ f\n{expected}"


def test_distant_changes_are_separate_hunks_with_three_lines_around() -> None:
    old = "".join(f"{n}\n" for n in range(30))
    new = old.replace("5\n", "five\n", 1).replace("20\n", "twenty\n")
    first, second = hunks(old, new)
    assert (first.header, second.header) == ("@@ -3,7 +3,7 @@", "@@ -18,7 +18,7 @@")
    assert count([first, second]) == (2, 2)


def test_near_changes_share_a_hunk() -> None:
    assert len(hunks("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n")) == 1


@pytest.mark.parametrize(
    "diff",
    [
        "no hunk at all",
        "@@ -1,1 +1,1 @@\n-other\n+c\n",
        "@@ -1,2 +1,1 @@\n-b\n+c\n",
        "@@ -1,1 +1,1 @@\n-b\n*c\n",
        "@@ -1,1 +1,1 @@\n\\ No newline at end of file\n",
        "@@ nonsense @@\n",
    ],
)
def test_a_diff_that_does_not_fit_is_refused(diff: str) -> None:
    with pytest.raises(ValueError, match="diff"):
        apply_patch("b\n", diff)


FILES = [
    ("plain.py", "a\nb\n", "a\nc\n"),
    ("with space.py", "a\n", "b\n"),
    ("ünïcode 日本.py", "a\n", "b\n"),
    ('quo"te\\back.txt', "a\n", "b\n"),
    ("tab\there.txt", "a\n", "b\n"),
    ("no-newline.txt", "a", "b"),
    ("crlf.txt", "a\r\nb\r\n", "a\r\nc\r\n"),
    ("mixed.txt", "a\r\nb\nc\rd\n", "a\r\nB\nc\rd\r\n"),
    ("separators.txt", "a\u2028b\x85c\x0cd\n", "a\u2028B\x85c\x0cd\n"),
    ("bom.txt", "\ufeffa\n", "\ufeffb\n"),
    ("emptied.txt", "a\n", ""),
    ("filled.txt", "", "a\n"),
    ("dir/new.py", None, "a\n"),
    ("dir/new-empty.py", None, ""),
    ("gone.py", "a\n", None),
    ("gone-empty.py", "", None),
]


@pytest.mark.parametrize(("name", "old", "new"), FILES, ids=[name for name, _, _ in FILES])
def test_git_applies_every_patch(tmp_path: Path, name: str, old: str | None, new: str | None) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / name
    if old is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(old.encode())
    (tmp_path / "p.patch").write_bytes(git_patch(name, old, new).encode())
    applied = subprocess.run(
        ["git", "apply", "--index" if old is None else "-v", "p.patch"], cwd=tmp_path, check=False
    )
    assert applied.returncode == 0
    assert (file.read_bytes() if file.exists() else None) == (None if new is None else new.encode())


@pytest.mark.parametrize("new", ["echo two\n", "echo two", None])
@pytest.mark.parametrize("index", [False, True])
def test_git_keeps_or_deletes_an_executable_file(tmp_path: Path, new: str | None, index: bool) -> None:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    file = tmp_path / "run it.sh"
    file.write_text("echo one\n")
    file.chmod(0o755)
    git("add", "run it.sh")
    (tmp_path / "p.patch").write_text(git_patch("run it.sh", "echo one\n", new, 0o100755))
    assert git("apply", "--verbose", *(["--index"] if index else []), "p.patch") == ""
    assert (file.read_text() if file.exists() else None) == new
    if new is not None:
        assert file.stat().st_mode & 0o777 == 0o755
        assert git("ls-files", "-s").startswith("100755 ")


def test_git_makes_a_new_file_executable(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "p.patch").write_text(git_patch("run.sh", None, "#!/bin/sh\n", 0o100755))
    subprocess.run(["git", "apply", "p.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "run.sh").stat().st_mode & 0o111


def test_a_new_executable_file_says_so() -> None:
    assert "new file mode 100755\n" in git_patch("run.sh", None, "#!/bin/sh\n", 0o100755)


def test_equal_texts_have_no_patch() -> None:
    assert git_patch("a", "x\n", "x\n") == git_patch("a", "", "") == git_patch("a", None, None) == ""
