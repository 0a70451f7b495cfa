"""What texts weigh, what a request costs, and whether to continue a conversation, to trim it or to rewrite it.

Tokens are estimates from character classes: enough to compare, never to bill. Prices are US dollars for a million
tokens; comparisons count in fresh input tokens, so they need only the ratio of prices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from gemchat.core.model import Comparison, Usage, Value

Compaction: TypeAlias = Literal["auto", "always", "never"]

INPUT_LIMIT = 1_048_576  # tokens of a request; no model reads more
SCALE = (0.5, 2.0)  # how far the service's own count may correct an estimate


def estimate_tokens(text: str) -> int:
    """About four ASCII characters make a token, or 1.6 of any other script."""
    wide = 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
    return int((len(text) - wide) / 4 + wide / 1.6)


def fits_no_model(texts: Iterable[str]) -> bool:
    """Whether texts are too long for any model whatever their characters are; found out from their lengths."""
    return sum(map(len, texts)) / 4 > INPUT_LIMIT


class Price(Value, frozen=True):
    """Of one model, per million tokens. A prefix shorter than `floor` tokens is never cached.

    A request of more than `large_from` tokens is billed as a whole at `large` times input and `large_output` times
    output.
    """

    fresh: float
    cached: float
    output: float
    floor: int = 4096
    large_from: int | None = None
    large: float = 1.0
    large_output: float = 1.0

    def of(self, usage: Usage) -> float:
        """What a request cost, thoughts included."""
        large = self.large_from is not None and usage.input > self.large_from
        read = (usage.input - usage.cached) * self.fresh + usage.cached * self.cached
        written = (usage.output + usage.thought) * self.output
        dear, dear_output = (self.large, self.large_output) if large else (1.0, 1.0)
        return (read * dear + written * dear_output) / 1e6


RELATIVE = Price(fresh=1.0, cached=0.1, output=5.0)  # what all models have in common, roughly


class Policy(Value, frozen=True):
    """How to decide: `horizon` is in turns, `cache_ttl` in seconds."""

    compaction: Compaction = "auto"
    horizon: int = 8
    cache_ttl: float = 300.0
    price: Price = RELATIVE


class Chain(Value, frozen=True):
    """The conversation as the service holds it: its tokens, and whether its cache can be counted on.

    `warm`: the next request finds it cached. `caching`: requests that could have been served from the cache were.
    `growth`: what a turn adds, on average. `scale`: tokens of the service for one that was estimated.
    """

    tokens: int
    warm: bool
    caching: bool = True
    growth: int = 0
    scale: float = 1.0


class Trimmed(Value, frozen=True):
    """A conversation without its newest turns: the tokens of what is kept, and of a turn that sums up the rest."""

    kept: int
    summary: int


def compare(
    chain: Chain, *, payload: int, rewritten: int, trimmed: Trimmed | None = None, policy: Policy
) -> Comparison:
    """What the turns up to the horizon cost each way; those after this one follow while the cache is warm."""
    payload, rewritten = round(payload * chain.scale), round(rewritten * chain.scale)
    return Comparison(
        chain=chain.tokens,
        payload=payload,
        rewritten=rewritten,
        warm=_is_cached(chain.tokens, chain, policy),
        horizon=policy.horizon,
        continuing=_cost(chain.tokens, payload, chain, policy),
        restarting=_cost(0, rewritten, chain, policy),
        kept=trimmed.kept if trimmed else 0,
        summary=round(trimmed.summary * chain.scale) if trimmed else 0,
        trimming=trimming(trimmed, chain, policy) if trimmed else None,
    )


def trimming(trimmed: Trimmed, chain: Chain, policy: Policy) -> int:
    """What the turns up to the horizon cost when the conversation is trimmed now."""
    return _cost(trimmed.kept, round(trimmed.summary * chain.scale), chain, policy)


def _cost(prefix: int, fresh: int, chain: Chain, policy: Policy) -> int:
    """Of a turn that adds `fresh` tokens to a prefix that was sent before, and of those after it."""
    first = _prefix(prefix, policy.price) if _is_cached(prefix, chain, policy) else float(prefix)
    return round(first + fresh + _later(prefix + fresh, chain, policy))


def _is_cached(prefix: int, chain: Chain, policy: Policy) -> bool:
    return chain.warm and chain.caching and prefix >= policy.price.floor


def _later(tokens: int, chain: Chain, policy: Policy) -> float:
    """The turns after this one, of which each finds the `tokens` so far and adds the usual growth."""
    total = 0.0
    for _ in range(1, policy.horizon):
        total += (_prefix(tokens, policy.price) if chain.caching else tokens) + chain.growth
        tokens += chain.growth
    return total


def _prefix(tokens: int, price: Price) -> float:
    """A prefix that was sent before, in fresh tokens."""
    return tokens * price.cached / price.fresh if tokens >= price.floor and price.fresh else float(tokens)
