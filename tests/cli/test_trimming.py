"""A talkative conversation goes on from an earlier turn with a summary, where that costs less."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from gemchat.core.contents import payload_of
from gemchat.local.mind import Prompt
from tests.cli.conftest import Gemchat, Result

TEXT = "".join(f"line {number} of the file\n" for number in range(1000))
ANSWER = "It is what it is. " * 300


def talk(gemchat: Gemchat, *options: str) -> Result:
    """Asks until the conversation is cut short; its second turn is an edit."""
    gemchat.write("a.py", TEXT)
    gemchat.mind.replies = [ANSWER]
    gemchat("ask", "what is it?", "a.py", *options)
    gemchat.propose(("line 500 ", "line five hundred "), explanation="Words are nicer.")
    gemchat("edit", "words", "a.py", "-y", *options)
    gemchat.mind.replies = [ANSWER] * 20
    for number in range(3, 20):
        result = gemchat("ask", f"question {number}", *options)
        if "summary" in result.err:
            return result
    raise AssertionError("it never was")


def test_a_talkative_conversation_is_cut_short(gemchat: Gemchat) -> None:
    code, out, err = talk(gemchat)
    assert (code, out.strip()) == (0, ANSWER.strip())
    assert re.match(
        r"gemchat: main, turn \d+: to go on from turn 1 with a summary of what came after costs \d+ % less over 8 "
        r"turns; a\.py sent as a diff \(changed \+1 -1\); [\d,]+ bytes, [\d,]+ tokens in \([\d,]+ cached\), ",
        err,
    )
    second, last = (json.loads(gemchat.requests[index].body) for index in (1, -1))
    assert last["previous_interaction_id"] == second["previous_interaction_id"], "that of turn 1"
    assert gemchat.mind.belief.files == {"a.py": TEXT.replace("line 500 ", "line five hundred ")}
    assert gemchat.mind.contradictions == []


def test_what_is_kept_comes_from_the_cache(gemchat: Gemchat) -> None:
    talk(gemchat)
    before, last = sorted(gemchat("log", "--json").json["turns"], key=lambda turn: int(turn["turn"]))[-2:]
    assert last["sent"]["kept"] == "1"
    assert last["usage"]["cached"] > 5000
    assert last["usage"]["input"] < before["usage"]["input"] - 2000


def test_generate_content_repeats_the_kept_turns_word_for_word(gemchat: Gemchat) -> None:
    talk(gemchat, "--backend", "contents")
    first, last = (json.loads(gemchat.requests[index].body)["contents"] for index in (0, -1))
    assert len(last) == 3
    assert last[0] == first[0]
    assert last[1]["parts"][0]["text"].strip() == ANSWER.strip()
    (summary, *_) = json.loads(last[2]["parts"][0]["text"])["carryover"]
    assert summary == "Earlier, edit: words You said (your change: applied): Words are nicer."


def test_the_ledger_and_the_log_tell_of_it(gemchat: Gemchat) -> None:
    talk(gemchat)
    out = gemchat("context").out
    assert re.search(r"^file +a\.py: \w{12} held since turn \d+ \(delta\)", out, re.MULTILINE)
    assert re.search(r"^chain +2 turns held word for word, [\d,]+ tokens, cached", out, re.MULTILINE)
    assert "to go on from turn 1 with a summary of what came after" in gemchat("log", "-v").out
    assert re.search(r"^model .* \(interactions\), 2 held word for word$", gemchat("status").out, re.MULTILINE)
    before, last = gemchat("usage", "--json").json["turns"][-2:]
    assert last["again"]["input"] > before["again"]["input"], "it is measured by what is kept"


def test_undo_of_a_summed_up_edit_is_told_in_the_text(gemchat: Gemchat) -> None:
    talk(gemchat)
    assert gemchat("undo").code == 0
    sent = gemchat("ask", "and now?", "--json").json["sent"]
    assert [file["source"] for file in sent["files"]] == ["delta"]
    assert gemchat.mind.belief.files == {"a.py": TEXT}


def test_another_terminal_may_go_back_meanwhile(gemchat: Gemchat) -> None:
    """The turn is kept; that it went on from one that is gone is forgotten, or the session would make no sense."""

    went_back: list[int] = []

    def turns() -> int:
        return len(gemchat("log", "--json", "-n", "100").json["turns"])

    def answer(prompt: Prompt) -> Iterator[str]:
        if "carryover" in payload_of(prompt.messages[-1]) and not went_back:
            went_back.append(turns())
            assert gemchat("rewind", str(went_back[0])).code == 0
        yield ANSWER

    gemchat.mind.answer = answer  # type: ignore[method-assign]
    gemchat.write("a.py", TEXT)
    gemchat("ask", "what is it?", "a.py")
    while not went_back:
        gemchat("ask", "and now?")
    assert gemchat("ask", "and then?", "--json").json["sent"]["reason"] == "turns from two terminals are joined"
    assert turns() == went_back[0] + 2


@pytest.mark.parametrize("compaction", ["always", "never"])
def test_a_fixed_policy_never_does(gemchat: Gemchat, compaction: str) -> None:
    gemchat("config", "set", "compaction", compaction)
    with pytest.raises(AssertionError, match="it never was"):
        talk(gemchat)
