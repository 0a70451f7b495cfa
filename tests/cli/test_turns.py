from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Gemchat

LONG = "".join(f"line {number}\n" for number in range(100))


def test_an_answer_goes_to_stdout_and_what_it_took_to_stderr(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.mind.replies = ["It sets x.", "To one."]
    code, out, err = gemchat("ask", "what does it do?", "app.py")
    assert (code, out) == (0, "It sets x.\n")
    said = r"gemchat: main, turn 1: app.py sent in full \(new to this conversation\); \d+ bytes, "
    assert re.fullmatch(said + r"\d+ tokens in \(0 cached\), 3 out\n", err)
    code, out, err = gemchat("ask", "and why?", "-q")
    assert (code, out, err) == (0, "To one.\n", "")


def test_a_follow_up_sends_no_source(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "what is it?", "app.py")
    result = gemchat("ask", "why?", "--json")
    assert result.json["sent"]["files"] == [
        {"path": "app.py", "source": "synchronized", "reason": "unchanged since the model last saw it"}
    ]
    assert LONG.encode()[:50] not in gemchat.requests[-1].body


def test_json_of_an_answer(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.mind.replies = ["It sets x."]
    result = gemchat("ask", "what?", "app.py", "--json", "-m", "gemini-test", "--backend", "contents")
    sent, usage = result.json.pop("sent"), result.json.pop("usage")
    assert result.err == ""
    assert {**result.json, "sent": sent, "usage": usage} == {
        "session": "main",
        "turn": "1",
        "mode": "ask",
        "reply": "It sets x.",
        "proposal": None,
        "sent": {
            "route": "restart",
            "reason": "first turn",
            "files": [{"path": "app.py", "source": "full", "reason": "new to this conversation"}],
            "context": False,
            "media": [],
            "bytes": sent["bytes"],
            "tokens": sent["tokens"],
            "beside": False,
            "kept": None,
            "comparison": None,
        },
        "usage": usage,
        "model": "gemini-test",
        "backend": "contents",
    }
    assert sent["bytes"] == len(gemchat.mind.prompts[0].messages[0].parts[0]) + len(
        gemchat.mind.prompts[0].messages[0].parts[1]
    )
    assert usage["input"] > 0


def test_an_edit_is_shown_and_touches_nothing(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "line fifty\n"), explanation="Words are nicer.")
    code, out, err = gemchat("edit", "spell out fifty", "app.py")
    assert code == 0
    assert out == (
        "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -48,7 +48,7 @@\n"
        " line 47\n line 48\n line 49\n-line 50\n+line fifty\n line 51\n line 52\n line 53\n"
    )
    assert err.startswith("Words are nicer.\n\ngemchat: main, turn 1: app.py sent in full")
    assert err.endswith("gemchat: pending; write it with: gemchat apply, drop it with: gemchat discard\n")
    assert file.read_text() == LONG
    assert gemchat("diff").out == out


def test_edit_yes_applies_at_once(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "line fifty\n"))
    result = gemchat("edit", "spell out fifty", "app.py", "-y", "--json")
    assert result.json["proposal"]["status"] == "applied"
    assert result.json["proposal"]["files"][0]["added"] == 1
    assert file.read_text() == LONG.replace("line 50", "line fifty")
    assert gemchat("undo").out == "undone app.py\n"
    assert file.read_text() == LONG


def test_a_second_edit_refines_the_first(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "line fifty\n"))
    gemchat("edit", "spell out fifty", "app.py")
    gemchat.propose(("line fifty\n", "line FIFTY\n"))
    result = gemchat("edit", "louder", "--json")
    assert result.json["sent"]["files"][0]["source"] == "synchronized"
    assert "-line 50\n+line FIFTY\n" in result.json["proposal"]["diff"]


def test_a_new_file(gemchat: Gemchat) -> None:
    gemchat.mind.replies = ['{"explanation":"","proposedSource":"hello\\n"}']
    result = gemchat("edit", "say hello", "new.txt", "--json")
    assert result.json["sent"]["files"][0]["source"] == "absent"
    assert result.json["proposal"]["diff"].startswith("diff --git a/new.txt b/new.txt\nnew file mode 100644\n")
    assert not (gemchat.root / "new.txt").exists()
    gemchat("apply")
    assert (gemchat.root / "new.txt").read_text() == "hello\n"
    gemchat("undo")
    assert not (gemchat.root / "new.txt").exists()


def test_several_files_are_one_proposal(gemchat: Gemchat) -> None:
    gemchat.write("a.py", LONG)
    gemchat.write("b.py", "old\n")
    directive = {"replace": [["a.py", "line 7\n", "line seven\n"], ["b.py", "old\n", "new\n"]]}
    result = gemchat("edit", json.dumps(directive), "a.py", "b.py", "--json")
    assert [file["path"] for file in result.json["proposal"]["files"]] == ["a.py", "b.py"]
    assert gemchat("apply", "b.py").out == "applied b.py\n"
    assert (gemchat.root / "b.py").read_text() == "new\n"
    assert (gemchat.root / "a.py").read_text() == LONG
    assert gemchat("apply").out == "applied a.py\n"


def test_a_reply_that_does_not_match_is_asked_for_once_more(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("no such line", "x"))
    gemchat.propose(("line 50\n", "line fifty\n"))
    code, out, err = gemchat("edit", "spell out fifty", "app.py")
    assert code == 0
    assert "+line fifty" in out
    assert (
        "the reply could not be used: the search text of edit 1 of 1 does not occur in app.py; asking once" in err
    )
    again = gemchat.mind.prompts[-1].messages[-1]
    assert again.parts[1] == f"--- part 1: app.py ---\n{LONG}"
    assert "the search text of edit 1 of 1 does not occur in app.py" in again.parts[0]
    assert file.read_text() == LONG


def test_two_unusable_replies_end_with_8_and_the_next_turn_works(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.mind.replies = ["no json", "no json either"]
    code, out, err = gemchat("edit", "spell out fifty", "app.py")
    assert (code, out) == (8, "")
    assert "the reply is not the JSON that was asked for" in err
    assert len(gemchat.requests) == 2
    assert file.read_text() == LONG
    assert gemchat("ask", "still there?").code == 0
    assert gemchat.mind.belief.files["app.py"] == LONG
    assert gemchat.mind.contradictions == []
    assert [turn["status"] for turn in gemchat("log", "--json").json["turns"]] == [
        "unusable",
        "unusable",
        "complete",
    ]


def test_only_the_edits_that_failed_are_asked_for_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"), ("lien 50", "fifty"))
    gemchat.propose(("line 50\n", "fifty\n"))
    assert gemchat("edit", "words", "app.py", "-y").code == 0
    assert file.read_text() == LONG.replace("line 5\n", "five\n").replace("line 50\n", "fifty\n")
    asked = gemchat.mind.prompts[-1].messages[-1]
    assert asked.parts[1].endswith(LONG.replace("line 5\n", "five\n")), "the others are in the text already"
    (failed,) = json.loads(asked.parts[0])["failedEdits"]
    assert (failed["search"], failed["reason"]) == (
        "lien 50",
        "the search text of edit 2 of 2 does not occur in app.py",
    )
    assert "51: line 50" in failed["nearestLines"]
    assert gemchat("ask", "well?", "--json").json["sent"]["files"][0]["source"] == "synchronized"
    assert gemchat.mind.contradictions == []


def test_a_repair_that_repairs_nothing_is_no_proposal(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 5\n", "five\n"), ("lien 50", "fifty"))
    gemchat.propose(explanation="I cannot.")
    result = gemchat("edit", "words", "app.py", "-y")
    assert (result.code, result.out) == (8, "")
    assert "did not send the failed edits of app.py again" in result.err
    assert file.read_text() == LONG
    assert gemchat("diff").code == 5


@pytest.mark.parametrize("source", ["a\0b\n", "\ufeffx = 2\n"])
def test_a_reply_brings_no_nul_and_no_byte_order_mark(gemchat: Gemchat, source: str) -> None:
    file = gemchat.write("app.py", "x = 1\n")
    gemchat.mind.replies = [json.dumps({"explanation": "", "proposedSource": source})] * 2
    code = gemchat("edit", "change", "app.py", "-y").code
    assert (code, file.read_bytes()) == ((8, b"x = 1\n") if "\0" in source else (0, b"x = 2\n"))


def test_a_follow_up_works_when_its_file_is_gone(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", "x = 1\n")
    gemchat("ask", "what?", "app.py", "-c", "app.py")
    file.write_bytes(b"\0")
    assert gemchat("ask", "why?", "app.py").code == 5
    file.unlink()
    assert gemchat("ask", "why?", "--json").json["sent"]["files"][0]["source"] == "absent"
    assert gemchat.mind.belief.files == {"app.py": None}


def test_a_damaged_version_is_stored_again(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat("ask", "what?", "app.py")
    for blob in (gemchat.root.parent / "state").rglob("blobs/*"):
        blob.write_bytes(b"")
    assert gemchat("ask", "why?").code == 0


def test_json_is_utf_8_in_any_locale(gemchat: Gemchat, monkeypatch: pytest.MonkeyPatch) -> None:
    gemchat.mind.replies = ["é🙂"]
    assert gemchat("ask", "what?", "--json").json["reply"] == "é🙂"


def test_text_left_out_is_refused_and_asked_for_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.js", "a();\nb();\n")
    elided = json.dumps({"explanation": "", "proposedSource": "c();\n// ... rest of the code unchanged\n"})
    gemchat.mind.replies = [elided, elided]
    code, out, err = gemchat("edit", "call c", "app.js")
    assert (code, out) == (8, "")
    assert "the reply leaves text of app.js out: // ... rest of the code unchanged" in err
    assert "gemchat show 2" in err
    assert file.read_text() == "a();\nb();\n"
    shown = gemchat("show", "2")
    assert "unusable" in shown.out
    assert elided in shown.out
    assert gemchat("show", "2", "--json").json["raw"] == elided
    assert gemchat("show", "7") == (2, "", "gemchat: there is no turn 7\nSee: gemchat log\n")


def test_a_reply_that_shrinks_a_file_must_be_said_twice(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n" * 40)
    short = json.dumps({"explanation": "", "proposedSource": "x = 1\n"})
    gemchat.mind.replies = [short, short]
    result = gemchat("edit", "once is enough", "app.py", "--json")
    assert result.code == 0
    assert "much shorter than app.py" in result.err
    assert result.json["proposal"]["files"][0]["removed"] == 39


def test_a_loose_match_is_said_and_the_text_sent_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG.replace("line 50\n", "line 50  \n"))
    gemchat.propose(("line 50\nline 51\n", "line fifty\nline 51\n"))
    code, _, err = gemchat("edit", "words", "app.py", "-y")
    assert code == 0
    assert "gemchat: app.py (placed ignoring blanks at line ends)\n" in err
    assert file.read_text() == LONG.replace("line 50\n", "line fifty\n")
    assert gemchat("ask", "well?", "--json").json["sent"]["files"][0]["source"] == "full"
    assert gemchat.mind.belief.files["app.py"] == file.read_text()


def test_broken_syntax_is_a_warning(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n" * 70 + "y = 2\n")
    gemchat.propose(("y = 2\n", "y = (\n"))
    result = gemchat("edit", "break it", "app.py")
    assert result.code == 0
    assert "gemchat: warning: app.py would not parse any more: line 71: '(' was never closed\n" in result.err


def test_a_turn_is_shown(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "fifty\n"), explanation="Words.")
    gemchat("edit", "words", "app.py")
    shown = gemchat("show", "1").out
    assert shown.startswith("turn 1, edit, proposed, ")
    assert "\n\n> words\n\nWords.\n\ndiff --git" in shown


def test_an_edit_without_changes_ends_with_8(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat.propose(explanation="It is fine as it is.")
    assert gemchat("edit", "improve", "app.py", "-q") == (
        8,
        "",
        "gemchat: the model proposes no change: It is fine as it is.\n",
    )


def test_context_goes_along_once(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    library = gemchat.write("lib.py", "def helper(): ...\n")
    assert gemchat("ask", "what?", "app.py", "-c", "lib.py", "--json").json["sent"]["context"] is True
    assert [*gemchat.mind.belief.context] == [{"path": "lib.py", "text": "def helper(): ...\n"}]
    assert gemchat("ask", "again?", "--json").json["sent"]["context"] is False
    library.write_text("def other(): ...\n")
    assert gemchat("ask", "again?", "--json").json["sent"]["context"] is True
    library.unlink()
    result = gemchat("ask", "again?")
    assert "the context file lib.py is left out: there is no file lib.py" in result.err
    assert [*gemchat.mind.belief.context] == []


def test_a_dry_run_decides_and_sends_nothing(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    del gemchat.environ["GEMINI_API_KEY"]
    result = gemchat("ask", "what?", "app.py", "--dry-run")
    assert result.code == 0
    said = r"restart: first turn\n  app.py: full, new to this conversation\n  \d+ bytes, about \d+ tokens; nothing"
    assert re.fullmatch(f"{said} was sent\n", result.out)
    decision = gemchat("edit", "what?", "app.py", "--dry-run", "--json").json
    assert decision["sent"]["files"][0]["source"] == "full"
    assert decision["mode"] == "edit"
    assert set(decision) == {"session", "mode", "sent", "model", "backend"}
    assert gemchat.requests == []
    assert not Path(gemchat.environ["GEMCHAT_STATE_DIR"]).exists(), "nothing is saved"
    gemchat.environ["GEMINI_API_KEY"] = "test-key"
    gemchat("ask", "what?", "app.py")
    assert "synchronized" in gemchat("ask", "why?", "--dry-run").out


def test_a_forgotten_chain_is_rebuilt_in_one_request(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "what?", "app.py")
    gemchat.server.forget()
    code, _, err = gemchat("ask", "why?")
    assert code == 0
    assert err.startswith("gemchat: the service no longer knows the conversation; it is sent again from the local")
    assert gemchat.mind.belief.files == {"app.py": LONG}
    assert [exchange.status for exchange in gemchat.requests] == [200, 404, 200]
    assert len(gemchat.mind.prompts[-1].messages) == 3
    assert (
        gemchat("log", "--json").json["turns"][-1]["sent"]["reason"]
        == "the service no longer knows the conversation"
    )


@pytest.mark.parametrize("backend", ["interactions", "contents"])
def test_ten_turns_on_a_thousand_lines_send_the_text_once(gemchat: Gemchat, backend: str) -> None:
    text = "".join(f"def function_{number}(): return {number}\n" for number in range(1000))
    gemchat.write("big.py", text)
    for number in range(10):
        result = gemchat(
            "ask", f"question number {number}?", *(["big.py"] if not number else []), "--backend", backend
        )
        assert result.code == 0
    assert gemchat.mind.contradictions == []
    bodies = [exchange.body for exchange in gemchat.requests]
    marker = b"def function_500(): return 500"
    assert sum(marker in body for body in bodies) == (1 if backend == "interactions" else 10)
    if backend == "contents":
        assert all(body.count(marker) == 1 for body in bodies), "once per request: this service remembers nothing"
        return
    prompt = gemchat.mind.prompts[-1]
    for body in bodies[1:]:
        assert len(body) - len(json.dumps(prompt.system)) < 400


def test_instruction_and_schema_are_short(gemchat: Gemchat) -> None:
    gemchat.write("big.py", LONG)
    gemchat.propose(("line 5\n", "five\n"))
    gemchat("edit", "change", "big.py")
    gemchat.propose(("line 6\n", "six\n"))
    gemchat("edit", "change")
    fixed = json.dumps(gemchat.mind.prompts[-1].system) + json.dumps(gemchat.mind.prompts[-1].schema)
    body = gemchat.requests[-1].body
    assert len(fixed) < 1500
    assert len(body) - len(fixed) < 400


def test_the_second_backend_sends_every_earlier_byte_again(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    for _ in range(3):
        gemchat("ask", "what?", "app.py", "--backend", "contents")
    bodies = [json.loads(exchange.body)["contents"] for exchange in gemchat.requests]
    assert bodies[1][:1] == bodies[0]
    assert bodies[2][:3] == bodies[1]
    assert bodies[2][1]["parts"][-1]["thoughtSignature"]


def test_changing_the_backend_carries_everything_over(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    for backend in ("interactions", "contents", "interactions"):
        assert gemchat("ask", "what?", "app.py", "--backend", backend).code == 0
    assert gemchat.mind.belief.files == {"app.py": LONG}
    assert gemchat.mind.contradictions == []
