"""What Gemini models cost: the published list as data. Documentation of November 2026, not verified by a bill."""

from __future__ import annotations

from collections.abc import Mapping

from gemchat.core.economics import Price

AS_OF = "2026-11-30"

_FLASH_2027 = 1_798_761_600.0  # the beginning of 2027, UTC
_LARGE = 200_000

# By the beginning of a model's name, of which the longest counts: from when on, in Unix seconds, and the price.
PUBLISHED: Mapping[str, tuple[tuple[float, Price], ...]] = {  # oldest first
    "gemini-3.8-flash": (
        (0.0, Price(fresh=0.75, cached=0.075, output=3.75)),
        (_FLASH_2027, Price(fresh=1.50, cached=0.15, output=7.50)),
    ),
    "gemini-3.7-flash": (
        (0.0, Price(fresh=0.75, cached=0.075, output=3.75)),
        (_FLASH_2027, Price(fresh=1.50, cached=0.15, output=7.50)),
    ),
    "gemini-3.5-flash": ((0.0, Price(fresh=1.50, cached=0.15, output=9.00)),),
    "gemini-3.1-pro": (
        (0.0, Price(fresh=2.00, cached=0.20, output=12.00, large_from=_LARGE, large=2.0, large_output=1.5)),
    ),
    "gemini-3.1-flash-lite": ((0.0, Price(fresh=0.25, cached=0.025, output=1.50)),),
    "gemini-3-flash": ((0.0, Price(fresh=0.50, cached=0.05, output=3.00)),),
    "gemini-2.5-pro": (
        (
            0.0,
            Price(
                fresh=1.25,
                cached=0.125,
                output=10.00,
                floor=2048,
                large_from=_LARGE,
                large=2.0,
                large_output=1.5,
            ),
        ),
    ),
    "gemini-2.5-flash": ((0.0, Price(fresh=0.30, cached=0.03, output=2.50, floor=2048)),),
    "gemini-2.5-flash-lite": ((0.0, Price(fresh=0.10, cached=0.01, output=0.40, floor=2048)),),
}


def price_of(model: str, at: float, own: Mapping[str, Price]) -> Price | None:
    """The price of a model at a time, `own` prices before published ones; None for a model nobody knows."""
    if model in own:
        return own[model]
    name = max((name for name in PUBLISHED if _is_of(model, name)), key=len, default=None)
    if name is None:
        return None
    return next(price for since, price in reversed(PUBLISHED[name]) if since <= at)


def _is_of(model: str, family: str) -> bool:
    """`gemini-3.1-pro-preview` is of `gemini-3.1-pro`; `gemini-3.1-prolix` is not."""
    return model == family or model.startswith(f"{family}-")
