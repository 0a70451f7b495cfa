"""Golden directories: files, a model's reply, and the bytes that must come of it, or why it must be refused.

NNN-name/targets    the turn's files, one per line; those missing in input do not exist
         input/     the files before
         reply      what the model says, word for word
         expected/  the files that the reply changes, after it; or
         refused    how the first complaint begins
         tier       how loosely the edits were matched, exact if it is not there
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemchat.core.proposals import Resolution, parse, resolve
from gemchat.core.textfile import decode
from gemchat.errors import ProposalRejected

DIRECTORIES = sorted(Path(__file__).parent.joinpath("scenarios").glob("[0-9]*"))
REPLIES = [(directory / "reply").read_text() for directory in DIRECTORIES]


def resolved(directory: Path, reply: str) -> Resolution:
    bases = {}
    for path in (directory / "targets").read_text().splitlines():
        file = directory / "input" / path
        bases[path] = decode(file.read_bytes()) if file.exists() else None
    return resolve(parse(reply), bases)


def complaint(directory: Path, reply: str) -> str:
    try:
        found = resolved(directory, reply)
    except ProposalRejected as error:
        return error.message
    return found.failed[0].reason if found.failed else ""


def test_there_are_enough() -> None:
    assert len(DIRECTORIES) >= 60


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda directory: directory.name)
def test_scenario(directory: Path) -> None:
    reply = (directory / "reply").read_text()
    refused, expected = directory / "refused", directory / "expected"
    if refused.exists():
        assert complaint(directory, reply).startswith(refused.read_text().strip())
        return
    found = resolved(directory, reply)
    assert found.failed == ()
    files = [file for file in expected.rglob("*") if file.is_file()] if expected.exists() else []
    assert found.files == {file.relative_to(expected).as_posix(): file.read_bytes() for file in files}
    tier = directory / "tier"
    assert set(found.tiers.values()) <= {tier.read_text().strip() if tier.exists() else "exact"}


@settings(max_examples=500)
@given(directory=st.sampled_from(DIRECTORIES), data=st.data())
def test_a_mutilated_reply_is_refused_or_resolved(directory: Path, data: st.DataObject) -> None:
    """Cut, doubled and garbled replies: nothing but the errors of proposals ever comes of them."""
    reply = data.draw(st.sampled_from(REPLIES))
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(reply))] * 2)))
        middle = data.draw(st.sampled_from(["", '"', "\\", "}", "null", "\u2028", reply[start:end] * 2]))
        reply = reply[:start] + middle + reply[end:]
    complaint(directory, reply)
