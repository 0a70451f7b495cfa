from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gemchat.core.economics import RELATIVE, Chain, Policy, Price, Trimmed, compare, estimate_tokens
from gemchat.core.model import Comparison, Usage
from gemchat.core.prices import PUBLISHED, price_of

POLICY = Policy(horizon=3)
LARGE = Price(fresh=2.0, cached=0.2, output=12.0, large_from=1000, large=2.0, large_output=1.5)


def test_estimates_weigh_wide_characters() -> None:
    assert estimate_tokens("a" * 40) == 10
    assert estimate_tokens("日" * 16) == 10
    assert estimate_tokens("") == 0


def test_thoughts_are_billed_as_output_and_cached_tokens_only_once() -> None:
    used = Usage(input=1_000_000, cached=400_000, output=100_000, thought=50_000)
    assert Price(fresh=0.75, cached=0.075, output=3.75).of(used) == pytest.approx(0.45 + 0.03 + 0.5625)


def test_what_turns_used_is_added_up_kind_by_kind() -> None:
    used = Usage(input=1, cached=2, output=3, thought=4) + Usage(input=10, cached=20, output=30, thought=40)
    assert used == Usage(input=11, cached=22, output=33, thought=44)


@pytest.mark.parametrize(("size", "cost"), [(1000, 2.0e-3 + 12e-6), (1001, 4.004e-3 + 18e-6)])
def test_a_large_request_is_dearer_as_a_whole(size: int, cost: float) -> None:
    assert LARGE.of(Usage(input=size, output=1)) == pytest.approx(cost)


def test_a_warm_conversation_is_read_at_a_tenth() -> None:
    compared = compare(Chain(tokens=10_000, warm=True), payload=100, rewritten=8000, policy=POLICY)
    assert (compared.continuing, compared.restarting) == (1000 + 100 + 2 * 1010, 8000 + 2 * 800)
    assert compared.choice == "continue"
    assert compared.saved == 0


def test_a_cold_conversation_is_read_at_full_price_once() -> None:
    compared = compare(Chain(tokens=20_000, warm=False), payload=100, rewritten=8000, policy=POLICY)
    assert compared.continuing == 20_000 + 100 + 2 * 2010
    assert compared.choice == "restart"
    assert compared.saved == 60
    assert not compared.warm


def test_what_is_shorter_than_the_floor_is_never_cached() -> None:
    compared = compare(Chain(tokens=4095, warm=True), payload=0, rewritten=4096, policy=POLICY)
    assert (compared.continuing, compared.restarting) == (3 * 4095, 4096 + round(2 * 409.6))


def test_a_cache_that_misses_is_not_counted_on() -> None:
    chain = Chain(tokens=10_000, warm=True, caching=False)
    compared = compare(chain, payload=0, rewritten=8000, policy=POLICY)
    assert (compared.continuing, compared.restarting) == (30_000, 24_000)
    assert not compared.warm


def test_growth_and_scale() -> None:
    chain = Chain(tokens=10_000, warm=True, growth=500, scale=2.0)
    compared = compare(chain, payload=50, rewritten=4000, policy=POLICY)
    assert (compared.payload, compared.rewritten) == (100, 8000)
    assert compared.continuing == 1000 + 100 + 1010 + 500 + 1060 + 500
    assert compared.restarting == 8000 + 800 + 500 + 850 + 500


def test_what_is_kept_of_a_trimmed_conversation_is_read_from_the_cache() -> None:
    chain = Chain(tokens=10_000, warm=True, growth=500, scale=2.0)
    trimmed = Trimmed(kept=6000, summary=400)
    compared = compare(chain, payload=50, rewritten=4000, trimmed=trimmed, policy=POLICY)
    assert (compared.kept, compared.summary) == (6000, 800)
    assert compared.trimming == 600 + 800 + 680 + 500 + 730 + 500
    cold = compare(replace(chain, warm=False), payload=50, rewritten=4000, trimmed=trimmed, policy=POLICY)
    assert cold.trimming == compared.trimming - 600 + 6000
    small = compare(chain, payload=50, rewritten=4000, trimmed=Trimmed(kept=4095, summary=400), policy=POLICY)
    assert small.trimming == 4095 + 800 + 489.5 + 500 + 539.5 + 500, "what is below the floor is never cached"


@pytest.mark.parametrize(
    ("restarting", "trimming", "choice"),
    [
        (1000, None, "continue"),
        (999, None, "restart"),
        (2000, 1000, "continue"),
        (2000, 999, "trim"),
        (999, 999, "trim"),
        (998, 999, "restart"),
    ],
)
def test_small_savings_are_not_worth_forgetting_anything(
    restarting: int, trimming: int | None, choice: str
) -> None:
    none = Comparison(chain=1, payload=1, rewritten=1, warm=True, horizon=6, continuing=0, restarting=0)
    assert replace(none, continuing=3000, restarting=restarting, trimming=trimming).choice == choice
    assert none.saved == 0


def test_free_input_cannot_be_compared_by_ratio() -> None:
    free = Policy(horizon=2, price=Price(fresh=0.0, cached=0.0, output=0.0))
    assert compare(Chain(tokens=9000, warm=True), payload=0, rewritten=9000, policy=free).continuing == 18_000


@given(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**6), st.booleans(), st.integers(1, 20))
def test_a_longer_conversation_never_costs_less(
    tokens: int, more: int, rewritten: int, warm: bool, horizon: int
) -> None:
    """Above the floor; below it a longer one may be cheaper, for it is cached."""
    policy = Policy(horizon=horizon, price=Price(fresh=1.0, cached=0.1, output=5.0, floor=0))
    one = compare(Chain(tokens=tokens, warm=warm), payload=0, rewritten=rewritten, policy=policy)
    other = compare(Chain(tokens=tokens + more, warm=warm), payload=0, rewritten=rewritten, policy=policy)
    assert one.continuing <= other.continuing
    assert one.restarting == other.restarting


def test_prices_by_the_longest_name_that_fits() -> None:
    lite, flash = price_of("gemini-2.5-flash-lite", 0.0, {}), price_of("gemini-2.5-flash-preview", 0.0, {})
    assert lite is not None
    assert flash is not None
    assert (lite.fresh, flash.fresh) == (0.10, 0.30)
    assert lite.floor == 2048


def test_a_price_changes_on_its_day() -> None:
    new_year = 1_798_761_600.0
    before, after = (price_of("gemini-3.8-flash", new_year + shift, {}) for shift in (-1, 0))
    assert before is not None
    assert after is not None
    assert (before.output, after.output) == (3.75, 7.50)


def test_own_prices_come_first_and_unknown_models_have_none() -> None:
    own = Price(fresh=9, cached=1, output=9)
    assert price_of("gemini-3.8-flash", 0.0, {"gemini-3.8-flash": own}) == own
    assert price_of("local", 0.0, {}) is None
    assert price_of("gemini-3.1-prolix", 0.0, {}) is None


def test_published_prices_are_in_proportion() -> None:
    """Cached input is a tenth everywhere; a slip of the pen would show."""
    for listed in PUBLISHED.values():
        for _, price in listed:
            assert price.cached == pytest.approx(price.fresh / 10)
            assert price.output >= 4 * price.fresh
    assert RELATIVE.cached == RELATIVE.fresh / 10
