"""What texts weigh. Tokens are estimates from character classes: enough to compare, never to bill."""

from __future__ import annotations


def estimate_tokens(text: str) -> int:
    """About four ASCII characters make a token, or 1.6 of any other script."""
    wide = len(text) - len(text.encode("ascii", "ignore"))
    return int((len(text) - wide) / 4 + wide / 1.6)
