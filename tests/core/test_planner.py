from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gemchat.core import planner
from gemchat.core.contents import payload_of
from gemchat.core.diff import apply_patch
from gemchat.core.economics import Policy
from gemchat.core.model import FileRef, MediaRef, NamedText, Remote, Usage
from gemchat.core.planner import Plan, Wish
from gemchat.core.proposals import FailedEdit
from gemchat.core.rewriting import RECENT_TURNS, REMEMBERED_TURNS
from gemchat.errors import WorkspaceError
from tests.core.sessions import Script
from tests.core.strategies import texts

NEVER = Policy(compaction="never")
LONG = "".join(f"line {n}\n" for n in range(60))


def wish(**targets: str | None) -> Wish:
    refs = tuple(FileRef(path=path, sha256=text) for path, text in targets.items())
    return Wish(mode="ask", prompt="why?", model="m", backend="interactions", targets=refs)


def plan(script: Script, wanted: Wish) -> Plan:
    return planner.plan(script.session, wanted, lambda text: text, NEVER, now=0.0)


def newest(decision: Plan) -> dict[str, Any]:
    return payload_of(decision.messages[-1])


def sources(decision: Plan) -> dict[str, str]:
    return {file.path: file.source for file in decision.files}


def test_the_first_turn_sends_the_text() -> None:
    decision = plan(Script(), wish(a=LONG))
    assert (decision.route, decision.reason) == ("restart", "first turn")
    assert sources(decision) == {"a": "full"}
    assert newest(decision)["currentSource"] == LONG


def test_a_question_without_files() -> None:
    assert newest(plan(Script(), wish())) == {"mode": "ask", "prompt": "why?", "currentSource": None}


def test_an_unchanged_file_is_not_sent() -> None:
    script = Script()
    script.turn(files={"a": LONG})
    decision = plan(script, wish(a=LONG))
    assert decision.route == "continue"
    assert newest(decision) == {
        "mode": "ask",
        "prompt": "why?",
        "path": "a",
        "sourceSynchronized": True,
        "sourceSha256": LONG,
    }


def test_a_small_change_is_sent_as_a_diff() -> None:
    script = Script()
    script.turn(files={"a": LONG})
    changed = LONG.replace("line 30", "line thirty")
    decision = plan(script, wish(a=changed))
    assert sources(decision) == {"a": "delta"}
    assert decision.files[0].reason == "changed +1 -1"
    delta = newest(decision)["sourceDelta"]
    assert (delta["fromSha256"], delta["toSha256"]) == (LONG, changed)
    assert apply_patch(LONG, delta["diff"]) == changed


@given(texts(max_lines=30), texts(max_lines=30))
def test_a_diff_is_never_half_as_long_as_the_text(old: str, new: str) -> None:
    script = Script()
    script.turn(files={"a": old})
    payload = newest(plan(script, wish(a=new)))
    if "sourceDelta" in payload:
        assert 2 * len(payload["sourceDelta"]["diff"]) < len(new)
    else:
        assert payload.get("currentSource", old) == new


def test_a_changed_text_that_is_not_stored_is_sent_in_full() -> None:
    script = Script()
    script.turn(files={"a": "lost"})
    lookup = {"lost": None}
    decision = planner.plan(script.session, wish(a=LONG), lambda text: lookup.get(text, text), NEVER, now=0.0)
    assert sources(decision) == {"a": "full"}
    assert decision.files[0].reason == "the version the model knows is not at hand"


def test_other_bytes_with_the_same_text_are_synchronized() -> None:
    script = Script()
    script.turn(files={"a": "a\r\n"})
    decision = planner.plan(script.session, wish(a="a\n"), lambda text: text.replace("\r", ""), NEVER, now=0.0)
    assert sources(decision) == {"a": "synchronized"}
    assert decision.files[0].sha256 == "a\n"


def test_a_proposal_is_held_so_the_pending_text_is_not_sent() -> None:
    script = Script()
    script.turn(files={"a": "A1"}, proposal={"a": ("A1", "A2")})
    assert sources(plan(script, wish(a="A2"))) == {"a": "synchronized"}


def test_a_missing_file_is_named_absent_and_its_text_sent_when_it_appears() -> None:
    script = Script()
    script.turn(files={"a": None})
    assert newest(plan(script, wish(a=None)))["sourceAbsent"] is True
    assert newest(plan(script, wish(a="A")))["currentSource"] == "A"


def test_after_an_unusable_edit_the_text_is_sent_again() -> None:
    script = Script()
    script.turn(files={"a": "A"})
    script.turn(files={"a": "A"}, status="unusable")
    decision = plan(script, wish(a="A", b="B"))
    assert sources(decision) == {"a": "full", "b": "full"}
    assert [file.reason for file in decision.files] == [
        "the last edit left its text in doubt",
        "new to this conversation",
    ]


def test_each_of_several_targets_gets_its_own_form() -> None:
    script = Script()
    script.turn(files={"a": "A", "b": LONG})
    decision = plan(script, wish(a="A", b=f"{LONG}end\n", c="C", d=None))
    assert sources(decision) == {"a": "synchronized", "b": "delta", "c": "full", "d": "absent"}
    assert [list(file) for file in newest(decision)["files"]] == [
        ["path", "sourceSynchronized", "sourceSha256"],
        ["path", "sourceDelta", "sourceSha256"],
        ["path", "currentSource", "sourceSha256"],
        ["path", "sourceAbsent"],
    ]


def test_what_there_is_no_chain_for_restarts() -> None:
    script = Script()
    script.turn(files={"a": "A"})
    base = wish(a="A")
    assert plan(script, replace(base, restart="asked for")).reason == "asked for"
    assert (
        plan(script, replace(base, backend="contents")).reason == "the conversation moves to the contents backend"
    )
    assert plan(script, replace(base, model="n")).reason == "the model changes from m to n"
    for apart in (Remote(), Remote(interaction="v1_2", detached=True)):
        script.turn(remote=apart)
        assert plan(script, base).reason == "turns from two terminals are joined"
        assert plan(script, base).route == "restart"


def test_a_chain_belongs_to_a_key_and_an_address() -> None:
    script = Script()
    script.turn(files={"a": "A"}, remote=Remote(interaction="v1_1", service="one"))
    assert plan(script, replace(wish(a="A"), service="one")).route == "continue"
    assert plan(script, replace(wish(a="A"), service=None)).route == "continue"
    moved = plan(script, replace(wish(a="A"), service="two"))
    assert (moved.route, moved.reason) == ("restart", "the API key or the address of the service changed")
    script.turn(remote=Remote(interaction="v1_2"))
    assert plan(script, replace(wish(a="A"), service="two")).route == "continue", "recorded before marks were"


def rewritten(script: Script, wanted: Wish) -> Plan:
    return plan(script, replace(wanted, restart="asked for"))


def test_a_restart_carries_the_text_where_it_was_introduced_last() -> None:
    script = Script()
    script.turn(files={"a": "A1"})
    script.turn(files={"a": "A1"}, proposal={"a": ("A1", "A2")})
    decision = rewritten(script, wish(a="A2"))
    assert [payload_of(message) for message in decision.messages] == [
        {"mode": "ask", "prompt": "prompt 1", "path": "a", "supersededSourceSha256": "A1"},
        {"kind": "answer", "explanation": "because"},
        {"mode": "edit", "prompt": "prompt 2", "path": "a", "supersededSourceSha256": "A1"},
        {"kind": "code_proposal", "explanation": "because", "proposedSource": "A2"},
        {"mode": "ask", "prompt": "why?", "path": "a", "sourceSynchronized": True, "sourceSha256": "A2"},
    ]
    assert sources(decision) == {"a": "synchronized"}
    assert [(ref.path, ref.sha256) for ref in decision.carried] == [("a", "A2")]


def test_a_restart_sends_a_target_that_the_history_does_not_show() -> None:
    script = Script()
    script.turn(files={"a": "A1", "b": "B1"})
    decision = rewritten(script, wish(a="A2", c=None))
    assert sources(decision) == {"a": "full", "c": "absent"}
    assert decision.files[0].reason == "differs from the rewritten history"
    assert [(ref.path, ref.sha256) for ref in decision.carried] == [("b", "B1")]
    assert payload_of(decision.messages[0])["files"] == [
        {"path": "a", "supersededSourceSha256": "A1"},
        {"path": "b", "currentSource": "B1"},
    ]


def test_a_restart_after_a_discard_carries_the_base() -> None:
    script = Script()
    edit = script.turn(files={"a": "A1"}, proposal={"a": ("A1", "A2")})
    script.change("discarded", *edit.proposal)
    decision = rewritten(script, wish(a="A1"))
    assert sources(decision) == {"a": "synchronized"}
    assert [(ref.path, ref.sha256) for ref in decision.carried] == [("a", "A1")]
    assert newest(decision)["outcomes"] == [{"proposalSha256": "A2", "outcome": "discarded"}]


def test_files_long_out_of_sight_are_left_behind_and_old_explanations_shortened() -> None:
    script = Script()
    script.turn(files={"old": "O"}, explanation="x" * 300)
    for _ in range(8):
        script.turn(files={"a": "A"}, explanation="y" * 300)
    decision = rewritten(script, wish(a="A"))
    assert {ref.path for ref in decision.carried} == {"a"}
    said = [payload_of(message) for message in decision.messages]
    assert said[0] == {"mode": "ask", "prompt": "prompt 1", "path": "old"}
    assert said[2]["supersededSourceSha256"] == "A"
    assert [len(payload["explanation"]) for payload in said[1::2]] == [200] + 8 * [300]
    assert sources(rewritten(script, wish(old="O"))) == {"old": "synchronized"}, "a target is always carried"


def test_the_context_goes_once_and_again_when_it_changes() -> None:
    script = Script()
    one = replace(wish(a="A"), context=(NamedText(name="lib.py", text="L"),))
    first = plan(script, one)
    assert newest(first)["secondaryContext"] == [{"path": "lib.py", "text": "L"}]
    assert newest(first)["secondaryContextHash"] == first.context == planner.context_hash(one.context)
    script.turn(files={"a": "A"}, context=first.context)
    assert "secondaryContext" not in newest(plan(script, one))
    assert plan(script, one).context is None
    other = replace(one, context=(NamedText(name="lib.py", text="M"),))
    assert newest(plan(script, other))["secondaryContext"][0]["text"] == "M"
    assert newest(plan(script, wish(a="A")))["secondaryContext"] == [], "dropped context is told"
    assert newest(rewritten(script, one))["secondaryContext"][0]["text"] == "L", "a restart forgets it"


def picture(path: str, sha256: str, tokens: int = 1120) -> MediaRef:
    return MediaRef(path=path, mime_type="image/png", sha256=sha256, bytes=9, tokens=tokens)


def test_an_image_goes_once_and_is_only_named_when_the_context_changes() -> None:
    script = Script()
    one = replace(wish(a="A"), media=(picture("a.png", "1"),))
    first = plan(script, one)
    assert first.media == first.messages[-1].media == one.media
    assert newest(first)["secondaryContext"] == [
        {"path": "a.png", "mimeType": "image/png", "sha256": "1", "inline": 1}
    ]
    assert first.context == planner.context_hash((), one.media)
    script.turn(files={"a": "A"}, context=first.context, media=first.media)
    assert (plan(script, one).media, plan(script, one).context) == ((), None)
    other = replace(one, context=(NamedText(name="lib.py", text="L"),), media=(*one.media, picture("b.png", "2")))
    changed = plan(script, other)
    assert changed.media == (picture("b.png", "2"),)
    assert newest(changed)["secondaryContext"] == [
        {"path": "lib.py", "text": "L"},
        {"path": "a.png", "mimeType": "image/png", "sha256": "1", "synchronized": True},
        {"path": "b.png", "mimeType": "image/png", "sha256": "2", "inline": 1},
    ]
    again = rewritten(script, other)
    assert again.media == again.messages[-1].media == other.media, "a restart forgets them"
    assert not any(message.media for message in again.messages[:-1])


@pytest.mark.parametrize("other", [picture("b.png", "1"), picture("a.png", "2")])
def test_name_and_bytes_of_an_image_are_part_of_the_context(other: MediaRef) -> None:
    assert planner.context_hash((), [picture("a.png", "1")]) != planner.context_hash((), [other])
    assert planner.context_hash((), [picture("a.png", "1", tokens=258)]) == planner.context_hash(
        (), [picture("a.png", "1")]
    ), "what it weighs is not"


def test_what_was_shown_beside_the_conversation_is_shown_again() -> None:
    script = Script()
    one = replace(wish(a="A"), media=(picture("a.png", "1"),))
    script.turn(files={"a": "A"})
    hashed = planner.context_hash((), one.media)
    script.turn(files={"a": "A"}, context=hashed, media=one.media, side=True)
    assert plan(script, one).media == one.media


def test_images_weigh_in_the_comparison() -> None:
    script = Script()
    one = replace(wish(a="A"), media=(picture("a.png", "1", tokens=50_000),))
    first = plan(script, one)
    assert first.added > 50_000
    script.turn(files={"a": "A"}, context=first.context, media=first.media, added=first.added)
    compared = decided(script, one).comparison
    assert compared is not None
    assert compared.payload < 100
    assert min(compared.chain, compared.rewritten) > 50_000


def test_attachments_go_with_their_turn() -> None:
    wanted = replace(wish(), attachments=(NamedText(name="stdin", text="log"),))
    assert newest(plan(Script(), wanted))["attachments"] == [{"name": "stdin", "text": "log"}]


def test_failed_edits_are_told_with_what_is_known_of_them() -> None:
    failed = (
        FailedEdit(path="a", search="x", reason="does not occur", nearest="1: y"),
        FailedEdit(path="a", search="", reason="left out"),
    )
    assert newest(plan(Script(), replace(wish(a="A"), failed=failed)))["failedEdits"] == [
        {"path": "a", "search": "x", "reason": "does not occur", "nearestLines": "1: y"},
        {"path": "a", "reason": "left out"},
    ]


def test_a_plan_knows_the_versions_of_its_targets() -> None:
    assert plan(Script(), wish(a="A", b=None)).versions == (
        FileRef(path="a", sha256="A"),
        FileRef(path="b", sha256=None),
    )


HEAVY = NamedText(name="build.log", text="x" * 16_004)


def decided(script: Script, wanted: Wish, *, now: float = 0.0, **policy: Any) -> Plan:
    texts = {"BIG": "line of text\n" * 1500}
    return planner.plan(script.session, wanted, lambda text: texts.get(text, text), Policy(**policy), now=now)


def long_conversation(**last: Any) -> Script:
    """Twenty questions about one file, of 11,000 tokens in all; rewritten it takes 5,000."""
    script = Script()
    script.turn(files={"a": "BIG"}, added=5000, explanation="y" * 1200)
    for number in range(1, 20):
        usage = Usage(input=5100 + 320 * number, cached=5000, output=300)
        more = last if number == 19 else {}
        script.turn(files={"a": "BIG"}, added=20, explanation="y" * 1200, **({"usage": usage} | more))
    return script


def test_a_warm_conversation_goes_on_and_a_cold_one_is_rewritten() -> None:
    script = long_conversation()
    question = wish(a="BIG")
    warm, cold = decided(script, question, now=299.0), decided(script, question, now=300.0)
    assert (warm.route, cold.route) == ("continue", "restart")
    assert warm.comparison is not None
    assert cold.comparison is not None
    assert warm.comparison.chain == cold.comparison.chain == 5100 + 320 * 19 + 300
    assert (warm.comparison.warm, cold.comparison.warm) == (True, False)
    assert cold.comparison.restarting < cold.comparison.continuing
    assert cold.reason == f"a rewritten history costs {cold.comparison.saved} % less over 8 turns"
    assert decided(script, question, now=300.0, cache_ttl=600.0).route == "continue"


def test_never_and_always() -> None:
    script = long_conversation()
    question = wish(a="BIG")
    assert decided(script, question, now=9999.0, compaction="never").route == "continue"
    always = decided(script, question, compaction="always")
    assert (always.route, always.reason) == ("restart", "compaction is set to always")
    assert always.comparison is None


def test_a_text_that_no_model_reads_is_never_sent_again_to_save_costs() -> None:
    script = Script()
    script.turn(files={"a": LONG}, at=0.0)
    held = LONG * 10_000
    script.turn(files={"a": held}, at=0.0, usage=Usage(input=4_000_000, output=10))
    assert decided(script, wish(a=LONG * 5_000), now=9999.0).route == "restart"
    assert decided(script, wish(a=held), now=9999.0).route == "continue"
    assert decided(script, wish(a=held), now=9999.0, compaction="always").route == "restart"


def test_a_miss_while_warm_means_cold() -> None:
    question = wish(a="BIG")
    missed = long_conversation(usage=Usage(input=11_180, cached=0, output=300))
    assert decided(missed, question).route == "restart"
    late = long_conversation(usage=Usage(input=11_180, cached=0, output=300), at=1000.0)
    assert decided(late, question, now=1001.0).route == "continue", "it could not have been cached any more"


def test_the_service_counts_better_than_the_estimate() -> None:
    script = Script()
    script.turn(files={"a": LONG}, added=1000)
    estimated = decided(script, wish(a=LONG)).comparison
    assert estimated is not None
    script.turn(files={"a": LONG}, added=1000, usage=Usage(input=10**6))
    counted = decided(script, wish(a=LONG)).comparison
    assert counted is not None
    assert counted.chain == 10**6
    assert counted.rewritten < 3 * estimated.rewritten, "an estimate is corrected within reason"


def test_heavy_attachments_stay_beside_the_conversation() -> None:
    script = Script()
    script.turn(files={"a": LONG})
    heavy = decided(script, replace(wish(a=LONG), attachments=(HEAVY,)), now=999.0)
    assert (heavy.route, heavy.side, heavy.follows) == ("continue", True, ("1",))
    script.turn(files={"a": LONG}, side=True, attachments=("build.log",), explanation="It lacks a\nsemicolon.")
    after = decided(script, wish(a=LONG))
    assert (after.route, after.side, after.follows, after.carryover) == ("continue", False, ("1",), ("2",))
    (said,) = newest(after)["carryover"]
    assert said == (
        "Asked beside this conversation: prompt 2 "
        "(build.log, about 5000 tokens, was attached and is not repeated). It lacks a semicolon."
    )
    script.turn(files={"a": LONG}, carryover=after.carryover)
    assert "carryover" not in newest(decided(script, wish(a=LONG)))


def test_what_was_said_beside_the_conversation_is_not_held() -> None:
    script = Script()
    script.turn(files={"a": LONG})
    edited = LONG.replace("line 7\n", "seven\n")
    script.turn(files={"a": LONG}, proposal={"a": (LONG, edited)}, side=True)
    assert sources(decided(script, wish(a=edited))) == {"a": "delta"}
    assert sources(decided(script, wish(a=LONG))) == {"a": "synchronized"}


def test_a_repair_stays_beside_the_conversation() -> None:
    script = Script()
    script.turn(files={"a": LONG})
    script.turn(files={"a": LONG}, side=True, status="unusable")
    repair = decided(script, replace(wish(a=LONG), repairs=True))
    assert (repair.follows, repair.side, repair.carryover) == (("1", "2"), True, ())
    usual = Script()
    usual.turn(files={"a": LONG})
    assert not decided(usual, replace(wish(a=LONG), repairs=True)).side


def test_a_conversation_that_began_with_a_heavy_turn_begins_anew() -> None:
    script = Script()
    script.turn(files={"a": LONG}, side=True, attachments=("build.log",))
    decision = decided(script, wish(a=LONG))
    assert (decision.route, decision.reason) == ("restart", "the turns before were beside the conversation")
    assert newest(decision)["carryover"] == [
        "To the question 'prompt 1': build.log, about 5000 tokens, was attached and is not repeated."
    ]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.sampled_from("abc"))
def test_compaction_always_leaves_one_full_copy_of_each_file(edited: list[str], target: str) -> None:
    """As many as there are files of recent turns; nothing is ever there twice."""
    script, texts = Script(), {name: f"{name}\n{LONG}" for name in "abc"}
    for number, name in enumerate(edited):
        after = f"{texts[name]}{number}\n"
        turn = script.turn(files={name: texts[name]}, proposal={name: (texts[name], after)})
        if number % 3:
            script.change("applied" if number % 3 == 1 else "discarded", *turn.proposal)
        texts[name] = texts[name] if number % 3 == 2 else after
    decision = decided(script, wish(**{target: texts[target]}), compaction="always")
    payloads = [payload_of(message) for message in decision.messages]
    copies = [
        (payload["path"], payload.get("currentSource") or payload.get("proposedSource"))
        if "path" in payload
        else (edited[number // 2], payload.get("proposedSource"))
        for number, payload in enumerate(payloads)
    ]
    recent = {*edited[-RECENT_TURNS:], target}
    assert sorted(copy for copy in copies if copy[1]) == sorted((name, texts[name]) for name in recent)


def test_what_is_rewritten_to_save_costs_shows_fewer_files() -> None:
    script = Script()
    for name in "abcd":
        script.turn(files={name: name.upper()})
    for policy, shown in (("auto", {"d"}), ("always", {"b", "c", "d"})):
        decision = decided(script, replace(wish(a="A"), restart="the user wants it"), compaction=policy)
        assert {ref.path for ref in decision.carried} - {"a"} == shown


def test_a_very_long_conversation_is_rewritten_from_its_newest_turns() -> None:
    script = Script()
    script.turn(prompt="a forgotten question", files={"a": LONG})
    script.turn(prompt="the first remembered question", files={"b": "B"})
    for _ in range(REMEMBERED_TURNS - 1):
        script.turn(files={"b": "B"})
    decision = decided(script, wish(a=LONG), compaction="always")
    prompts = [payload_of(message)["prompt"] for message in decision.messages[::2]]
    assert len(prompts) == REMEMBERED_TURNS + 1
    assert prompts[0] == "the first remembered question"
    assert newest(decision)["carryover"] == ["Earlier turns that are left out: 1."]
    assert newest(decision)["currentSource"] == LONG, "the turn that had it is not shown"


def test_an_outcome_told_beside_the_conversation_is_told_again() -> None:
    script = Script()
    turn = script.turn(files={"a": LONG}, proposal={"a": (LONG, "A2")})
    script.change("discarded", *turn.proposal)
    beside = decided(script, replace(wish(a=LONG), model="n", attachments=(HEAVY,)))
    assert (beside.route, beside.side, len(beside.outcomes)) == ("restart", True, 1)
    script.turn(files={"a": LONG}, route="restart", side=True, outcomes=beside.outcomes, model="n")
    assert decided(script, replace(wish(a=LONG), model="n")).outcomes == beside.outcomes


def test_a_text_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(WorkspaceError, match="the stored text of a cannot be read"):
        planner.plan(Script().session, wish(a=LONG), lambda _: None, NEVER, now=0.0)
