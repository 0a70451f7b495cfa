"""The ledger and the bill as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from gemchat.core.model import Comparison
from gemchat.core.prices import AS_OF
from gemchat.diffview import counted
from gemchat.ledger import Entry, Ledger
from gemchat.spending import Spent, Total, total
from gemchat.turnview import describe_comparison, describe_file, describe_media

_ROW = "{:>5}  {:24}  {:>11}  {:>11}  {:>9}  {:>9}  {:>9}"


def ledger_lines(found: Ledger) -> Iterator[str]:
    yield f"session   {found.session}"
    for entry in found.files:
        yield f"file      {entry.path}: {_held(entry)}"
        if entry.next is not None:
            yield f"          next turn: {describe_file(entry.next)}"
    if found.context:
        yield f"context   {', '.join(found.context)}"
    for media in found.media:
        state = f"held since turn {media.since}" if media.since else "not known to the model, goes along next"
        yield f"          {describe_media(media.ref)}: {state}"
    yield f"chain     {_chain(found)}"
    yield f"next      {found.route}: {found.reason}"
    if found.comparison is not None:
        yield f"          {describe_comparison(found.comparison)}"
    if found.cold is not None and found.warm_until is not None:
        yield f"          {_when_cold(found.cold)}"


def usage_lines(spent: Sequence[Spent], session: str, project: Sequence[Spent]) -> Iterator[str]:
    if not project:
        yield "nothing has been asked yet"
        return
    yield _ROW.format("turn", "model", "fresh", "cached", "output", "thought", "cost").rstrip()
    for one in spent:
        yield _row(one.turn, one.model, one.usage.input, one.usage.cached, one, _money(one.cost))
    yield _total_row(session, total(spent))
    if len(project) > len(spent):
        yield _total_row("all sessions", total(project))
    yield ""
    yield _again(total(spent))
    yield f"Costs are estimates in US dollars: the service's token counts at the prices of {AS_OF}."


def _held(entry: Entry) -> str:
    if not entry.held:
        return "not known to the model"
    if entry.sha256 is None:
        return f"known not to exist since turn {entry.since}"
    return f"{entry.sha256[:12]} held since turn {entry.since} ({entry.form}), about {entry.tokens:,} tokens"


def _chain(found: Ledger) -> str:
    if not found.turns:
        return "nothing is remembered yet"
    state = "not cached"
    if found.warm_until is not None:
        state = f"cached until {datetime.fromtimestamp(found.warm_until).astimezone():%H:%M:%S}"
    return f"{counted(found.turns, 'turn')} held word for word, {found.tokens:,} tokens, {state}"


def _when_cold(cold: Comparison) -> str:
    return f"after that it would {cold.choice}: {describe_comparison(cold)}"


def _total_row(name: str, sums: Total) -> str:
    return _row("", name, sums.usage.input, sums.usage.cached, sums, _money(sums.cost if sums.priced else None))


def _row(turn: str, name: str, read: int, cached: int, one: Spent | Total, cost: str) -> str:
    counts = (f"{count:,}" for count in (read - cached, cached, one.usage.output, one.usage.thought))
    return _ROW.format(turn, name, *counts, cost)


def _again(sums: Total) -> str:
    if not sums.priced:
        return f"Sending the files again every turn would have taken {sums.again.input:,} fresh tokens."
    times = f" ({sums.again_cost / sums.cost:.1f}x)" if sums.cost else ""
    return (
        f"Sending the files again every turn would have taken {sums.again.input:,} fresh tokens and cost "
        f"{_money(sums.again_cost)}{times}."
    )


def _money(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"
