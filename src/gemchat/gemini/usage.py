"""Token counts as the SDK reports them, made into `Usage`. Counts that are absent or no numbers are zero."""

from __future__ import annotations

from gemchat.core.model import Usage


def read_usage(report: object, *, total: str, cached: str, output: str, thought: str) -> Usage:
    """The arguments name the attributes of `report` that hold the counts; `total` is the input with `cached`."""
    return Usage(
        input=_count(report, total),
        cached=_count(report, cached),
        output=_count(report, output),
        thought=_count(report, thought),
    )


def _count(report: object, name: str) -> int:
    value = getattr(report, name, None)
    return value if isinstance(value, int) else 0
