from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gemchat.core.contents import HistoryFile, HistoryTurn, Target, build_multi_turn_contents, lift, message
from gemchat.core.diff import unified
from gemchat.core.model import MediaRef, Message
from gemchat.local.belief import Belief, read

TEXT = "one\ntwo\nthree\n"


def user(**payload: Any) -> Message:
    return lift(Message(role="user", parts=(json.dumps({"mode": "ask", "prompt": "p", **payload}),)))


def shown(text: str = TEXT, path: str = "a.py", **more: Any) -> Message:
    return user(path=path, currentSource=text, **more)


def editing(*paths: str) -> Message:
    """An edit turn about files whose text is held."""
    sources = [{"path": path, "sourceSynchronized": True} for path in paths or ("a.py",)]
    return user(mode="edit", **(sources[0] if len(sources) == 1 else {"files": sources}))


def model(*parts: str) -> Message:
    return Message(role="model", parts=parts)


def reply(*edits: tuple[str, ...], **more: Any) -> Message:
    """Edits as (search, replacement) or (path, search, replacement)."""
    listed = [
        {"search": edit[-2], "replace": edit[-1], **({"path": edit[0]} if len(edit) == 3 else {})}
        for edit in edits
    ]
    return model(json.dumps({"explanation": "e", **({"edits": listed} if edits else {}), **more}))


def delta(old: str, new: str, path: str = "a.py", **hashes: str) -> Message:
    diff = unified(old, new, old_name=path, new_name=path)
    source = {"fromSha256": sha(old), "toSha256": sha(new), "diff": diff, **hashes}
    return user(path=path, sourceDelta=source, sourceSha256=sha(new))


def item(sha256: str, **how: Any) -> dict[str, Any]:
    return {"path": f"{sha256}.png", "mimeType": "image/png", "sha256": sha256, **how}


def png(sha256: str) -> MediaRef:
    return MediaRef(path="", mime_type="image/png", sha256=sha256, bytes=1, tokens=1)


def pictured(items: list[dict[str, Any]], *media: MediaRef) -> Message:
    return replace(user(secondaryContext=items, secondaryContextHash="h"), media=media)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sure(*messages: Message) -> Belief:
    belief = read(messages)
    assert belief.contradictions == ()
    return belief


def objection(*messages: Message) -> str:
    (only,) = read(messages).contradictions
    return only


class TestWhatIsHeard:
    def test_a_source_is_believed_and_stays(self) -> None:
        belief = sure(shown(), model("an answer"), user(path="b.py", currentSource="b"))
        assert belief.files == {"a.py": TEXT, "b.py": "b"}

    def test_an_empty_source_is_a_text(self) -> None:
        assert sure(shown(""), user(path="a.py", sourceSynchronized=True)).files == {"a.py": ""}

    def test_the_newest_payload_has_its_texts_in_place(self) -> None:
        belief = sure(shown(), model("…"), shown("new", attachments=[{"name": "stdin", "text": "log"}]))
        assert belief.newest["currentSource"] == "new"
        assert belief.newest["attachments"] == [{"name": "stdin", "text": "log"}]
        assert belief.targets == ("a.py",)

    def test_a_delta_changes_the_text_held(self) -> None:
        new = TEXT.replace("two", "zwei")
        assert sure(shown(), model("…"), delta(TEXT, new)).files == {"a.py": new}

    def test_an_absent_file_is_known_not_to_exist(self) -> None:
        assert sure(shown(), user(path="a.py", sourceAbsent=True)).files == {"a.py": None}

    def test_several_targets(self) -> None:
        new = TEXT.replace("two", "zwei")
        source = {
            "fromSha256": sha(TEXT),
            "toSha256": sha(new),
            "diff": unified(TEXT, new, old_name="a", new_name="a"),
        }
        files = [
            {"path": "a.py", "sourceDelta": source},
            {"path": "b.py", "currentSource": "b"},
            {"path": "c.py", "sourceAbsent": True},
        ]
        belief = sure(shown(), user(files=files))
        assert belief.files == {"a.py": new, "b.py": "b", "c.py": None}
        assert belief.targets == ("a.py", "b.py", "c.py")

    def test_without_a_path_there_is_one_nameless_file(self) -> None:
        assert sure(user(currentSource="t"), user(sourceSynchronized=True)).files == {"": "t"}

    def test_a_turn_about_no_file_changes_nothing(self) -> None:
        assert sure(shown(), user(currentSource=None)).files == {"a.py": TEXT}

    def test_the_read_only_context_stays_until_another_comes(self) -> None:
        first = user(secondaryContext=[{"path": "c.md", "text": "c"}], secondaryContextHash="h1")
        assert sure(first, user(secondaryContextHash="h1")).context == ({"path": "c.md", "text": "c"},)
        assert sure(first, user(secondaryContext=[], secondaryContextHash="h2")).context == ()


class TestWhatTheModelSays:
    def test_its_edits_change_what_it_holds(self) -> None:
        belief = sure(shown(), editing(), reply(("one", "1"), ("three\n", "3\n4\n")))
        assert belief.files == {"a.py": "1\ntwo\n3\n4\n"}

    def test_all_edits_refer_to_the_text_before_any_of_them(self) -> None:
        assert sure(shown("ab"), editing(), reply(("b", "a"), ("a", "b"))).files == {"a.py": "ba"}

    def test_edits_of_several_files(self) -> None:
        belief = sure(
            shown(), shown("b", "b.py"), editing("a.py", "b.py"), reply(("a.py", "two", "2"), ("b.py", "b", "B"))
        )
        assert belief.files == {"a.py": "one\n2\nthree\n", "b.py": "B"}

    @pytest.mark.parametrize(
        "proposal", [{"proposedSource": "new"}, {"files": [{"path": "a.py", "proposedSource": "new"}]}]
    )
    def test_whole_files(self, proposal: dict[str, Any]) -> None:
        assert sure(shown(), editing(), reply(**proposal)).files == {"a.py": "new"}

    def test_an_empty_search_fills_an_absent_or_empty_file(self) -> None:
        absent = user(mode="edit", path="n.py", sourceAbsent=True)
        assert sure(absent, reply(("", "new\n"))).files == {"n.py": "new\n"}
        assert sure(shown(""), editing(), reply(("", "new\n"))).files == {"a.py": "new\n"}

    @pytest.mark.parametrize(
        "edits",
        [
            [("four", "4")],
            [("o", "0")],
            [("", "0")],
            [("one", "1"), ("four", "4")],
            [("one\ntwo", "12"), ("two\n", "2")],
            [("one", "1"), ("one\n", "eins\n")],
            [("b.py", "one", "1")],
        ],
        ids=["missing", "ambiguous", "empty", "one of two", "overlap", "same place", "not a target"],
    )
    def test_a_reply_with_an_edit_that_does_not_fit_counts_for_nothing(self, edits: list[tuple[str, ...]]) -> None:
        assert sure(shown("b", "b.py"), shown(), editing(), reply(*edits)).files["a.py"] == TEXT

    def test_overlapping_occurrences_are_two(self) -> None:
        assert sure(shown("aaa"), editing(), reply(("aa", "b"))).files == {"a.py": "aaa"}

    def test_an_edit_must_name_its_file_when_there_are_several(self) -> None:
        turn = (shown(), shown("b", "b.py"), editing("a.py", "b.py"))
        assert sure(*turn, reply(("two", "2"))).files == {"a.py": TEXT, "b.py": "b"}

    @pytest.mark.parametrize(
        "words", ["Sure!", '{"explanation":"e"', '{"edits":[{"search":"one","replace":"1"}]}', "[]"]
    )
    def test_a_reply_that_is_not_an_edit_reply_changes_nothing(self, words: str) -> None:
        assert sure(shown(), editing(), model(words)).files == {"a.py": TEXT}

    def test_an_answer_is_never_an_edit(self) -> None:
        assert sure(shown(), reply(("one", "1"))).files == {"a.py": TEXT}

    def test_a_reply_received_in_pieces_is_one_reply(self) -> None:
        whole = reply(("one", "1")).parts[0]
        assert sure(shown(), editing(), model(whole[:9], whole[9:], "")).files == {"a.py": "1\ntwo\nthree\n"}

    def test_a_carriage_return_slips_into_no_text_that_has_none(self) -> None:
        assert sure(shown(), editing(), reply(("one\r\ntwo", "1\r\n2"))).files == {"a.py": "1\n2\nthree\n"}

    def test_the_next_turn_continues_from_the_proposal(self) -> None:
        proposed = TEXT.replace("two", "2")
        belief = sure(
            shown(), editing(), reply(("two", "2")), delta(proposed, TEXT), editing(), reply(("one", "1"))
        )
        assert belief.files == {"a.py": "1\ntwo\nthree\n"}


class TestRewrittenHistory:
    @staticmethod
    def rewritten(*turns: HistoryTurn, **newest: Any) -> tuple[Message, ...]:
        contents = build_multi_turn_contents(turns, mode="ask", prompt="p", **newest)
        return tuple(lift(message(content)) for content in contents)

    @staticmethod
    def turn(*files: HistoryFile) -> HistoryTurn:
        return HistoryTurn(prompt="p", response="r", mode="edit", files=files)

    def test_an_applied_proposal_is_carried(self) -> None:
        file = HistoryFile(
            path="a.py", base_source="old", base_sha256="1", proposal_source="new", proposal_sha256="2"
        )
        messages = self.rewritten(self.turn(file), files=[Target(path="a.py", synchronized=True)])
        assert len(messages[1].parts) == 2, "the proposed text is lifted out of the model's turn"
        assert sure(*messages).files == {"a.py": "new"}

    def test_a_discarded_one_leaves_its_base(self) -> None:
        file = HistoryFile(
            path="a.py",
            base_source="old",
            base_sha256="1",
            proposal_source="new",
            proposal_sha256="2",
            outcome_status="discarded",
        )
        messages = self.rewritten(self.turn(file), files=[Target(path="a.py", synchronized=True)])
        assert sure(*messages).files == {"a.py": "old"}

    def test_superseded_texts_are_not_believed(self) -> None:
        file = HistoryFile(path="a.py", base_sha256="1", proposal_sha256="2")
        messages = self.rewritten(self.turn(file), files=[Target(path="b.py", text="b")])
        assert sure(*messages).files == {"b.py": "b"}

    def test_a_turn_with_several_targets(self) -> None:
        files = [
            HistoryFile(path=path, base_source="old", base_sha256="1", proposal_source=path, proposal_sha256="2")
            for path in ("a.py", "b.py")
        ]
        newest = [Target(path=path, synchronized=True) for path in ("a.py", "b.py")]
        assert sure(*self.rewritten(self.turn(*files), files=newest)).files == {"a.py": "a.py", "b.py": "b.py"}

    def test_the_reference_builders_form_without_paths(self) -> None:
        turn = HistoryTurn(prompt="p", response="r", mode="edit", proposal_source="new", proposal_sha256="2")
        assert sure(*self.rewritten(turn, source_synchronized=True)).files == {"": "new"}


class TestContradictions:
    def test_a_file_that_was_never_shown_is_not_held(self) -> None:
        assert objection(editing()) == "sourceSynchronized of 'a.py', which was never shown"

    def test_nor_is_one_that_does_not_exist(self) -> None:
        absent = user(path="a.py", sourceAbsent=True)
        assert objection(absent, editing()) == "sourceSynchronized of 'a.py', which does not exist"

    def test_a_delta_needs_a_text(self) -> None:
        assert objection(delta("a\n", "b\n")) == "sourceDelta of 'a.py', which was never shown"

    def test_a_delta_that_does_not_apply_leaves_the_text_unknown(self) -> None:
        belief = read((shown("x\n"), delta("a\n", "b\n")))
        assert "does not apply" in belief.contradictions[0]
        assert "a.py" not in belief.files

    def test_a_delta_starts_from_the_version_last_named(self) -> None:
        named = shown(sourceSha256=sha(TEXT))
        other = delta(TEXT, TEXT + "four\n", fromSha256=sha("other"))
        assert "another version than the one last named" in objection(named, other)

    def test_a_delta_leads_to_the_version_that_is_named(self) -> None:
        other = delta(TEXT, TEXT + "four\n", toSha256=sha("other"))
        assert "another version than sourceSha256" in objection(shown(), other)

    def test_one_name_for_two_texts(self) -> None:
        first, second = shown(sourceSha256="0" * 64), shown(TEXT + "four\n", sourceSha256="0" * 64)
        assert objection(first, second) == "sourceSha256 of 'a.py' names another text than the one held"

    def test_a_wrong_name_for_a_text_of_one_line(self) -> None:
        assert "names another text" in objection(shown("one\n", sourceSha256=sha("two\n")))

    def test_a_context_that_is_not_held(self) -> None:
        first = user(secondaryContext=[], secondaryContextHash="h1")
        assert objection(first, user(secondaryContextHash="h2")) == (
            "secondaryContextHash names a context that is not held"
        )
        assert objection(user(secondaryContextHash="h1"))

    def test_an_image_that_was_never_shown(self) -> None:
        first, second = png("h1"), png("h2")
        held = item("h1", synchronized=True)
        assert sure(pictured([item("h1", inline=1)], first), model("…"), pictured([held])).context == (held,)
        assert objection(pictured([held])) == "'h1.png' was never shown"
        assert objection(pictured([item("h1", inline=1)], first, second)).endswith("the header does not name")
        wrong = read([pictured([item("h1", inline=1)], second)])
        assert wrong.contradictions == ("inline of 'h1.png' is another file", "'h1.png' was never shown")

    @pytest.mark.parametrize("parts", [("hello",), ("{}", "a stray part"), ('{"currentSource":{"part":1}}',), ()])
    def test_a_message_that_is_not_a_payload(self, parts: tuple[str, ...]) -> None:
        belief = read([Message(role="user", parts=parts)])
        assert belief.contradictions[0].startswith("not a payload")
        assert belief.newest == {"mode": "ask", "prompt": "".join(parts)}


@given(st.text("a\n", max_size=3), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]))
def test_the_true_name_of_a_text_is_never_objected_to(text: str, end: str, mark: str) -> None:
    name = sha(mark + text.replace("\n", end))
    sure(shown(text, sourceSha256=name), user(path="a.py", sourceSynchronized=True, sourceSha256=name))


def test_the_same_text_may_change_its_name() -> None:
    """Only line ends changed: the model's text is the same, the file's hash is not."""
    again = user(path="a.py", sourceSynchronized=True, sourceSha256=sha(TEXT.replace("\n", "\r\n")))
    sure(shown(sourceSha256=sha(TEXT)), again)
