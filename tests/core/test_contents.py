from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.contents import (
    Delta,
    HistoryFile,
    HistoryTurn,
    Target,
    build_multi_turn_contents,
    inline,
    lift,
    message,
    payload_of,
    to_json,
    user_payload,
)
from gemchat.core.model import Message
from tests.core.strategies import texts

CASES = json.loads((Path(__file__).parent.parent / "data/reference_builder.json").read_text())


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)


def built(params: dict[str, Any]) -> Any:
    history = [HistoryTurn(**{snake(key): value for key, value in turn.items()}) for turn in params["history"]]
    return build_multi_turn_contents(
        history,
        mode=params["mode"],
        prompt=params["prompt"],
        current_source=params["currentSource"],
        source_synchronized=params["sourceSynchronized"],
    )


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_reproduces_the_reference(case: dict[str, Any]) -> None:
    assert built(case["params"]) == case["contents"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_lifting_the_reference_loses_nothing(case: dict[str, Any]) -> None:
    for content in case["contents"]:
        original = message(content)
        lifted = lift(original)
        assert inline(lifted) == original
        assert all(isinstance(value, str | bool | None) for value in json.loads(original.parts[0]).values())
        header = json.loads(lifted.parts[0])
        assert not any(
            isinstance(header.get(key), str) and header[key] for key in ("currentSource", "proposedSource")
        )


def test_all_cases_are_there() -> None:
    assert len(CASES) == 120


names = st.text(max_size=5) | st.sampled_from(["a.py", "--- part 1: x ---", 'q"\n', "é"])
any_text = texts() | st.text(max_size=20)
targets = st.one_of(
    st.builds(Target, path=st.none() | names, text=any_text),
    st.builds(Target, path=names, synchronized=st.just(True), sha256=st.just("00")),
    st.builds(Target, path=names, delta=st.builds(Delta, before=names, after=names, diff=any_text)),
    st.builds(Target, path=names, absent=st.just(True)),
)


@given(
    targets=st.lists(targets, min_size=1, max_size=3),
    context=st.lists(st.tuples(names, any_text), max_size=2),
    attachments=st.lists(st.tuples(names, any_text), max_size=2),
    role=st.sampled_from(["user", "model"]),
)
def test_inline_is_the_inverse_of_lift(targets: Any, context: Any, attachments: Any, role: Any) -> None:
    extra = {
        "secondaryContext": [{"path": name, "text": text} for name, text in context],
        "attachments": [{"name": name, "text": text} for name, text in attachments],
        "outcomes": [{"proposalSha256": "00", "outcome": "applied"}],
    }
    original = Message(role=role, parts=(to_json(user_payload("edit", "p", targets, extra)),))
    lifted = lift(original)
    assert inline(lifted) == original
    assert payload_of(lifted) == json.loads(original.parts[0])


def test_a_long_text_travels_raw_behind_its_marker() -> None:
    payload = user_payload("ask", "why?", [Target(path="src/app.py", text='say "hi"\n', sha256="ab")])
    assert lift(Message(role="user", parts=(to_json(payload),))).parts == (
        '{"mode":"ask","prompt":"why?","path":"src/app.py","currentSource":{"part":1},"sourceSha256":"ab"}',
        '--- part 1: src/app.py ---\nsay "hi"\n',
    )


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ("[]",),
        ("not json",),
        ('{"currentSource":{"part":1}}',),
        ('{"currentSource":{"part":2}}', "--- part 1: source ---\n", "--- part 2: source ---\n"),
        ('{"currentSource":{"part":1}}', "no marker"),
        ('{"currentSource":{"part":1}}', "--- part 1: source ---\n", "one too many"),
        ('{"prompt":"p"}', "one too many"),
    ],
)
def test_parts_that_do_not_fit_the_header_are_refused(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"part|JSON|Expecting"):
        inline(Message(role="user", parts=parts))


def test_an_object_without_a_text_is_left_alone() -> None:
    odd = Message(role="user", parts=('{"attachments":[{"name":"n"},3],"files":"none","sourceDelta":{}}',))
    assert lift(odd) == inline(odd) == odd


def turn(mode: Any, *files: HistoryFile) -> HistoryTurn:
    return HistoryTurn(prompt="p", response="r", mode=mode, files=files)


def payloads(history: list[HistoryTurn], *newest: Target) -> list[Any]:
    contents = build_multi_turn_contents(history, mode="ask", prompt="now", files=newest)
    return [json.loads(content["parts"][0]["text"]) for content in contents]


def test_each_file_appears_once_where_it_was_introduced_last() -> None:
    a = HistoryFile(path="a", base_source="A1", base_sha256="a1")
    b = HistoryFile(path="b", base_source="B1", base_sha256="b1", proposal_source="B2", proposal_sha256="b2")
    again = HistoryFile(path="a", base_source="A1", base_sha256="a1")
    said = payloads([turn("edit", a, b), turn("ask", again)], Target(path="b", synchronized=True, sha256="b2"))
    assert said == [
        {
            "mode": "edit",
            "prompt": "p",
            "files": [
                {"path": "a", "supersededSourceSha256": "a1"},
                {"path": "b", "supersededSourceSha256": "b1"},
            ],
        },
        {
            "kind": "code_proposal",
            "explanation": "r",
            "files": [{"path": "a"}, {"path": "b", "proposedSource": "B2"}],
        },
        {"mode": "ask", "prompt": "p", "path": "a", "currentSource": "A1"},
        {"kind": "answer", "explanation": "r"},
        {"mode": "ask", "prompt": "now", "path": "b", "sourceSynchronized": True, "sourceSha256": "b2"},
    ]


def test_a_target_that_brings_its_text_has_none_in_the_history() -> None:
    past = turn("ask", HistoryFile(path="a", base_source="A1", base_sha256="a1"))
    assert payloads([past], Target(path="a", text="A2"))[0]["supersededSourceSha256"] == "a1"
    assert payloads([past], Target(path="a", absent=True))[0]["supersededSourceSha256"] == "a1"
    assert payloads([past], Target(path="other", text="x"))[0]["currentSource"] == "A1"


def test_what_was_discarded_gives_way_to_its_base() -> None:
    file = HistoryFile(
        path="a",
        base_source="A1",
        base_sha256="a1",
        proposal_source="A2",
        proposal_sha256="a2",
        outcome_status="discarded",
    )
    user, model, _ = payloads([turn("edit", file)], Target(path="a", synchronized=True))
    assert user["currentSource"] == "A1"
    assert model["supersededProposalSha256"] == "a2"


def test_synchronized_without_a_text_in_the_history_is_sent_in_full() -> None:
    assert payloads([], Target(path="a", text="A", synchronized=True, sha256="a1")) == [
        {"mode": "ask", "prompt": "now", "path": "a", "currentSource": "A", "sourceSha256": "a1"}
    ]
