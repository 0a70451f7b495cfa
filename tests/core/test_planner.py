from __future__ import annotations

from typing import Any

from hypothesis import given
from msgspec.structs import replace

from gemchat.core import planner
from gemchat.core.contents import payload_of
from gemchat.core.diff import apply_patch
from gemchat.core.economics import estimate_tokens
from gemchat.core.model import FileRef, NamedText, Remote
from gemchat.core.planner import Plan, Wish
from gemchat.core.proposals import FailedEdit
from tests.core.sessions import Script
from tests.core.strategies import texts

LONG = "".join(f"line {n}\n" for n in range(60))


def wish(**targets: str | None) -> Wish:
    refs = tuple(FileRef(path=path, sha256=text) for path, text in targets.items())
    return Wish(mode="ask", prompt="why?", model="m", backend="interactions", targets=refs)


def plan(script: Script, wanted: Wish) -> Plan:
    return planner.plan(script.session, wanted, lambda text: text)


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
    decision = planner.plan(script.session, wish(a=LONG), lambda text: None if text == "lost" else text)
    assert sources(decision) == {"a": "full"}
    assert decision.files[0].reason == "the version the model knows is not at hand"


def test_other_bytes_with_the_same_text_are_synchronized() -> None:
    script = Script()
    script.turn(files={"a": "a\r\n"})
    decision = planner.plan(script.session, wish(a="a\n"), lambda text: text.replace("\r", ""))
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
    assert said[0]["supersededSourceSha256"] == "O"
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


def test_estimates_weigh_wide_characters() -> None:
    assert estimate_tokens("a" * 40) == 10
    assert estimate_tokens("日" * 16) == 10
    assert estimate_tokens("") == 0
