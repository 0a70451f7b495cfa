from __future__ import annotations

import re

from tests.cli.conftest import Gemchat

LONG = "".join(f"line {number}\n" for number in range(100))
EDITED = LONG.replace("line 50\n", "fifty\n")


def test_the_ledger_of_a_new_conversation(gemchat: Gemchat) -> None:
    assert gemchat("context") == (
        0,
        "session   main\nchain     nothing is remembered yet\nnext      restart: first turn\n",
        "",
    )


def test_the_ledger_tells_what_is_held_and_what_comes_next(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.write("notes.md", "notes\n")
    gemchat("ask", "why?", "app.py", "-c", "notes.md")
    gemchat.propose(("line 50\n", "fifty\n"))
    gemchat("edit", "fifty", "app.py", "-y")
    file.write_text(EDITED.replace("line 3\n", "three\n"))
    sent = len(gemchat.requests)
    code, out, err = gemchat("context")
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"session   main\n"
        r"file      app.py: [0-9a-f]{12} held since turn 2 \(proposal\), about 197 tokens\n"
        r"          next turn: app.py sent as a diff \(changed \+1 -1\)\n"
        r"context   notes.md\n"
        r"chain     2 turns held word for word, \d+ tokens, not cached\n"
        r"next      continue: the model remembers the conversation\n"
        r"          the conversation holds \d+ tokens, not cached; over 8 turns continuing "
        r"costs as much as [\d,]+ fresh tokens, rewriting [\d,]+, summing up the newest turns [\d,]+\n",
        out,
    )
    assert len(gemchat.requests) == sent


def test_a_long_conversation_is_cached_for_a_while(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG * 20)
    gemchat("ask", "why?", "app.py")
    out = gemchat("context").out
    assert re.search(
        r"^chain     1 turn held word for word, [\d,]+ tokens, cached until \d\d:\d\d:\d\d$", out, re.MULTILINE
    )
    assert "          after that it would continue: the conversation holds" in out


def test_what_happens_once_the_cache_is_cold_is_decided_as_it_will_be(gemchat: Gemchat) -> None:
    gemchat.write("b.py", "b = 1\n")
    gemchat("ask", "why?", "b.py")
    file = gemchat.write("a.py", LONG * 20)
    gemchat("ask", "why?", "a.py")
    gemchat("ask", "and why?")
    file.write_text(LONG.replace("line", "number") * 4 + LONG * 16)
    now = gemchat("context", "--json").json
    assert (now["comparison"]["warm"], now["cold"]["warm"]) == (True, False)
    assert now["comparison"]["kept"] > now["cold"]["kept"] > 0, "a diff is only worth it to what is cached"
    gemchat.now = now["warm_until"]
    later = gemchat("context", "--json").json
    assert later["comparison"] == later["cold"] == now["cold"]


def test_the_ledger_as_json_changes_nothing(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "why?", "app.py")
    before = {path: path.read_bytes() for path in gemchat.root.parent.rglob("*") if path.is_file()}
    found = gemchat("context", "--json").json
    (entry,) = found["files"]
    assert (entry["path"], entry["since"], entry["form"]) == ("app.py", "1", "full")
    assert entry["next"]["source"] == "synchronized"
    assert found["comparison"]["restarting"] > 0
    assert found["turns"] == 1
    assert {path: path.read_bytes() for path in gemchat.root.parent.rglob("*") if path.is_file()} == before


def test_usage_adds_up_and_says_what_sending_again_would_have_cost(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "why?", "app.py")
    gemchat("ask", "and how?")
    assert gemchat("new", "other").code == 0
    gemchat("ask", "anything?", "-m", "someone-elses-model")
    code, out, err = gemchat("usage", "-s", "main")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["turn", "model", "fresh", "cached", "output", "thought", "cost"]
    assert [line.split()[0] for line in lines[1:5]] == ["1", "2", "main", "all"]
    found = gemchat("usage", "-s", "main", "--json").json
    first, second = found["turns"]
    assert found["total"]["usage"]["input"] == first["usage"]["input"] + second["usage"]["input"]
    assert found["total"]["cost"] == first["cost"] + second["cost"]
    assert (found["total"]["turns"], found["total"]["priced"]) == (2, 2)
    assert (found["project"]["turns"], found["project"]["priced"]) == (3, 2)
    assert second["again"]["input"] > first["again"]["input"], "the file and what was said so far"
    price = (1.50 * first["usage"]["input"] + 7.50 * first["usage"]["output"]) / 1e6
    assert abs(first["cost"] - price) < 1e-12


def test_usage_of_nothing(gemchat: Gemchat) -> None:
    assert gemchat("usage") == (0, "nothing has been asked yet\n", "")


def test_usage_of_a_model_without_a_price(gemchat: Gemchat) -> None:
    gemchat("ask", "anything?", "-m", "someone-elses-model")
    out = gemchat("usage").out
    assert "unknown" in out
    assert "$" not in out
    assert "would have taken" in out
