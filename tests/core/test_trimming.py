"""Going on from an earlier turn with a summary of what came after it, where that costs less."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gemchat.core import history, planner
from gemchat.core.chain import held_chain
from gemchat.core.contents import payload_of
from gemchat.core.economics import Policy
from gemchat.core.model import Comparison, FileRef, Turn, Usage
from gemchat.core.planner import Plan, Wish
from gemchat.core.rewriting import REMEMBERED_TURNS
from tests.core.sessions import Script

TEXT = "".join(f"line {number} of the file\n" for number in range(1000))  # 5,600 tokens
TEXTS = {"T": TEXT, "E": TEXT.replace("line 500 ", "line five hundred ")}
QUESTION = Wish(
    mode="ask",
    prompt="why?",
    model="m",
    backend="interactions",
    targets=(FileRef(path="a", sha256="E"),),
)


def decided(script: Script, wanted: Wish = QUESTION, now: float = 0.0) -> Plan:
    return planner.plan(script.session, wanted, TEXTS.get, Policy(), now=now)


def talkative(turns: int = 12, tokens: int = 1000) -> Script:
    """A question that brings the text, an edit of it, and others that are answered at length."""
    script = Script()
    script.turn(files={"a": "T"}, usage=Usage(input=6000, output=1000), explanation="y" * 4000, added=6000)
    edit = script.turn(
        files={"a": "T"},
        source="synchronized",
        proposal={"a": ("T", "E")},
        usage=Usage(input=7100, output=tokens, cached=7000),
        explanation="It says\nfive hundred.",
    )
    script.change("applied", *edit.proposal)
    for number in range(2, turns):
        usage = Usage(input=7000 + number * (tokens + 100), output=tokens, cached=7000)
        text = f"answer {number + 1} " + "z" * (4 * tokens)
        script.turn(files={"a": "E"}, source="synchronized", usage=usage, explanation=text, added=100)
    return script


def test_a_summary_takes_the_place_of_long_answers() -> None:
    script = talkative()
    decision = decided(script)
    assert (decision.route, decision.kept, decision.follows) == ("continue", "1", ("1",))
    assert decision.carryover == tuple(str(number) for number in range(2, 13))
    compared = decision.comparison
    assert compared is not None
    assert (compared.choice, compared.kept) == ("trim", 7000)
    assert compared.trimming is not None
    assert compared.trimming < min(compared.continuing, compared.restarting)
    saved = round(100 * (compared.continuing - compared.trimming) / compared.continuing)
    assert decision.reason == (
        f"to go on from turn 1 with a summary of what came after costs {saved} % less over 8 turns"
    )


def test_the_text_is_what_the_kept_turn_knows_and_a_diff() -> None:
    (message,) = decided(talkative()).messages
    payload = payload_of(message)
    assert payload["sourceDelta"]["fromSha256"] == "T"
    assert payload["sourceDelta"]["toSha256"] == "E"


def test_the_newest_turns_are_kept_whole() -> None:
    (message,) = decided(talkative()).messages
    payload = payload_of(message)
    assert "outcomes" not in payload, "they are part of the summary"
    first, *_, before, newest = payload["carryover"]
    assert first == "Earlier, edit: prompt 2 You said (your change: applied): It says five hundred."
    assert newest.startswith("Earlier, ask: prompt 12 You said: answer 12 zzz")
    assert [len(line) > 4000 for line in payload["carryover"]] == 8 * [False] + 3 * [True]
    assert before.endswith("z")


def proposed(script: Script, before: str, after: str) -> Turn:
    usage = Usage(input=20_000, output=1000, cached=19_000)
    return script.turn(files={"a": before}, source="synchronized", proposal={"a": (before, after)}, usage=usage)


def last_words(decision: Plan) -> str:
    return str(payload_of(decision.messages[-1])["carryover"][-1])


def test_what_becomes_of_a_summed_up_change_is_told_later_by_its_hash() -> None:
    script = talkative()
    edit = proposed(script, "E", "T")
    decision = decided(script, replace(QUESTION, targets=(FileRef(path="a", sha256="T"),)))
    assert last_words(decision) == "Earlier, edit: prompt 13 You said (your change: proposed, T): because"
    assert [outcome.turn for outcome in decision.outcomes] == ["2"], "in words, which need not be repeated"
    script.turn(
        files={"a": "T"},
        source="synchronized",
        kept="1",
        carryover=decision.carryover,
        outcomes=decision.outcomes,
        added=decision.added,
        usage=Usage(input=7000 + decision.added, output=9, cached=7000),
    )
    assert "outcomes" not in payload_of(decided(script).messages[-1])
    script.change("discarded", *edit.proposal)
    later = payload_of(decided(script).messages[-1])
    assert later["outcomes"] == [{"proposalSha256": "T", "outcome": "discarded"}]


def test_a_change_that_another_one_replaced_is_not_open() -> None:
    script = talkative()
    proposed(script, "E", "T")
    proposed(script, "E", "T")
    before, newest = payload_of(decided(script).messages[-1])["carryover"][-2:]
    assert "(your change: replaced)" in before
    assert "(your change: proposed, T)" in newest


def test_edits_that_could_not_be_used_are_said_to_be_so() -> None:
    script = talkative()
    usage = Usage(input=20_000, output=1000, cached=19_000)
    script.turn(files={"a": "E"}, source="synchronized", status="unusable", mode="edit", usage=usage)
    assert (
        last_words(decided(script)) == "Earlier, edit: prompt 13 You said (your edits could not be used): because"
    )


def test_an_attachment_is_said_to_be_gone() -> None:
    script = talkative()
    usage = Usage(input=20_000, output=1000, cached=19_000)
    script.turn(files={"a": "E"}, source="synchronized", attachments=("build.log",), usage=usage)
    assert last_words(decided(script)) == (
        "Earlier, ask: prompt 13 (build.log, about 0 tokens, was attached and is not repeated) You said: because"
    )


def test_a_very_long_conversation_is_not_summed_up_as_a_whole() -> None:
    script = talkative(turns=REMEMBERED_TURNS + 10)
    said = payload_of(decided(script).messages[-1])["carryover"]
    assert len(said) == REMEMBERED_TURNS + 1
    assert said[0] == "Earlier turns that are left out: 9."


def test_little_is_not_worth_a_summary() -> None:
    decision = decided(talkative(turns=4))
    assert (decision.kept, decision.follows) == (None, ("1", "2", "3", "4"))
    assert decision.comparison is not None
    assert decision.comparison.trimming is not None


def test_a_service_that_does_not_count_is_not_guessed_about() -> None:
    script = talkative()
    first, *others = script.session.journal
    assert isinstance(first, Turn)
    script.session = replace(script.session, journal=(replace(first, usage=Usage()), *others))
    compared = decided(script).comparison
    assert compared is not None
    assert compared.trimming is None


def test_a_repair_follows_the_turn_that_it_repairs() -> None:
    script = talkative()
    repair = decided(script, replace(QUESTION, repairs=True))
    assert repair.kept is None
    assert repair.comparison is not None
    assert repair.comparison.trimming is None


def test_the_turn_that_is_kept_brought_a_text_and_worked() -> None:
    script = talkative()
    script.turn(files={"b": "T"}, usage=Usage(input=25_000, output=1000, cached=20_000))
    script.turn(files={"a": "E"}, source="delta", usage=Usage(input=26_000, output=9000, cached=20_000))
    script.turn(files={"a": "E"}, status="unusable", usage=Usage(input=35_000, output=9000, cached=20_000))
    about_b = replace(QUESTION, targets=(FileRef(path="b", sha256="T"),))
    assert decided(script, about_b).kept == "13"
    assert decided(script).kept == "1", "what is no longer asked about is left behind"


def test_what_was_summed_up_is_no_longer_held() -> None:
    script = talkative()
    script.turn(files={"a": "E"}, source="delta", kept="1", carryover=("2", "3"))
    turns = history.chain(history.current_path(script.session))
    assert [turn.id for turn in turns] == ["1", "13"]
    assert history.holdings(turns)["a"].form == "delta"


def test_a_second_summary_covers_the_first() -> None:
    script = talkative()
    script.turn(files={"a": "E"}, source="delta", kept="1", carryover=("2", "3"), explanation="w" * 4000)
    for number in range(10):
        usage = Usage(input=9000 + 1100 * number, output=1000, cached=7000)
        script.turn(files={"a": "E"}, source="synchronized", usage=usage, explanation="w" * 4000, added=100)
    again = decided(script)
    assert (again.kept, again.follows) == ("1", ("1",))
    assert again.carryover == tuple(str(number) for number in range(2, 24))


def test_a_second_summary_may_come_after_the_first() -> None:
    """Where less is then said again; the first one stays as it is, and cached."""
    script = talkative(turns=30)
    usage = Usage(input=9000, output=1000, cached=7000)
    script.turn(files={"a": "E"}, source="delta", kept="1", usage=usage, explanation="w" * 4000)
    for number in range(1, 12):
        usage = Usage(input=9000 + 1100 * number, output=1000, cached=7000)
        script.turn(files={"a": "E"}, source="synchronized", usage=usage, explanation="w" * 4000, added=100)
    again = decided(script)
    assert (again.kept, again.follows) == ("31", ("1", "31"))
    assert again.carryover == tuple(str(number) for number in range(32, 43))
    (message,) = again.messages
    assert payload_of(message)["sourceSynchronized"]


def test_a_rewritten_history_tells_of_what_was_summed_up() -> None:
    script = talkative()
    script.turn(files={"a": "E"}, source="delta", kept="1")
    script.turn(files={"a": "E"}, route="restart")
    turns = history.chain(history.current_path(script.session))
    assert [turn.id for turn in turns] == [str(number) for number in range(1, 15)]


@pytest.mark.parametrize("kept", ["1", "3", "7"], ids=["before the last restart", "itself", "none at all"])
def test_a_turn_that_goes_on_from_nowhere_is_an_error(kept: str) -> None:
    script = Script()
    script.turn()
    script.turn(route="restart")
    script.turn(kept=kept)
    with pytest.raises(ValueError, match=f"turn 3 goes on from turn {kept}, which does not come before it"):
        history.chain(history.current_path(script.session))


def test_a_rewritten_history_tells_of_what_was_beside_the_conversation() -> None:
    script = Script()
    script.turn()
    script.turn(side=True)
    script.turn(route="restart")
    assert [turn.id for turn in history.chain(history.current_path(script.session))] == ["1", "2", "3"]


def test_a_summary_is_not_what_turns_usually_add() -> None:
    script = talkative()
    before = held_chain(history.chain(history.current_path(script.session)), Policy(), 0.0)
    script.turn(files={"a": "E"}, source="delta", kept="1", added=50_000, usage=Usage(input=60_000, output=10))
    turns = history.chain(history.current_path(script.session))
    after = held_chain(
        (*turns, replace(turns[-1], sent=replace(turns[-1].sent, kept=None, added=100))), Policy(), 0.0
    )
    assert after.growth < before.growth


def test_a_summary_that_was_not_served_from_the_cache_is_a_miss() -> None:
    def caching(*, warm: bool, cached: int) -> bool:
        script = talkative()
        compared = Comparison(
            chain=1, payload=1, rewritten=1, warm=warm, horizon=8, continuing=9, restarting=9, trimming=1
        )
        script.turn(files={"a": "E"}, kept="1", at=9000.0, usage=Usage(input=9000, cached=cached))
        *before, head = history.chain(history.current_path(script.session))
        head = replace(head, sent=replace(head.sent, comparison=compared))
        return held_chain((*before, head), Policy(), 9001.0).caching

    assert not caching(warm=True, cached=0)
    assert caching(warm=True, cached=7000)
    assert caching(warm=False, cached=0), "nothing was to be expected"
