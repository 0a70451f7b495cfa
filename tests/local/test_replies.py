from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.proposals import parse, schema
from gemchat.local.belief import apply_reply
from gemchat.local.replies import edits, write

TEXTS = st.text("ab\n", max_size=30)


@given(TEXTS, TEXTS)
def test_edits_lead_exactly_from_the_old_text_to_the_new(old: str, new: str) -> None:
    listed = [{"search": search, "replace": replace} for search, replace in edits(old, new)]
    reply = parse(json.dumps({"explanation": "", "edits": listed}))
    assert apply_reply(reply, {"f": old}, ["f"]).get("f", old) == new


def test_edits_are_as_small_as_their_uniqueness_allows() -> None:
    assert edits("a\nb\nc\n", "a\nB\nc\n") == [("b\n", "B\n")]
    assert edits("a\nx\nb\nx\n", "a\nx\nb\ny\n") == [("b\nx\n", "b\ny\n")]
    assert edits("same\n", "same\n") == []


@pytest.mark.parametrize("reply_format", ["edits", "whole"])
@pytest.mark.parametrize("before", [{"a": "old\n"}, {"a": None}, {"a": "old\n", "b": "b\n"}, {"a": "", "b": None}])
def test_a_reply_in_each_format_means_the_same(reply_format: Any, before: dict[str, str | None]) -> None:
    wanted = schema(reply_format, len(before))
    assert wanted is not None
    after = dict.fromkeys(before, "new\n")
    reply = write(wanted, "why", before, after)
    assert next(iter(json.loads(reply))) == "explanation"
    assert apply_reply(parse(reply), before, list(before)) == after


def test_proposing_nothing() -> None:
    before = {"a": "old\n"}
    assert parse(write(schema("edits", 1) or {}, "why", before, {})).edits == ()
    assert parse(write(schema("whole", 1) or {}, "why", before, {})).proposedSource == "old\n"
    assert parse(write(schema("whole", 2) or {}, "why", before, {})).files == ()
    assert json.loads(write({"type": "object"}, "why", before, {})) == {"explanation": "why"}
