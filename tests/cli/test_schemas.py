"""What --json prints is what `schemas.json` says, for every command that has the option, and no more than that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Gemchat
from tests.pictures import png
from tests.schemas import SCHEMAS, commands, validator

LONG = "".join(f"line {number}\n" for number in range(100))
WITH_JSON = {name for name, command in commands() if any("--json" in param.opts for param in command.params)}
RUNS = [
    ["status"],
    ["ask", "what?", "app.py"],
    ["ask", "why?", "--dry-run"],
    ["edit", "spell out fifty"],
    ["edit", "again", "--dry-run"],
    ["diff"],
    ["apply"],
    ["undo"],
    ["redo"],
    ["edit", "spell out sixty"],
    ["discard"],
    ["status"],
    ["log"],
    ["show", "1"],
    ["show", "2"],
    ["show", "4"],
    ["rewind"],
    ["new", "work"],
    ["sessions"],
    ["sessions", "list"],
    ["sessions", "use", "main"],
    ["sessions", "rename", "work", "play"],
    ["sessions", "rm", "play"],
    ["local", "status"],
    ["warm", "status"],
    ["context"],
    ["context", "add", "app.py"],
    ["context", "rm", "app.py"],
    ["context", "add", "shot.png"],
    ["ask", "what is this?", "app.py"],
    ["context"],
    ["usage"],
    ["doctor"],
    ["config"],
    ["config", "list"],
    ["config", "get", "horizon"],
]


def answer_the_runs(gemchat: Gemchat) -> None:
    """An answer, a change, and one that comes at the second attempt."""
    gemchat.write("app.py", LONG)
    gemchat.write("shot.png", png())
    gemchat.mind.replies = ["It **counts**."]
    gemchat.propose(("line 50\n", "line fifty\n"))
    gemchat.mind.replies.append("cannot be used")
    gemchat.propose(("line 60\n", "line sixty\n"))


@pytest.fixture
def outputs(gemchat: Gemchat) -> list[tuple[str, Any]]:
    """What each command prints."""
    answer_the_runs(gemchat)
    return [(name_of(run), gemchat(*run, "--json").json) for run in RUNS]


def name_of(run: list[str]) -> str:
    return " ".join(run[: 1 + (run[0] in ("sessions", "local", "warm", "config", "context") and len(run) > 1)])


def test_every_command_with_json_has_a_schema_and_is_run() -> None:
    assert {name_of(run) for run in RUNS} == WITH_JSON - {"pick"}, "that one needs a terminal"
    assert set(SCHEMAS["properties"]) == {*WITH_JSON, "error"}
    Draft202012Validator.check_schema(SCHEMAS)


def test_every_output_is_valid_and_nothing_may_be_missing_or_added(outputs: list[tuple[str, Any]]) -> None:
    for name, output in outputs:
        check = validator(name)
        check.validate(output)
        for changed in damaged(output):
            assert not check.is_valid(changed), f"{name}: {json.dumps(changed)}"


def damaged(value: Any) -> Iterator[Any]:
    """The value with one key missing, unknown or of a wrong type, at every depth."""
    if isinstance(value, dict):
        yield {**value, "unknown": None}
        for key, inner in value.items():
            yield {other: text for other, text in value.items() if other != key}
            yield {**value, key: {"of a": "wrong type"}}
            yield from ({**value, key: changed} for changed in damaged(inner))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from ([*value[:number], changed, *value[number + 1 :]] for changed in damaged(inner))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nonsense"], 2),
        (["ask"], 2),
        (["show", "1"], 2),
        (["ask", "what?", "--backend", "soap"], 2),
        (["ask", "what?"], 3),
        (["status", "-s", "nope"], 4),
        (["apply"], 5),
        (["sessions", "rm", "nope"], 4),
    ],
)
def test_every_error_is_valid(gemchat: Gemchat, arguments: list[str], code: int) -> None:
    del gemchat.environ["GEMINI_API_KEY"]
    result = gemchat(*arguments, "--json")
    assert (result.code, json.loads(result.err)["error"]["code"]) == (code, code)


def test_an_error_comes_after_what_was_noted(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat.mind.replies = ["no json", "no json either"]
    result = gemchat("edit", "change", "app.py", "--json")
    assert json.loads(result.err.splitlines()[-1])["error"]["kind"] == "ProposalRejected"
    gemchat.server.close()
    assert gemchat("ask", "what?", "--json").code == 7
