"""Commands of the user's: their output goes to the model, their exit code decides about an edit."""

from __future__ import annotations

import sys

import pytest

from gemchat.core.folding import fold
from tests.cli.conftest import Gemchat

LONG = "".join(f"line {number}\n" for number in range(100))
LOOK = "import sys; t = open('app.py').read(); print('looked'); sys.exit('fifty' not in t)"
PASSES = f'"{sys.executable}" -c "{LOOK}"'


def test_the_output_of_a_command_goes_along_once(gemchat: Gemchat) -> None:
    script = "print('to stdout'); import sys; sys.exit(3)"
    code, out, err = gemchat("run", "--", sys.executable, "-c", script)
    assert (code, out) == (3, "to stdout\n")
    assert "goes along with the next turn" in err
    gemchat("ask", "what went wrong?")
    (attachment,) = gemchat.mind.belief.newest["attachments"]
    assert attachment["name"].endswith("(exit code 3)")
    assert attachment["text"] == "to stdout\n"
    gemchat("ask", "and now?")
    assert "attachments" not in gemchat.mind.belief.newest


def test_a_command_that_is_not_there(gemchat: Gemchat) -> None:
    assert gemchat("run", "--", "no-such-command-anywhere").code == 2


def test_a_check_that_passes_keeps_the_edit(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "fifty\n"))
    code, out, err = gemchat("edit", "words", "app.py", "--check", PASSES)
    assert code == 0
    assert "+fifty" in out
    assert "looked\n" in err
    assert "the check passes; the change is applied" in err
    assert "fifty" in file.read_text()
    assert gemchat("undo").code == 0
    assert file.read_text() == LONG


def test_a_check_that_fails_takes_the_edit_back_and_asks_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "FIFTY\n"))
    gemchat.propose(("line 50\n", "fifty\n"))
    assert gemchat("edit", "words", "app.py", "--check", PASSES, "--json").json["proposal"]["status"] == "applied"
    asked = gemchat.mind.belief.newest
    assert asked["attachments"][0]["text"] == "looked\n"
    assert asked["outcomes"][0]["outcome"] == "undone"
    assert file.read_text() == LONG.replace("line 50\n", "fifty\n")
    assert gemchat.mind.contradictions == []


@pytest.mark.parametrize("check", ["exit 1", "sleep 60"])
def test_a_check_that_never_passes_leaves_the_files_as_they_were(gemchat: Gemchat, check: str) -> None:
    file = gemchat.write("app.py", LONG)
    for word in ("a", "b"):
        gemchat.propose(("line 50\n", f"{word}\n"))
    result = gemchat("edit", "words", "app.py", "--check", check, "--check-timeout", "1", "--retries", "1")
    assert (result.code, result.out) == (8, "")
    assert "the check failed with 2 changes; none is kept" in result.err
    assert file.read_text() == LONG
    assert gemchat("diff").code == 5
    assert len(gemchat.requests) == 2


def test_what_the_check_itself_does_to_the_file_stays(gemchat: Gemchat) -> None:
    """As a formatter does that runs before the tests."""
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "fifty\n"))
    check = "sed -i.orig 's/line 7$/line seven/' app.py; exit 3"
    result = gemchat("edit", "words", "app.py", "--check", check, "--retries", "0")
    assert result.code == 8
    assert "app.py had changed; only what was applied is taken back" in result.err
    assert "the check ended with 3; the change was taken back" in result.err
    assert file.read_text() == LONG.replace("line 7\n", "line seven\n")


def test_a_change_that_the_check_wrote_over_is_said_to_be_there(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "fifty\n"))
    check = "sed -i.orig 's/fifty/50/' app.py; exit 3"
    result = gemchat("edit", "words", "app.py", "--check", check)
    assert result.code == 5
    assert "the check failed, and the change is still applied: app.py was changed in the same places" in result.err
    assert file.read_text() == LONG.replace("line 50\n", "50\n")


def test_folding_keeps_ends_and_errors() -> None:
    assert fold("short\n", 100) == "short\n"
    text = "".join(f"line {n}\n" for n in range(1000)) + "Error: here\n" + "more\n" * 1000
    folded = fold(text, 1000)
    assert folded.startswith("line 0\n")
    assert "Error: here" in folded
    assert "[1921 lines are left out here" in folded
    assert len(folded) <= 4100
    assert len(fold("error " * 100 + "\n" * 5 + ("error x\n" * 5000), 200)) <= 900
