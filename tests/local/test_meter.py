from __future__ import annotations

import pytest

from gemchat.core.model import Message, Usage
from gemchat.local.meter import Meter, count
from gemchat.local.mind import Prompt

LONG = "x" * (4 * 5000)


def prompt(*texts: str, model: str = "m", system: str = "s") -> Prompt:
    """User and model take turns."""
    roles = ("user", "model")
    messages = [Message(role=roles[i % 2], parts=(text,)) for i, text in enumerate(texts)]  # type: ignore[arg-type]
    return Prompt(model=model, system=system, messages=tuple(messages))


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("abc", 1), ("abcd", 2), ("üüüü", 2), ("abcdefgh", 3)])
def test_four_characters_are_a_token_rounded_up_over_all_of_the_request(text: str, tokens: int) -> None:
    assert count(prompt(text)) == tokens


def test_nothing_is_cached_the_first_time() -> None:
    assert Meter().bill(prompt(LONG), "yes", 0) == Usage(input=5001, output=1)


def test_a_continuation_finds_its_prefix_and_the_reply_in_the_cache() -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "r" * 400, 0)
    assert meter.bill(prompt(LONG, "r" * 400, "more"), "", 10) == Usage(input=5102, cached=5101)


def test_a_branch_finds_only_what_it_shares() -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "one way", 0)
    assert meter.quote(prompt(LONG, "the other way", "more"), 1).cached == 5001


def test_the_same_request_again_is_cached_as_a_whole() -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "", 0)
    assert meter.quote(prompt(LONG), 1) == Usage(input=5001, cached=5001)


def test_a_prefix_below_the_floor_is_not_cached() -> None:
    meter = Meter()
    just_below, floor = "x" * (4 * 4095 - 1), "x" * (4 * 4096 - 1)
    for text in (just_below, floor):
        meter.bill(prompt(text), "", 0)
    assert meter.quote(prompt(just_below, "", "more"), 0).cached == 0
    assert meter.quote(prompt(floor, "", "more"), 0).cached == 4096


def test_the_cache_is_warm_for_its_time_and_each_use_warms_it_again() -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "", 0)
    assert meter.quote(prompt(LONG), 299.9).cached
    meter.bill(prompt(LONG), "", 299.9)
    assert meter.quote(prompt(LONG), 599.7).cached
    assert not meter.quote(prompt(LONG), 599.9).cached


@pytest.mark.parametrize("other", [{"model": "n"}, {"system": "t"}])
def test_another_model_or_system_instruction_has_another_cache(other: dict[str, str]) -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "", 0)
    assert not meter.quote(prompt(LONG, **other), 0).cached


def test_a_quote_leaves_nothing_behind() -> None:
    meter = Meter()
    meter.quote(prompt(LONG), 0)
    assert not meter.quote(prompt(LONG), 0).cached


def test_where_a_message_is_cut_into_parts_makes_no_difference_and_where_messages_end_does() -> None:
    meter = Meter()
    meter.bill(prompt(LONG), "ab", 0)
    in_parts = (Message(role="user", parts=(LONG[:7], LONG[7:])), Message(role="model", parts=("a", "b")))
    assert meter.quote(Prompt(model="m", system="s", messages=in_parts), 0).cached == 5001
    assert not meter.quote(prompt(LONG[:-1], "xab"), 0).cached
