"""log, show, export and rewind as a user sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gemchat import exporting, turnview
from gemchat.local.mind import Prompt
from gemchat.past import entries
from tests.cli.conftest import Gemchat
from tests.cli.test_processes import terminal
from tests.core.sessions import Script

LONG = "".join(f"line {number}\n" for number in range(100))
BLOCKED = "\x1b[2Jthe reply [/x]"


@pytest.fixture
def talked(gemchat: Gemchat) -> Gemchat:
    """Turn 1 asks, 2 is an edit that was applied, 3 one that could not be used and 4 its repair, 5 asks."""
    gemchat.write("app.py", LONG)
    gemchat.mind.replies = ["It counts."]
    gemchat("ask", "what is it?", "app.py")
    gemchat.propose(("line 50\n", "line fifty\n"), explanation="Words are *nicer*.")
    gemchat("edit", "spell out fifty", "-y")
    gemchat.mind.replies = [BLOCKED]
    gemchat.propose(("line 60\n", "line sixty\n"))
    gemchat("edit", "spell out sixty")
    gemchat.mind.replies = ["# Yes\n\n```\nunclosed"]
    gemchat("ask", "and now?")
    return gemchat


def heads(gemchat: Gemchat, *arguments: str) -> list[str]:
    """The log without sizes and times."""
    code, out, err = gemchat("log", *arguments)
    assert (code, err) == (0, "")
    return [line.rstrip() for line in re.sub(r"[\d,]+ (bytes|tokens|out|cached)", r"N \1", out).splitlines()]


def test_the_log_tells_decision_outcome_tokens_and_age(talked: Gemchat) -> None:
    assert heads(talked, "-n", "4") == [
        "* 2     now  edit  applied   spell out fifty",
        "|    app.py not sent (unchanged since the model last saw it); N bytes, N tokens in (N cached), N out",
        "* 3     now  edit  unusable  spell out sixty",
        "|    app.py not sent (unchanged since the model last saw it); N bytes, N tokens in (N cached), N out",
        "|    the reply is not the JSON that was asked for (JSON is malformed: invalid character (byte 0))",
        "* 4     now  edit  proposed  spell out sixty Your reply to this could not be used: the r…",
        "|    app.py sent in full (the last edit left its text in doubt); N bytes, N tokens in (N cached), N out",
        "* 5     now  ask   answered  and now?",
        "     app.py not sent (unchanged since the model last saw it); N bytes, N tokens in (N cached), N out",
    ]


def test_the_log_draws_rewound_turns_beside_the_conversation(talked: Gemchat) -> None:
    talked("rewind", "3")
    talked("ask", "something else")
    marks = [line[:6] for line in heads(talked) if line[4:5].isdigit() or line[2:3] in "o*"]
    assert marks == ["*   1 ", "*-. 2 ", "| o 3 ", "| o 4 ", "| o 5 ", "*   6 "]
    listed = talked("log", "--json").json["turns"]
    assert [(turn["turn"], turn["parent"], turn["in_conversation"]) for turn in listed] == [
        ("1", None, True),
        ("2", "1", True),
        ("3", "2", False),
        ("4", "3", False),
        ("5", "4", False),
        ("6", "2", True),
    ]


def test_the_log_marks_incomplete_turns(talked: Gemchat) -> None:
    with interrupting(talked):
        assert talked("ask", "well?").code == 7
    assert "x 6     now  ask   incomplete  well?" in heads(talked)
    assert talked("rewind", "--to", "6").err.startswith(
        "gemchat: turn 6 is incomplete; a conversation cannot go on"
    )


def test_a_search_finds_turns_by_what_either_side_said(talked: Gemchat) -> None:
    found = [turn["turn"] for turn in talked("log", "-S", "FIFTY", "--json").json["turns"]]
    assert found == ["2"]
    assert [line[:6].strip() for line in heads(talked, "-S", "sixty")][::3] == ["* 3", "* 4"]
    assert talked("log", "-S", "no such thing") == (0, "", "gemchat: nobody said no such thing\n")
    assert talked("log", "-S", "").code == 2


def test_a_verbose_log_tells_everything(talked: Gemchat) -> None:
    lines = heads(talked, "-v", "-n", "1")
    assert re.fullmatch(r"\* 5  \d{4}-\d\d-\d\d \d\d:\d\d  ask   answered  and now\?", lines[0])
    assert lines[1:3] == [
        "     gemini-3.8-flash (interactions), N tokens in (N cached), N out",
        "     continue: the model remembers the conversation; N bytes, about N tokens",
    ]
    assert lines[3].startswith("     the conversation holds N tokens")
    assert lines[4:] == ["     app.py not sent (unchanged since the model last saw it)"]


def test_a_verbose_turn_tells_the_same(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    err = gemchat("ask", "what?", "app.py", "-v").err.splitlines()
    assert len(err) == 4
    assert err[3] == "gemchat:   app.py sent in full (new to this conversation)"


def test_a_turn_is_shown_in_full(talked: Gemchat) -> None:
    code, out, err = talked("show", "2")
    assert (code, err) == (0, "")
    assert re.match(r"turn 2, edit, applied, \d{4}-\d\d-\d\d \d\d:\d\d\ngemini-3.8-flash \(interactions\), ", out)
    assert "\n\n> spell out fifty\n\nWords are *nicer*.\n\ndiff --git a/app.py b/app.py\n" in out
    shown = talked("show", "2", "--json").json
    assert (shown["outcome"], shown["proposal"]["status"]) == ("applied", "applied")
    assert shown["in_conversation"] is True


def test_a_reply_that_could_not_be_used_is_shown_word_for_word(talked: Gemchat) -> None:
    out = talked("show", "3").out
    assert "asked for (JSON is malformed: invalid character (byte 0))\n\n> spell out sixty\n\n" in out
    assert out.endswith(f"\n{BLOCKED}\n")
    assert talked("show", "3", "--json").json["raw"] == BLOCKED


def test_a_terminal_gets_markdown_and_nothing_that_acts(talked: Gemchat) -> None:
    shown = {}
    for turn in ("2", "3"):
        process = terminal(talked, "show", turn)
        shown[turn] = process.read()
        process.close()
        assert process.exitstatus == 0
    assert "\x1b[3mnicer" in shown["2"]
    assert "\x1b[32m" in shown["2"], "the diff is coloured"
    assert "\x1b[2J" not in shown["3"]
    assert "\\x1b[2Jthe reply [/x]" in shown["3"]


class interrupting:  # noqa: N801  reads as a phrase
    """Answers come from a service that says something and then breaks off."""

    def __init__(self, gemchat: Gemchat) -> None:
        from gemchat.local.server import LoopbackServer

        self.gemchat, self.server = gemchat, LoopbackServer(Breaking())

    def __enter__(self) -> None:
        self.gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = self.server.__enter__().url

    def __exit__(self, *failure: object) -> None:
        self.server.close()


class Breaking:
    name = "breaking"

    def answer(self, prompt: Prompt) -> Iterator[str]:
        yield "The answer "
        raise RuntimeError("on purpose")


def test_an_answer_that_broke_off_is_shown(talked: Gemchat) -> None:
    with interrupting(talked):
        talked("ask", "well?")
    out = talked("show", "6").out
    assert out.startswith("turn 6, ask, incomplete, not part of the conversation, ")
    assert out.endswith("\n\n> well?\n\nThe answer \n")


def test_a_rewind_takes_the_conversation_back_and_leaves_the_files(talked: Gemchat) -> None:
    text = (talked.root / "app.py").read_text()
    assert talked("rewind", "4") == (
        0,
        "",
        "gemchat: the conversation goes on after turn 1\n"
        "gemchat: still pending: app.py; drop it with: gemchat discard\n",
    )
    assert (talked.root / "app.py").read_text() == text
    assert talked("status", "--json").json["turns"] == 1
    sent = talked("ask", "well?", "--json").json["sent"]
    assert (sent["route"], sent["files"][0]["source"]) == ("continue", "delta")
    assert json.loads(talked.requests[-1].body)["previous_interaction_id"]
    assert talked.mind.belief.files["app.py"] == text.replace("line 60\n", "line sixty\n"), "what is pending"
    assert talked.mind.contradictions == []


def test_a_rewind_can_be_taken_back(talked: Gemchat) -> None:
    talked("config", "set", "compaction", "never")
    assert talked("rewind", "--json").json == {
        "session": "main",
        "head": "4",
        "turns": 4,
        "dropped": ["5"],
        "pending": ["app.py"],
    }
    assert talked("rewind", "--to", "2", "--json").json["dropped"] == ["3", "4"]
    assert talked("rewind", "--to", "5", "--json").json == {
        "session": "main",
        "head": "5",
        "turns": 5,
        "dropped": [],
        "pending": ["app.py"],
    }
    assert talked("ask", "well?", "--json").json["sent"]["files"][0]["source"] == "synchronized"
    assert talked.mind.contradictions == []


def test_a_conversation_can_be_rewound_to_its_beginning(talked: Gemchat) -> None:
    talked("discard")
    assert talked("rewind", "5") == (0, "", "gemchat: the conversation starts anew\n")
    assert talked("ask", "what is it?", "app.py", "--json").json["sent"]["reason"] == "first turn"
    assert talked("log", "--json").json["turns"][-1]["parent"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["6"], "that is more turns than there are: only 5 to drop"),
        (["0"], "x>=1"),
        (["--to", "9"], "there is no turn 9"),
        (["1", "--to", "2"], "not both"),
    ],
)
def test_a_rewind_that_makes_no_sense(talked: Gemchat, arguments: list[str], said: str) -> None:
    code, out, err = talked("rewind", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert talked("status", "--json").json["turns"] == 5


def test_a_turn_that_was_under_way_during_a_rewind_joins_what_is_left(talked: Gemchat) -> None:
    class Rewinding:
        name = "rewinding"

        def answer(self, prompt: Prompt) -> Iterator[str]:
            assert talked("rewind", "3").code == 0
            yield "Late."

    from gemchat.local.server import LoopbackServer

    with LoopbackServer(Rewinding()) as server:
        url, talked.environ["GOOGLE_GEMINI_BASE_URL"] = talked.environ["GOOGLE_GEMINI_BASE_URL"], server.url
        assert talked("ask", "slow?").code == 0
    talked.environ["GOOGLE_GEMINI_BASE_URL"] = url
    assert [turn["turn"] for turn in talked("log", "--json").json["turns"] if turn["in_conversation"]] == [
        "1",
        "2",
        "6",
    ]
    assert talked("ask", "well?", "--json").json["sent"]["route"] == "restart"
    assert talked.mind.contradictions == []


def test_an_export_is_markdown_of_the_conversation(talked: Gemchat) -> None:
    code, out, err = talked("export")
    assert (code, err) == (0, "")
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.match(
        rf"# main\n\n## Turn 1: ask\n\n{when}, `gemini-3.8-flash`, `app.py`\n\n> what is it\?\n\nIt counts.\n\n"
        rf"## Turn 2: edit, applied\n\n{when}, `gemini-3.8-flash`, `app.py`\n\n> spell out fifty\n\n"
        r"Words are \*nicer\*.\n\n```diff\ndiff --git a/app.py b/app.py\n",
        out,
    )
    assert "Turn 3" not in out, "its reply could not be used"
    assert out.endswith("> and now?\n\n> # Yes\n>\n> ```\n> unclosed\n"), (
        "a fence that is never closed is fenced in"
    )
    talked("rewind", "3")
    assert "Turn 4" not in talked("export").out


def test_an_export_creates_a_file_and_never_overwrites_one(talked: Gemchat) -> None:
    text = talked("export").out
    assert talked("export", "talk.md") == (0, "", "gemchat: wrote talk.md\n")
    assert (talked.root / "talk.md").read_text() == text
    code, out, err = talked("export", "app.py")
    assert (code, out) == (5, "")
    assert "app.py exists already" in err
    assert (talked.root / "app.py").read_text().startswith("line 0\n")
    assert talked("export", "no/such/directory.md").code == 5
    assert talked("export", "-s", "nope").code == 4


@given(st.text(), st.text(), st.text().filter(str.strip))
@example("```", "<!--", "`")
@example("<script>", "- ```\n  ````", "a`b")
@example("\r\n", "~~~\n<?", "```")
@example("> x", "> y\n===\n[a]: b\n    code", "\x1b")
@example("x\n", "<div>\n\n```html\n<!--", "m")
def test_an_export_stays_whole_whatever_was_said(prompt: str, answer: str, model: str) -> None:
    script = Script()
    for _ in range(3):
        script.turn(prompt=prompt, explanation=answer, model=model, files={"a`\n# b": "A"})
    text = exporting.markdown(script.session, entries(script.session), {"1": (), "2": (), "3": ()})
    tokens = MarkdownIt().parse(text)
    titles = [
        tokens[number + 1].content
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2" and token.level == 0
    ]
    assert [title for title in titles if title.startswith("Turn ")] == [
        "Turn 1: ask",
        "Turn 2: ask",
        "Turn 3: ask",
    ]
    assert not re.search("[\x00-\x08\x0b-\x1f]", text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "now"),
        (59.9, "now"),
        (60, "1 min"),
        (7199, "1 h"),
        (86_400, "1 d"),
        (8 * 86_400, "1 wk"),
        (800 * 86_400, "2 y"),
    ],
)
def test_ages(seconds: float, said: str) -> None:
    assert turnview.age(seconds) == said


def test_a_hostile_prompt_keeps_the_log_in_lines() -> None:
    script = Script()
    script.turn(prompt="a\n\x1b[2J* 9 forged", problem="b\nc", files={"x\ny": "A"})
    shown = entries(script.session)
    lines = [
        line for verbose in (True, False) for line in turnview.log_lines(script.session, shown, 0, verbose=verbose)
    ]
    assert len(lines) == 5 + 3
    assert all(line.isprintable() for line in lines)


def test_a_new_project_has_no_past(gemchat: Gemchat) -> None:
    assert gemchat("log") == (0, "", "gemchat: there are no turns yet\n")
    assert gemchat("export") == (0, "# main\n", "")
    assert gemchat("rewind").code == 2
