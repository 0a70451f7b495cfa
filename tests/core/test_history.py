from __future__ import annotations

import pytest
from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.model import Outcome, SentFile, Session
from tests.core.sessions import Script


def test_the_path_leads_from_the_first_turn_to_the_head() -> None:
    script = Script()
    one, two = script.turn(), script.turn()
    sibling = script.turn(parent="1")
    assert history.current_path(script.session) == (one, sibling)
    assert history.current_path(replace(script.session, head="2")) == (one, two)
    assert history.current_path(Session(name="s", created=0)) == ()


def test_a_turn_before_its_parent_is_an_error() -> None:
    script = Script()
    script.turn()
    with pytest.raises(ValueError, match="turn 9 is missing"):
        history.current_path(replace(script.session, head="9"))


def test_an_epoch_begins_where_the_history_was_rewritten_last() -> None:
    script = Script()
    turns = [script.turn(), script.turn(), script.turn(route="restart"), script.turn()]
    assert history.epoch(turns) == tuple(turns[2:])
    assert history.epoch([]) == ()


def held(script: Script) -> dict[str, str | None]:
    return history.held_versions(history.epoch(history.current_path(script.session)))


def test_what_is_sent_is_held() -> None:
    script = Script()
    script.turn(files={"a": "A1", "b": None})
    assert held(script) == {"a": "A1", "b": None}
    script.turn(files={"a": "A2"})
    assert held(script) == {"a": "A2", "b": None}


def test_what_is_proposed_is_held_whatever_becomes_of_it() -> None:
    script = Script()
    edit = script.turn(files={"a": "A1"}, proposal={"a": ("A1", "A2")})
    for kind in ("applied", "undone", "redone", "discarded", "stale"):
        script.change(kind, *edit.proposal)
        assert held(script) == {"a": "A2"}


def test_a_restart_leaves_what_it_carries() -> None:
    script = Script()
    script.turn(files={"a": "A1", "b": "B1", "c": "C1"})
    script.turn(files={"b": "B2"}, route="restart", carried={"a": "A0"})
    assert held(script) == {"a": "A0", "b": "B2"}


def test_after_an_unusable_edit_its_targets_are_not_held() -> None:
    script = Script()
    script.turn(files={"a": "A1", "b": "B1"})
    script.turn(files={"a": "A1"}, status="unusable", mode="edit")
    assert held(script) == {"b": "B1"}


def test_an_incomplete_turn_counts_for_nothing() -> None:
    script = Script()
    script.turn(files={"a": "A1"})
    script.turn(files={"a": "A2"}, status="incomplete")
    assert held(script) == {"a": "A1"}


def test_the_context_held_is_the_one_sent_last_in_the_epoch() -> None:
    script = Script()
    turns = [script.turn(context="one"), script.turn(), script.turn(context="two"), script.turn()]
    assert history.held_context(turns) == "two"
    assert history.held_context(turns[:2]) == "one"
    assert history.held_context(turns[1:2]) is None


def pending(script: Script) -> dict[str, str | None]:
    return {path: change.after for path, change in history.pending_changes(script.session).items()}


def test_pending_is_the_newest_proposal_of_each_file() -> None:
    script = Script()
    first = script.turn(proposal={"a": ("A1", "A2"), "b": ("B1", "B2")})
    second = script.turn(proposal={"a": ("A1", "A3")})
    assert pending(script) == {"a": "A3", "b": "B2"}
    script.change("discarded", first.proposal[0])
    assert pending(script) == {"a": "A3", "b": "B2"}, "it was replaced before it was discarded"
    script.change("applied", *second.proposal)
    assert pending(script) == {"b": "B2"}
    script.change("stale", first.proposal[1])
    assert pending(script) == {}


def test_undo_and_redo_bring_nothing_back_to_pending() -> None:
    script = Script()
    edit = script.turn(proposal={"a": ("A1", "A2")})
    for kind in ("applied", "undone", "redone"):
        script.change(kind, *edit.proposal)
        assert pending(script) == {}


def test_a_refinement_that_leads_back_to_the_file_leaves_nothing_pending() -> None:
    script = Script()
    script.turn(proposal={"a": ("A1", "A2")})
    script.turn(proposal={"a": ("A1", "A1")})
    assert pending(script) == {}


def test_the_rest_of_a_partial_apply_stays_pending_and_follows_undo_and_redo() -> None:
    script = Script()
    edit = script.turn(proposal={"a": ("A1", "A2")}).proposal[0]
    some = replace(edit, after="A1.5", partial=True)

    def rest() -> tuple[str | None, str | None] | None:
        change = history.pending_changes(script.session).get("a")
        return None if change is None else (change.before, change.after)

    script.change("applied", some)
    assert rest() == ("A1.5", "A2")
    assert told(script) == [("a", "partially_applied")]
    script.change("undone", some)
    assert rest() == ("A1", "A2")
    script.change("undone", replace(some, after="other"))
    assert rest() == ("A1", "A2")
    script.change("redone", some)
    assert rest() == ("A1.5", "A2")
    script.change("applied", replace(edit, before="A1.5"))
    assert rest() is None
    assert told(script) == [("a", "applied")]


def test_the_rest_of_a_partial_apply_can_be_dropped() -> None:
    script = Script()
    edit = script.turn(proposal={"a": ("A1", "A2")}).proposal[0]
    script.change("applied", replace(edit, after="A1.5", partial=True), dropped=True)
    assert pending(script) == {}


def test_a_loosely_matched_proposal_is_not_held() -> None:
    script = Script()
    turn = script.turn(files={"a": "A1", "b": "B1"}, proposal={"a": ("A1", "A2")})
    loose = replace(turn, proposal=(replace(turn.proposal[0], tier="blanks"),))
    assert history.held_versions([loose]) == {"b": "B1"}


def test_undo_and_redo_move_changes_between_two_stacks() -> None:
    script = Script()
    one, two = (script.turn(proposal={"a": (str(n), str(n + 1))}).proposal for n in (1, 2))
    first, second = script.change("applied", *one), script.change("applied", *two)
    assert history.undo_stack(script.session) == ((first, second), ())
    script.change("undone", *two)
    script.change("undone", *one)
    assert history.undo_stack(script.session) == ((), (second, first))
    script.change("redone", *one)
    assert history.undo_stack(script.session) == ((first,), (second,))
    script.change("discarded", *two)
    assert history.undo_stack(script.session) == ((first,), (second,))
    third = script.change("applied", *two)
    assert history.undo_stack(script.session) == ((first, third), ())


def test_versions_that_were_on_the_disk_are_those_of_changes_that_moved_files() -> None:
    script = Script()
    (new,), (dropped,), (revised,) = (
        script.turn(proposal={path: (before, after)}).proposal
        for path, before, after in [("a", None, "A1"), ("b", "B1", "B2"), ("c", "C1", "C2")]
    )
    script.change("discarded", dropped)
    script.change("revised", revised)
    assert history.moved_versions(script.session) == set()
    script.change("applied", new)
    assert history.moved_versions(script.session) == {"A1"}
    script.change("undone", revised)
    assert history.moved_versions(script.session) == {"A1", "C1", "C2"}


def told(script: Script) -> list[tuple[str, str]]:
    path = history.current_path(script.session)
    return [(o.path, o.outcome) for o in history.outcomes_to_tell(script.session, path, path)]


def test_an_outcome_is_told_once_and_again_when_it_changes() -> None:
    script = Script()
    edit = script.turn(proposal={"a": ("A1", "A2"), "b": ("B1", "B2")})
    assert told(script) == []
    script.change("applied", edit.proposal[0])
    assert told(script) == [("a", "applied")]
    script.turn(outcomes=(Outcome(turn="1", path="a", proposal="A2", outcome="applied"),))
    assert told(script) == []
    script.change("undone", edit.proposal[0])
    script.change("discarded", edit.proposal[1])
    assert told(script) == [("a", "undone"), ("b", "discarded")]
    script.change("redone", edit.proposal[0])
    assert told(script) == [("b", "discarded")], "what it was told before is true again"


def test_outcomes_of_other_branches_are_not_told() -> None:
    script = Script()
    script.turn()
    aside = script.turn(proposal={"a": ("A1", "A2")})
    script.turn(parent="1")
    script.change("applied", *aside.proposal)
    assert told(script) == []


def test_a_follow_up_is_about_the_files_of_the_turn_before() -> None:
    script = Script()
    assert history.sticky_targets(()) == ()
    turn = script.turn(files={"a": "A", "b": "B"})
    assert history.sticky_targets((turn,)) == ("a", "b")
    assert turn.sent.files[0] == SentFile(path="a", sha256="A", source="full", reason="")


def test_turns_beside_the_conversation_are_not_in_the_chain() -> None:
    script = Script()
    one, beside, three = script.turn(), script.turn(side=True), script.turn()
    path = history.current_path(script.session)
    assert history.chain(path) == (one, three)
    assert history.chain(path[:2], beside=True) == (one, beside)
    assert history.chain(path, beside=True) == (one, three)
    assert history.untold(path) == (beside,)
    script.turn(carryover=("2",))
    assert history.untold(history.current_path(script.session)) == ()


def test_a_restart_tells_of_all_before_it() -> None:
    script = Script()
    script.turn()
    script.turn(side=True)
    script.turn(route="restart")
    late = script.turn(side=True)
    assert history.untold(history.current_path(script.session)) == (late,)


def test_since_when_and_how_a_version_is_held() -> None:
    script = Script()
    script.turn(files={"a": "A"}, carried={"b": "B"})
    script.turn(files={"a": "A"}, proposal={"a": ("A", "A2")})
    turns = history.current_path(script.session)
    assert history.holdings(turns[:1]) == {"b": ("B", "1", "rewritten history"), "a": ("A", "1", "full")}
    assert history.holdings(turns)["a"] == ("A2", "2", "proposal")
    unchanged = replace(turns[1].sent.files[0], source="synchronized")
    again = replace(turns[1], id="3", proposal=(), sent=replace(turns[1].sent, files=(unchanged,)))
    assert history.holdings([turns[0], again])["a"] == ("A", "1", "full")
    assert history.holdings([again])["a"] == ("A", "3", "synchronized")


def left(script: Script) -> list[tuple[str | None, str | None]]:
    return [(change.before, change.after) for change in history.pending_changes(script.session).values()]


def test_a_revised_proposal_is_still_one_and_is_applied_in_part() -> None:
    script = Script()
    (proposed,) = script.turn(proposal={"a": ("A1", "A2")}).proposal
    mine = replace(proposed, after="MINE", partial=True)
    script.change("revised", mine)
    assert left(script) == [("A1", "MINE")]
    assert told(script) == []
    script.change("applied", replace(mine, after="SOME"))
    assert left(script) == [("SOME", "MINE")]
    script.change("applied", replace(mine, before="SOME"))
    assert left(script) == [], "nothing is left of it"
    assert told(script) == [("a", "partially_applied")]


def test_a_revised_proposal_that_is_merged_is_done() -> None:
    script = Script()
    (proposed,) = script.turn(proposal={"a": ("A1", "A2")}).proposal
    mine = replace(proposed, after="MINE", partial=True)
    script.change("revised", mine)
    script.change("applied", replace(mine, before="NOW", after="BOTH"), dropped=True)
    assert left(script) == []


def test_an_undone_part_is_pending_again_as_it_was_revised() -> None:
    script = Script()
    (proposed,) = script.turn(proposal={"a": ("A1", "A2")}).proposal
    mine = replace(proposed, after="MINE", partial=True)
    script.change("revised", mine)
    part = replace(mine, after="SOME")
    script.change("applied", part)
    script.change("undone", part)
    assert left(script) == [("A1", "MINE")]
    script.change("redone", part)
    assert left(script) == [("SOME", "MINE")]


def test_encodings_by_version() -> None:
    script = Script()
    (proposed,) = script.turn(files={"a": "A"}, proposal={"a": ("A", "A2")}).proposal
    script.change("applied", replace(proposed, after="A3", encoding="cp1252", partial=True))
    script.change("applied", replace(proposed, path="gone", after=None))
    script.turn(files={"new": None})
    assert history.encodings(script.session) == {"A": "utf-8", "A2": "utf-8", "A3": "cp1252"}
