"""The interactive parts as they look at several widths, in colour and without."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.conftest import Gemchat
from tests.cli.screens import PLAIN, Terminal
from tests.gemini.loopback import Service, as_events
from tests.gemini.script import events

LONG = "".join(f"line {number}\n" for number in range(100))
CODE = 'def greet(name):\n    """Say hello."""\n    print("hello", name)  # politely\n    return None\n'
REVIEW = r"\[o\]pen "
TAKE = r"s,e,\?\]\? |e,\?\]\? "

DIFF = """\
Words.

app.py
@@ -48,7 +48,7 @@ hunk 1
48 48  line 47
49 49  line 48
50 50  line 49
51    -line 50
   51 +line fifty
52 52  line 51
53 53  line 52
54 54  line 53

+1 −1 in 1 file"""


@pytest.fixture
def service(gemchat: Gemchat) -> Iterator[Service]:
    """A scripted service in the place of the model."""
    with Service() as running:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = running.url
        yield running


def editor(directory: Path, script: str) -> dict[str, str]:
    """An $EDITOR that does to its last file what the script says; `text` is the file's text."""
    program = directory / "editor.py"
    program.write_text(
        "import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\ntext = file.read_bytes().decode()\n"
        f"{script}\nfile.write_bytes(text.encode())\n"
    )
    return {"EDITOR": f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}", "VISUAL": ""}


def proposed(gemchat: Gemchat, *pairs: tuple[str, str]) -> Path:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(*pairs, explanation="Words.")
    assert gemchat("edit", "words", "app.py", "-q").code == 0
    return file


def three(gemchat: Gemchat) -> Path:
    return proposed(gemchat, ("line 5\n", "five\n"), ("line 50\n", "fifty\n"), ("line 53\n", "53\n"))


@pytest.mark.parametrize("environ", [{}, PLAIN], ids=["colour", "plain"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_proposal_under_review(gemchat: Gemchat, width: int, environ: dict[str, str]) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "line fifty\n"), explanation="Words.")
    terminal = Terminal(gemchat, "edit", "words", "app.py", width=width, environ=environ)
    terminal.answer(REVIEW, "k")
    assert terminal.end() == 0
    assert "\n".join(terminal.lines).startswith(f"{DIFF}\ngemchat: main, turn 1: ")
    joined = "".join(line.ljust(width) for line in terminal.lines)
    assert "[a]pply  [d]iscard  [k]eep  [p]ick  [r]efine  [o]pen keep" in joined
    assert "pending; write it with: gemchat apply" in joined
    assert terminal.styled == (environ == {})
    assert file.read_text() == LONG


@pytest.mark.parametrize("width", [20, 40, 200])
def test_what_a_turn_waits_for(gemchat: Gemchat, service: Service, width: int) -> None:
    """On one line, however narrow the terminal, and nothing of it stays."""
    service.enqueue(replace(as_events(events("Hello.")), pause=0.5))
    terminal = Terminal(gemchat, "ask", "well?", width=width, environ={"GEMCHAT_MODEL": "gem"})
    for words in ("gem: connecting", r"gem: about \d", "gem: thinking"):
        terminal.answer(words, "")
        assert len(terminal.lines) == 1
    assert terminal.end() == 0
    assert "\n".join(terminal.lines).startswith("Hello.\ngemchat: main,")
    assert "\x1b[?25l" in terminal.raw, "the cursor was hidden"
    assert terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")


def test_what_an_edit_waits_for(gemchat: Gemchat, service: Service) -> None:
    """The explanation is there to be read while the change is written below it."""
    gemchat.write("app.py", LONG)
    change = json.dumps({"edits": [{"search": "line 50\n", "replace": "fifty\n"}]})[1:]
    service.enqueue(replace(as_events(events('{"explanation":', '"Words', '.",', change)), pause=0.5))
    terminal = Terminal(gemchat, "edit", "words", "app.py")
    terminal.answer(r"writing the change, about 3 tokens", "")
    terminal.answer(r"Words", "")
    assert terminal.lines == ["Words"]
    terminal.answer(r"writing the change, about [12]\d tokens", "")
    assert terminal.lines[0] == "Words."
    terminal.answer(REVIEW, "a")
    assert terminal.end() == 0
    assert terminal.lines[:2] == ["Words.", ""]
    assert "writing" not in "\n".join(terminal.lines)


@pytest.mark.parametrize("environ", [{}, PLAIN], ids=["colour", "plain"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_hunks_are_picked(gemchat: Gemchat, width: int, environ: dict[str, str]) -> None:
    file = three(gemchat)
    terminal = Terminal(gemchat, "pick", width=width, environ=environ)
    for key in ("n", "s", "y", "n"):
        terminal.answer(TAKE, key)
    terminal.answer("iscard ", "k")
    assert terminal.end() == 0
    lines = terminal.lines
    assert lines[0] == "@@ -3,7 +3,7 @@ hunk 1 of 2"
    assert [line for line in lines if line.startswith("@@")] == [
        "@@ -3,7 +3,7 @@ hunk 1 of 2",
        "@@ -48,10 +48,10 @@ hunk 2 of 2",
        "@@ -48,5 +48,5 @@ hunk 2 of 3",
        "@@ -53,5 +53,5 @@ hunk 3 of 3",
    ]
    assert "   51 +fifty" in lines
    joined = "".join(line.ljust(width) for line in lines)
    assert "Take this hunk of app.py [y,n,a,d,q,e,?]? n" in joined
    assert "Take this hunk of app.py [y,n,a,d,q,s,e,?]? s" in joined
    assert "The hunks left out: [k]eep pending  [d]iscard keep pending" in joined
    assert lines[-1] == "applied app.py"
    assert terminal.styled == (environ == {})
    assert file.read_text() == LONG.replace("line 50\n", "fifty\n")
    assert gemchat("diff", "--stat").out == "app.py +2 -2\n+2 −2 in 1 file\n"
    gemchat("ask", "well?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "partially_applied"
    assert gemchat.mind.contradictions == []


@pytest.mark.parametrize(
    ("keys", "rest", "taken"),
    [
        ("a", None, {"5", "50", "53"}),
        ("ya", None, {"5", "50", "53"}),
        ("yd", "k", {"5"}),
        ("yq", None, {"5"}),
        ("q", None, set()),
        ("nsny", "d", {"53"}),
        ("d", "d", set()),
        ("d", "k", set()),
    ],
)
def test_the_keys_of_picking(gemchat: Gemchat, keys: str, rest: str | None, taken: set[str]) -> None:
    file = three(gemchat)
    terminal = Terminal(gemchat, "pick")
    for key in keys:
        terminal.answer(TAKE, key)
    if rest:
        terminal.answer("iscard ", rest)
    assert terminal.end() == 0
    words = {"5": "five", "50": "fifty", "53": "53"}
    text = LONG
    for number in taken:
        text = text.replace(f"line {number}\n", f"{words[number]}\n")
    assert file.read_text() == text
    left = gemchat("diff", "--stat")
    count = 0 if rest == "d" else 3 - len(taken)
    assert left.out == (f"app.py +{count} -{count}\n+{count} −{count} in 1 file\n" if count else "")


def test_keys_are_explained(gemchat: Gemchat) -> None:
    three(gemchat)
    terminal = Terminal(gemchat, "pick")
    terminal.answer(TAKE, "?")
    terminal.answer(TAKE, "x")
    terminal.answer(TAKE, "\x1b[A")
    terminal.answer(TAKE, "q")
    assert terminal.end() == 0
    assert terminal.lines.count("  y  take this hunk") == 3
    assert "  s  split it" not in terminal.lines, "this hunk cannot be split"
    assert terminal.lines[-1] == "gemchat: no hunk was taken; all stays pending"


def test_keys_typed_ahead_are_not_lost(gemchat: Gemchat) -> None:
    file = three(gemchat)
    terminal = Terminal(gemchat, "pick")
    terminal.answer(TAKE, "nnk")
    assert terminal.end() == 0
    assert file.read_text() == LONG


def test_an_interrupt_writes_nothing(gemchat: Gemchat) -> None:
    file = three(gemchat)
    terminal = Terminal(gemchat, "pick")
    terminal.answer(TAKE, "y")
    terminal.answer(TAKE, "\x03")
    assert terminal.end() == 130
    assert file.read_text() == LONG


def test_an_edited_hunk_is_written_and_the_model_is_told(gemchat: Gemchat, tmp_path: Path) -> None:
    file = three(gemchat)
    environ = editor(tmp_path, 'text = text.replace("+five", "+FIVE")')
    terminal = Terminal(gemchat, "pick", environ=environ)
    terminal.answer(TAKE, "e")
    terminal.answer(TAKE, "n")
    terminal.answer("iscard ", "k")
    assert terminal.end() == 0
    assert file.read_text() == LONG.replace("line 5\n", "FIVE\n")
    patch = gemchat("diff").out
    assert "five" not in patch, "what was edited is not taken back by the rest"
    assert "+fifty" in patch
    gemchat("ask", "well?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "partially_applied"
    working = LONG.replace("line 5\n", "FIVE\n").replace("line 50\n", "fifty\n").replace("line 53\n", "53\n")
    assert gemchat.mind.belief.files["app.py"] == working
    assert gemchat("apply").code == 0
    assert file.read_text() == working
    assert gemchat("ask", "and now?", "--json").json["sent"]["files"][0]["source"] == "synchronized"
    gemchat("undo")
    gemchat("undo")
    assert file.read_text() == LONG
    gemchat("ask", "and now?")
    assert gemchat.mind.belief.files["app.py"] == LONG
    assert gemchat.mind.contradictions == []


def test_all_hunks_with_an_edited_one_leave_nothing_pending(gemchat: Gemchat, tmp_path: Path) -> None:
    file = three(gemchat)
    environ = editor(tmp_path, 'text = text.replace("+five", "+FIVE")')
    terminal = Terminal(gemchat, "pick", environ=environ)
    terminal.answer(TAKE, "e")
    terminal.answer(TAKE, "a")
    assert terminal.end() == 0
    assert "FIVE\n" in file.read_text()
    assert gemchat("diff").code == 5
    gemchat("ask", "well?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "partially_applied"
    assert gemchat.mind.belief.files["app.py"] == file.read_text()
    assert gemchat.mind.contradictions == []


def test_a_hunk_that_does_not_fit_is_explained_and_edited_again(gemchat: Gemchat, tmp_path: Path) -> None:
    """The second time the editor finds its own text, not the first one."""
    file = three(gemchat)
    script = 'text = text.replace("+FIVE", "+five!") if "-LINE" in text else text.replace("+five", "+FIVE")\n'
    script += 'text = text.replace("-LINE", "-line") if "-LINE" in text else text.replace("-line", "-LINE")'
    terminal = Terminal(gemchat, "pick", width=120, environ=editor(tmp_path, script))
    terminal.answer(TAKE, "e")
    terminal.answer("as it was ", "e")
    terminal.answer(TAKE, "q")
    assert terminal.end() == 0
    said = "gemchat: the edited hunk does not fit: it has 'LINE 5\\n' where the file has 'line 5\\n'"
    assert said in terminal.lines
    assert file.read_text() == LONG.replace("line 5\n", "five!\n")


@pytest.mark.parametrize("program", ["no-such-editor", "false", "'"])
def test_an_editor_that_fails_changes_nothing(gemchat: Gemchat, program: str) -> None:
    three(gemchat)
    terminal = Terminal(gemchat, "pick", environ={"VISUAL": program})
    terminal.answer(TAKE, "e")
    terminal.answer(TAKE, "q")
    assert terminal.end() == 0
    assert any(line.startswith(f"gemchat: the editor {program} ") for line in terminal.lines)


def test_picking_needs_a_terminal(gemchat: Gemchat) -> None:
    three(gemchat)
    said = "gemchat: pick asks on a terminal, and there is none\nUse: gemchat apply --hunks 1,3-4\n"
    assert gemchat("pick") == (2, "", said)


def test_a_changed_file_is_not_picked_from(gemchat: Gemchat) -> None:
    three(gemchat).write_text("mine\n")
    terminal = Terminal(gemchat, "pick")
    assert terminal.end() == 5
    assert terminal.lines[0] == "gemchat: app.py has changed since the proposal was made"


def test_pick_after_an_edit(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"), ("line 50\n", "fifty\n"))
    terminal = Terminal(gemchat, "edit", "words", "app.py")
    terminal.answer(REVIEW, "p")
    terminal.answer(TAKE, "n")
    terminal.answer(TAKE, "y")
    terminal.answer("iscard ", "d")
    assert terminal.end() == 0
    assert terminal.lines[-1] == "gemchat: the hunks taken are applied; take them back with: gemchat undo"
    assert file.read_text() == LONG.replace("line 50\n", "fifty\n")
    assert gemchat("diff").code == 5


def test_a_follow_up_refines_the_proposal(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    directives = [{"replace": [[None, "line 5\n", "five\n"]]}, {"replace": [[None, "five\n", "FIVE\n"]]}]
    terminal = Terminal(gemchat, "edit", json.dumps(directives[0]), "app.py")
    terminal.answer(REVIEW, "r")
    terminal.answer("Follow-up: ", "nothing to do\n")
    terminal.answer(REVIEW, "r")
    terminal.answer("Follow-up: ", "\n")
    terminal.answer(REVIEW, "r")
    terminal.answer("Follow-up: ", json.dumps(directives[1]) + "\n")
    terminal.answer(REVIEW, "a")
    assert terminal.end() == 0
    assert "gemchat: the model proposes no change: as told: nothing" in terminal.lines
    assert file.read_text() == LONG.replace("line 5\n", "FIVE\n")
    assert [turn["mode"] for turn in gemchat("log", "--json").json["turns"]] == ["edit"] * 3
    assert gemchat.mind.contradictions == []


def test_a_proposal_opened_in_the_editor(gemchat: Gemchat, tmp_path: Path) -> None:
    file = gemchat.write("app.py", b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode())
    gemchat.propose(("line 5\n", "five\n"))
    environ = editor(tmp_path, 'text = text.replace("five", "FIVE").replace("line 9\\r", "nine\\r")')
    terminal = Terminal(gemchat, "edit", "words", "app.py", environ=environ)
    terminal.answer(REVIEW, "o")
    terminal.answer(REVIEW, "k")
    assert terminal.end() == 0
    mine = LONG.replace("line 5\n", "FIVE\n").replace("line 9\n", "nine\n")
    gemchat("ask", "well?")
    assert gemchat.mind.belief.files["app.py"] == mine, "the working text"
    assert "outcomes" not in gemchat.mind.belief.newest
    assert gemchat("log", "--json").json["turns"][0]["outcome"] == "proposed"
    assert gemchat("apply").out == "applied app.py\n"
    assert file.read_bytes() == b"\xef\xbb\xbf" + mine.replace("\n", "\r\n").encode()
    assert gemchat("diff").code == 5
    gemchat("ask", "and now?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "partially_applied"
    assert gemchat.mind.contradictions == []


def test_a_proposal_edited_back_to_the_file(gemchat: Gemchat, tmp_path: Path) -> None:
    gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"))
    environ = editor(tmp_path, 'text = text.replace("five", "line 5")')
    terminal = Terminal(gemchat, "edit", "words", "app.py", environ=environ)
    terminal.answer(REVIEW, "o")
    assert terminal.end() == 0
    assert terminal.lines[-1].startswith("gemchat: this leads back to the file as it is")
    gemchat("ask", "well?")
    assert gemchat.mind.belief.newest["outcomes"][0]["outcome"] == "discarded"
    assert gemchat.mind.belief.files["app.py"] == LONG


def test_a_proposal_made_binary_is_refused(gemchat: Gemchat, tmp_path: Path) -> None:
    gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"))
    terminal = Terminal(gemchat, "edit", "words", "app.py", environ=editor(tmp_path, 'text = "\\0"'))
    terminal.answer(REVIEW, "o")
    terminal.answer(REVIEW, "a")
    assert terminal.end() == 0
    assert "gemchat: the new text of app.py is a binary file" in terminal.lines
    assert (gemchat.root / "app.py").read_text() == LONG.replace("line 5\n", "five\n")


def test_code_in_colour(gemchat: Gemchat) -> None:
    gemchat.write("app.py", CODE)
    gemchat.propose(('print("hello", name)', 'print("good morning", name)'))
    gemchat("edit", "words", "app.py")
    terminal = Terminal(gemchat, "diff")
    assert terminal.end() == 0
    assert terminal.colours("def") == {"magenta"}
    assert terminal.colours('"""Say hello."""') == {"cyan"}
    assert terminal.colours("+   ") == {"green"}
    assert terminal.colours("-   ") == {"red"}
    assert terminal.reversed('"hello"') == "hello"
    assert terminal.reversed('"good·morning"') == "good·morning"
    plain = Terminal(gemchat, "diff", "--color", "never")
    assert plain.end() == 0
    assert "\x1b" not in plain.raw
    assert plain.lines == terminal.lines


def test_blanks_and_line_ends_can_be_seen(gemchat: Gemchat) -> None:
    gemchat.write("a.txt", "one\r\n  two\nthree\nfour \n")
    whole = json.dumps({"explanation": "", "proposedSource": "one\n\ttwo\nthree\nfour"})
    gemchat.mind.replies = [whole]
    gemchat("edit", "blanks", "a.txt", "--format", "whole")
    terminal = Terminal(gemchat, "diff", environ=PLAIN)
    assert terminal.end() == 0
    assert {"2   -··two", "  2 +→two"} < set(terminal.lines)
    assert {"4   -four·", "  4 +four", "\\ No newline at end of file"} < set(terminal.lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_side_by_side_where_it_fits(gemchat: Gemchat, width: int) -> None:
    proposed(gemchat, ("line 50\n", "line fifty\nmore\n"))
    terminal = Terminal(gemchat, "diff", "--side-by-side", width=width, environ=PLAIN)
    assert terminal.end() == 0
    beside = [line.split() for line in terminal.lines if "fifty" in line]
    assert beside == (
        [["51", "-line", "50", "51", "+line", "fifty"]] if width == 200 else [["51", "+line", "fifty"]]
    )
    assert max(map(len, terminal.lines)) <= width


def test_long_output_goes_through_the_pager_on_request(gemchat: Gemchat, tmp_path: Path) -> None:
    pager = {"PAGER": f"{shlex.quote(sys.executable)} -c 'import sys; print(\"PAGED\", sys.stdin.read())'"}
    proposed(gemchat, ("line 50\n", "line fifty\n"))
    for arguments, paged in ((["diff"], False), (["diff", "--pager"], True), (["show", "1", "--pager"], True)):
        terminal = Terminal(gemchat, *arguments, environ=pager)
        assert terminal.end() == 0
        assert terminal.lines[0].startswith("PAGED") == paged
        assert "   51 +line fifty" in terminal.lines
        assert terminal.styled
    gemchat.mind.replies = ["An **answer** \x1b[2J."]
    terminal = Terminal(gemchat, "ask", "what?", "--pager", environ=pager)
    assert terminal.end() == 0
    assert any(line.startswith("PAGED An answer \\x1b[2J.") for line in terminal.lines)
    assert gemchat("diff", "--pager").out.startswith("diff --git")


def test_without_a_pager_output_is_as_always(gemchat: Gemchat) -> None:
    proposed(gemchat, ("line 50\n", "line fifty\n"))
    terminal = Terminal(gemchat, "diff", "--pager", environ={"PAGER": "no-such-pager"})
    assert terminal.end() == 0
    assert "   51 +line fifty" in terminal.lines


def toured(terminal: Terminal) -> list[str]:
    """The command lines that the tour showed."""
    assert terminal.end() == 0
    return [line for line in terminal.raw.splitlines() if line.startswith("$ gemchat")]


@pytest.mark.parametrize(
    ("key", "shown", "hidden"),
    [
        ("k", ["$ gemchat apply", "$ gemchat undo"], []),
        ("a", ["$ gemchat undo"], ["$ gemchat apply"]),
        ("d", [], ["$ gemchat apply", "$ gemchat undo"]),
    ],
)
def test_the_tour_goes_on_from_what_its_visitor_decides(
    gemchat: Gemchat, key: str, shown: list[str], hidden: list[str]
) -> None:
    terminal = Terminal(gemchat, "demo", "--scripted", size=(300, 100))
    terminal.answer(REVIEW, key)
    commands = toured(terminal)
    assert "$ gemchat edit 'add input validation' shop.py" in commands
    assert commands[-1] == "$ gemchat log"
    assert [command for command in shown + hidden if command in commands] == shown


def test_the_tour_undoes_what_its_visitor_applied_in_parts(gemchat: Gemchat) -> None:
    longer = editor(gemchat.root, "text += 'END = True\\n'")
    terminal = Terminal(gemchat, "demo", "--scripted", size=(300, 100), environ=longer)
    terminal.answer(REVIEW, "o")
    terminal.answer(REVIEW, "p")
    terminal.answer(TAKE, "y")
    terminal.answer(TAKE, "n")
    terminal.answer(r"The hunks left out: .* ", "k")
    assert toured(terminal).count("$ gemchat undo") == 2
