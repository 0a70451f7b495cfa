from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.economics import estimate_tokens
from gemchat.core.folding import fold
from tests.core.strategies import texts

LOG = "\n".join(["begin", *(f"step {n} went well" for n in range(3000)), "E   assert 1 == 2", "the end"])


def test_a_short_text_stays_as_it_is() -> None:
    assert fold("one\ntwo", 100) == "one\ntwo"


def test_head_tail_and_what_looks_like_an_error_are_kept() -> None:
    folded = fold(LOG.replace("step 1500 went well", "ERROR: step 1500 failed"), 1000).split("\n")
    assert (folded[0], folded[-1]) == ("begin", "the end")
    assert "ERROR: step 1500 failed" in folded
    (note,) = [line for line in folded if line.startswith("[")]
    assert note == "[2922 lines are left out here; of the rest those that look like errors are shown]"
    assert len(folded) == 2 * 40 + 1 + 1


@pytest.mark.parametrize("line", ["A WARNING", "Traceback (most recent call last)", "E   x", "e\tx", "it Failed"])
def test_what_counts_as_an_error(line: str) -> None:
    log = [f"step {number}" for number in range(200)]
    assert line in fold("\n".join([*log, line, *log]), 300).split("\n")


def test_too_many_errors_are_thinned_out() -> None:
    folded = fold("\n".join(f"error {n}" for n in range(5000)), 500)
    assert estimate_tokens(folded) <= 500
    assert folded.startswith("error 0\n")
    assert folded.endswith("error 4999")


def test_long_lines_are_cut() -> None:
    folded = fold("x" * 100_000, 200)
    assert estimate_tokens(folded) <= 200


@given(texts(max_lines=60), st.integers(10, 300))
def test_what_is_folded_is_not_much_longer_than_the_limit(text: str, limit: int) -> None:
    folded = fold(text, limit)
    assert folded == text or len(folded) <= 4 * limit + len("\n[cut]\n") + 1
