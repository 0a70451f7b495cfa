"""What the service holds of a conversation, as far as its costs depend on it."""

from __future__ import annotations

from collections.abc import Sequence

from gemchat.core.economics import SCALE, Chain, Policy, estimate_tokens
from gemchat.core.instruction import SYSTEM
from gemchat.core.model import Turn

SYSTEM_TOKENS = estimate_tokens(SYSTEM)


def held_chain(turns: Sequence[Turn], policy: Policy, now: float) -> Chain:
    """What the service holds after the turns of one epoch: its own count where it gave one, else the estimate."""
    head = turns[-1]
    sizes = [turn.sent.added + estimate_tokens(turn.reply) for turn in turns]
    estimated = SYSTEM_TOKENS + sum(sizes)
    counted = counted_tokens(head) or estimated
    usual = [size for size, turn in zip(sizes, turns, strict=True) if turn.sent.kept is None]
    return Chain(
        tokens=counted,
        warm=now - head.at < policy.cache_ttl,
        caching=not _was_missed(turns, policy),
        growth=_mean(usual[1:]) or estimate_tokens(head.prompt) + estimate_tokens(head.reply),
        scale=min(max(counted / estimated, SCALE[0]), SCALE[1]),
    )


def counted_tokens(turn: Turn) -> int:
    """The tokens that a conversation holds after one of its turns, 0 where the service did not say."""
    return turn.usage.input + turn.usage.output if turn.usage.input else 0


def _mean(sizes: Sequence[int]) -> int:
    return sum(sizes) // len(sizes) if sizes else 0


def _was_missed(turns: Sequence[Turn], policy: Policy) -> bool:
    """The newest turn could have been served from the cache and was not: do not count on it now."""
    if len(turns) < 2:
        return False
    before, head = turns[-2:]
    warm = head.at - before.at < policy.cache_ttl
    if head.sent.kept and head.sent.comparison:  # others were between them
        warm = head.sent.comparison.warm
    return counted_tokens(before) >= policy.price.floor and warm and not head.usage.cached
