from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Gemchat

LONG = "".join(f"line {number}\n" for number in range(100))


def proposed(gemchat: Gemchat, path: str = "app.py", text: str | bytes = LONG) -> Path:
    """A file with a pending change of its line 50."""
    file = gemchat.write(path, text)
    gemchat.propose(("line 50\n", "line fifty\n"))
    assert gemchat("edit", "spell out fifty", path, "-q").code == 0
    return file


def test_apply_undo_redo_move_between_two_texts(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    changed = LONG.replace("line 50", "line fifty")
    for command, out, text in (
        ("apply", "applied app.py\n", changed),
        ("undo", "undone app.py\n", LONG),
        ("redo", "applied again app.py\n", changed),
        ("undo", "undone app.py\n", LONG),
    ):
        assert gemchat(command) == (0, out, "")
        assert file.read_text() == text


def test_undo_goes_back_any_number_of_applies(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    texts = [LONG]
    for number in range(3):
        gemchat.propose((f"line {number}\n", f"changed {number}\n"))
        gemchat("edit", "change", "app.py", "-y")
        texts.append(file.read_text())
    for text in reversed(texts[:-1]):
        gemchat("undo")
        assert file.read_text() == text
    assert gemchat("undo").code == 5
    for text in texts[1:]:
        gemchat("redo")
        assert file.read_text() == text
    assert gemchat("redo") == (5, "", "gemchat: nothing has been undone that could be repeated\n")


def test_discard_drops_the_proposal_and_tells_the_model(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    assert gemchat("discard").out == "discarded app.py\n"
    assert file.read_text() == LONG
    assert gemchat("diff") == (
        5,
        "",
        'gemchat: nothing is pending\nAsk for a change first: gemchat edit "…" FILE\n',
    )
    result = gemchat("ask", "what now?", "--json")
    assert result.json["sent"]["files"][0]["source"] == "delta"
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "discarded"


@pytest.mark.parametrize(("command", "before"), [("apply", []), ("undo", ["apply"]), ("redo", ["apply", "undo"])])
def test_a_file_that_changed_meanwhile_is_not_touched(gemchat: Gemchat, command: str, before: list[str]) -> None:
    file = proposed(gemchat)
    for earlier in before:
        gemchat(earlier)
    file.write_text("mine\n")
    code, out, err = gemchat(command)
    assert (code, out) == (5, "")
    assert err.startswith("gemchat: app.py has changed since")
    assert "nothing was written" in err
    assert file.read_text() == "mine\n"


def test_one_conflict_keeps_all_files_as_they_are(gemchat: Gemchat) -> None:
    gemchat.write("a.py", LONG)
    gemchat.write("b.py", LONG)
    directive = {"replace": [[name, "line 7\n", "line seven\n"] for name in ("a.py", "b.py")]}
    gemchat("edit", json.dumps(directive), "a.py", "b.py")
    gemchat.write("b.py", "mine\n")
    assert gemchat("apply").code == 5
    assert (gemchat.root / "a.py").read_text() == LONG
    assert (gemchat.root / "b.py").read_text() == "mine\n"


def test_an_edit_of_a_changed_file_drops_the_stale_proposal(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    file.write_text(LONG + "more\n")
    gemchat.propose(("more\n", "less\n"))
    code, out, err = gemchat("edit", "less")
    assert code == 0
    assert "gemchat: app.py changed on disk; the proposal for its old text is dropped\n" in err
    assert "fifty" not in out
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "stale"


def test_a_patch_from_a_pipe_is_taken_by_git(gemchat: Gemchat) -> None:
    file = proposed(gemchat, "sub dir/ünï.py", b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode())
    subprocess.run(["git", "init", "-q"], cwd=gemchat.root, check=True)
    patch = subprocess.run(
        ["git", "apply", "--verbose", "-"],
        cwd=gemchat.root,
        input=gemchat("diff").out.encode(),
        check=False,
        capture_output=True,
    )
    assert patch.returncode == 0, patch.stderr
    assert (
        file.read_bytes() == b"\xef\xbb\xbf" + LONG.replace("line 50", "line fifty").replace("\n", "\r\n").encode()
    )


def test_how_much_is_pending(gemchat: Gemchat) -> None:
    proposed(gemchat)
    assert gemchat("diff", "--stat").out == "app.py +1 -1\n+1 −1 in 1 file\n"
    listed = gemchat("diff", "--json").json
    assert [file["path"] for file in listed["files"]] == ["app.py"]
    assert "+line fifty" in listed["diff"]


def test_colour_on_request(gemchat: Gemchat) -> None:
    proposed(gemchat, text=LONG.replace("line 51", "\x1b[2Jline 51"))
    shown = gemchat("diff", "--color", "always").out
    assert "\x1b[32m" in shown
    assert "\x1b[2J" not in shown
    assert "\\x1b[2Jline 51" in re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "\x1b[32m" not in gemchat("diff", "--color", "never").out


def test_results_as_json(gemchat: Gemchat) -> None:
    proposed(gemchat)
    applied = gemchat("apply", "--json").json
    assert (applied["proposal"], applied["status"]) == ("1", "applied")
    undone = gemchat("undo", "--json").json
    assert undone["status"] == "undone"
    assert applied["files"][0]["path"] == undone["files"][0]["path"] == "app.py"
    assert applied["files"][0]["sha256"] != undone["files"][0]["sha256"]


def test_mode_and_link_survive(gemchat: Gemchat) -> None:
    real = gemchat.write("real/run.sh", LONG)
    real.chmod(0o755)
    link = gemchat.root / "run.sh"
    link.symlink_to("real/run.sh")
    gemchat.propose(("line 50\n", "line fifty\n"))
    gemchat("edit", "spell out fifty", "run.sh", "-y")
    assert link.is_symlink()
    assert "line fifty" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o755
    assert "100755" not in gemchat("undo").out
    assert real.read_text() == LONG
    assert [file.name for file in real.parent.iterdir()] == ["run.sh"]


@pytest.mark.parametrize("link", ["run.sh", "linked/run.sh"])
@pytest.mark.parametrize("repository", [True, False])
def test_git_applies_the_patch_of_a_linked_executable(gemchat: Gemchat, link: str, repository: bool) -> None:
    """git patches no link and nothing behind one, so the patch names the file itself."""
    real = gemchat.write("réal dir/run.sh", LONG)
    real.chmod(0o755)
    (gemchat.root / "linked").symlink_to("réal dir")
    (gemchat.root / "run.sh").symlink_to("réal dir/run.sh")
    if repository:
        subprocess.run(["git", "init", "-q"], cwd=gemchat.root, check=True)
        subprocess.run(["git", "add", "."], cwd=gemchat.root, check=True)
    gemchat.propose(("line 50\n", "line fifty\n"))
    gemchat("edit", "spell out fifty", link)
    patch = gemchat("diff").out.encode()
    index = ["--index"] if repository else []
    subprocess.run(["git", "apply", *index], cwd=gemchat.root, input=patch, check=True)
    assert real.read_text() == LONG.replace("line 50", "line fifty")
    assert real.stat().st_mode & 0o777 == 0o755
    assert (gemchat.root / "run.sh").is_symlink()


def test_only_pending_files_can_be_named(gemchat: Gemchat) -> None:
    proposed(gemchat)
    gemchat.write("other.py", "")
    assert gemchat("apply", "other.py") == (5, "", "gemchat: nothing is pending for other.py\nPending: app.py\n")


def two_hunks(gemchat: Gemchat) -> Path:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"), ("line 50\n", "fifty\n"), ("line 95\n", "ninety-five\n"))
    assert gemchat("edit", "words", "app.py", "-q").code == 0
    return file


def test_some_hunks_are_applied_and_the_rest_stays_pending(gemchat: Gemchat) -> None:
    file = two_hunks(gemchat)
    assert gemchat("apply", "--hunks", "1,3").out == "applied app.py\n"
    assert file.read_text() == LONG.replace("line 5\n", "five\n").replace("line 95\n", "ninety-five\n")
    assert "+fifty" in gemchat("diff").out
    gemchat("ask", "well?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "partially_applied"
    gemchat("undo")
    assert file.read_text() == LONG
    assert gemchat("diff", "--stat").out.startswith("app.py +3 -3\n")
    gemchat("redo")
    assert gemchat("apply").code == 0
    assert "fifty" in file.read_text()
    gemchat("undo")
    gemchat("undo")
    assert file.read_text() == LONG


def test_the_rest_can_be_dropped(gemchat: Gemchat) -> None:
    file = two_hunks(gemchat)
    gemchat("apply", "--hunks", "2", "--drop-rest")
    assert file.read_text() == LONG.replace("line 50\n", "fifty\n")
    assert gemchat("diff").code == 5
    assert gemchat("ask", "well?", "--json").json["sent"]["files"][0]["source"] == "delta"
    assert gemchat.mind.contradictions == []
    assert gemchat.mind.belief.files["app.py"] == file.read_text()


def test_hunks_count_through_all_files(gemchat: Gemchat) -> None:
    two_hunks(gemchat)
    other = gemchat.write("b.py", LONG)
    gemchat.propose(("line 7\n", "seven\n"))
    gemchat("edit", "words", "b.py")
    gemchat("apply", "--hunks", "4", "--drop-rest")
    assert other.read_text() == LONG.replace("line 7\n", "seven\n")
    assert (gemchat.root / "app.py").read_text() == LONG
    assert gemchat("diff").code == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--hunks", "4"], "there is no hunk 4\nThere are hunks 1 to 3."),
        (["--hunks", "0"], "there is no hunk 0"),
        (["--hunks", "3-1"], "'3-1' is not a hunk number"),
        (["--hunks", "x"], "'x' is not a hunk number"),
        (["--hunks", "1", "--merge"], "--hunks goes without --merge"),
        (["--drop-rest"], "--drop-rest goes with --hunks"),
    ],
)
def test_hunks_that_are_not_there(gemchat: Gemchat, arguments: list[str], said: str) -> None:
    file = two_hunks(gemchat)
    result = gemchat("apply", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert file.read_text() == LONG


def test_a_file_that_moved_on_is_merged(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    file.write_text(f"mine\n{LONG}")
    code, out, err = gemchat("apply", "--merge")
    assert (code, out) == (0, "applied app.py\n")
    assert err == "gemchat: app.py had changed; both changes are in it now\n"
    assert file.read_text() == f"mine\n{LONG}".replace("line 50", "line fifty")
    assert gemchat("ask", "well?", "--json").json["sent"]["files"][0]["source"] == "delta"
    assert gemchat.mind.belief.files["app.py"] == file.read_text()
    gemchat("undo")
    assert file.read_text() == f"mine\n{LONG}"


def test_a_conflict_is_shown_and_nothing_written(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    file.write_text(LONG.replace("line 50", "LINE 50"))
    code, out, err = gemchat("apply", "--merge")
    assert (code, out) == (5, "")
    assert err == (
        "gemchat: app.py was changed in the same places meanwhile; nothing was written\n"
        "line 51, now:\n  LINE 50\n  wanted:\n  line fifty\n"
    )
    file.unlink()
    assert "created or deleted meanwhile" in gemchat("apply", "--merge").err


def test_undo_keeps_what_was_changed_since_on_request(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    gemchat("apply")
    file.write_text(file.read_text().replace("line 7\n", "line seven\n"))
    refused = gemchat("undo")
    assert refused.code == 5
    assert refused.err.endswith("To keep what was changed since: gemchat undo --merge\n")
    code, out, err = gemchat("undo", "--merge")
    assert (code, out) == (0, "undone app.py\n")
    assert err == "gemchat: app.py had changed; only what was applied is taken back\n"
    assert file.read_text() == LONG.replace("line 7\n", "line seven\n")
    assert gemchat("redo").code == 5
    assert gemchat("ask", "and now?", "--json").json["sent"]["files"][0]["source"] == "delta"
    assert gemchat.mind.contradictions == []


def test_merging_an_unchanged_file_is_applying(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    assert gemchat("apply", "--merge") == (0, "applied app.py\n", "")
    assert "line fifty" in file.read_text()


def test_a_write_that_fails_takes_the_others_back(gemchat: Gemchat) -> None:
    gemchat.write("a.py", LONG)
    (gemchat.root / "sub").mkdir()
    directive = {"replace": [["a.py", "line 7\n", "line seven\n"]], "write": [["sub/new.py", "x\n"]]}
    assert gemchat("edit", json.dumps(directive), "a.py", "sub/new.py").code == 0
    (gemchat.root / "sub").rmdir()
    assert gemchat("apply").code == 5
    assert (gemchat.root / "a.py").read_text() == LONG
    assert gemchat("status").code == 0
    (gemchat.root / "sub").mkdir()
    assert gemchat("apply").code == 0


def test_one_file_under_two_names_is_refused(gemchat: Gemchat) -> None:
    gemchat.write("a.py", LONG)
    (gemchat.root / "link.py").symlink_to("a.py")
    result = gemchat("edit", "change", "a.py", "link.py")
    assert (result.code, result.out) == (5, "")
    assert "a.py and link.py are the same file" in result.err
    for path, line in (("a.py", "7"), ("link.py", "8")):
        gemchat.propose((f"line {line}\n", "changed\n"))
        gemchat("edit", "change", path)
    assert gemchat("apply").code == 5
    assert (gemchat.root / "a.py").read_text() == LONG
    assert gemchat("apply", "a.py").code == 0


def test_a_patch_has_paths_of_the_repository_around(gemchat: Gemchat) -> None:
    subprocess.run(["git", "init", "-q"], cwd=gemchat.root.parent, check=True)
    file = proposed(gemchat)
    patch = gemchat("diff").out
    assert patch.startswith("diff --git a/project/app.py b/project/app.py\n")
    subprocess.run(["git", "apply"], cwd=gemchat.root, input=patch.encode(), check=True)
    assert "line fifty" in file.read_text()


def test_an_edit_back_to_the_file_leaves_nothing_pending(gemchat: Gemchat) -> None:
    file = proposed(gemchat)
    gemchat.propose(("line fifty\n", "line 50\n"))
    code, out, err = gemchat("edit", "as it was", "-y")
    assert (code, out) == (0, "")
    assert "gemchat: this leads back to the file as it is; nothing is pending any more\n" in err
    assert file.read_text() == LONG
    assert gemchat("diff").code == 5


def test_a_write_protected_file_is_left_alone(gemchat: Gemchat, monkeypatch: pytest.MonkeyPatch) -> None:
    file = proposed(gemchat)
    monkeypatch.setattr("os.access", lambda *_: False)
    code, _, err = gemchat("apply")
    assert (code, err) == (5, "gemchat: app.py is write-protected\nChange its mode first.\n")
    assert file.read_text() == LONG


def test_the_log_tells_what_became_of_each_proposal(gemchat: Gemchat) -> None:
    proposed(gemchat)
    gemchat.propose(("line fifty\n", "FIFTY\n"))
    gemchat("edit", "louder")
    assert [turn["outcome"] for turn in gemchat("log", "--json").json["turns"]] == ["replaced", "proposed"]
    gemchat("apply")
    assert [turn["outcome"] for turn in gemchat("log", "--json").json["turns"]] == ["replaced", "applied"]
