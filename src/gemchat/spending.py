"""What a session has cost by the service's own token counts, and what sending files again would have cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gemchat.core.chain import SYSTEM_TOKENS
from gemchat.core.economics import SCALE, Price, estimate_tokens
from gemchat.core.model import Session, Turn, Usage, Value
from gemchat.core.prices import price_of
from gemchat.report import usage_json


class Spent(Value, frozen=True):
    """One turn. `again` is the same turn asked of a service that remembers nothing: the prompts, answers, images
    and PDFs so far and the full text of its files, none of it cached. Costs are US dollars, None where the price
    is unknown.
    """

    turn: str
    at: float
    model: str
    usage: Usage
    again: Usage
    cost: float | None
    again_cost: float | None


class Total(Value, frozen=True):
    """`cost` and `again_cost` are of the `priced` turns among them."""

    turns: int
    priced: int
    usage: Usage
    again: Usage
    cost: float
    again_cost: float


def spending(
    session: Session, text_of: Callable[[str], str | None], prices: Mapping[str, Price]
) -> tuple[Spent, ...]:
    """Every turn of the session that the service has counted, also those that came to nothing."""
    turns = {entry.id: entry for entry in session.journal if isinstance(entry, Turn)}
    said: dict[str | None, int] = {None: 0}
    shown: dict[str | None, dict[str, int]] = {None: {}}
    held: dict[str, int] = {}
    spent = []
    for turn in turns.values():
        before = said.get(turn.parent, 0)
        said[turn.id] = before + estimate_tokens(turn.prompt) + estimate_tokens(turn.explanation)
        shown[turn.id] = shown.get(turn.parent, {}) | {ref.sha256: ref.tokens for ref in turn.sent.media}
        carried = _carried(turn, turns, held)
        held[turn.id] = carried + estimate_tokens(turn.reply)
        if turn.usage == Usage():
            continue
        texts = sum(estimate_tokens(text_of(file.sha256) or "") for file in turn.sent.files if file.sha256)
        media = sum(shown[turn.id].values())
        estimated = SYSTEM_TOKENS + before + estimate_tokens(turn.prompt) + turn.sent.attached + texts + media
        scale = min(max(turn.usage.input / max(carried, 1), SCALE[0]), SCALE[1])
        again = Usage(input=round(estimated * scale), output=turn.usage.output, thought=turn.usage.thought)
        price = price_of(turn.model, turn.at, prices)
        spent.append(
            Spent(
                turn=turn.id,
                at=turn.at,
                model=turn.model,
                usage=turn.usage,
                again=again,
                cost=price.of(turn.usage) if price else None,
                again_cost=price.of(again) if price else None,
            )
        )
    return tuple(spent)


def total(spent: Sequence[Spent]) -> Total:
    return Total(
        turns=len(spent),
        priced=sum(one.cost is not None for one in spent),
        usage=sum((one.usage for one in spent), Usage()),
        again=sum((one.again for one in spent), Usage()),
        cost=sum(one.cost or 0.0 for one in spent),
        again_cost=sum(one.again_cost or 0.0 for one in spent),
    )


def spending_json(session: str, spent: Sequence[Spent], project: Sequence[Spent]) -> dict[str, Any]:
    """`project` are the turns of all its sessions."""
    return {
        "session": session,
        "turns": [_plain(one) for one in spent],
        "total": _plain(total(spent)),
        "project": _plain(total(project)),
    }


def _carried(turn: Turn, turns: Mapping[str, Turn], held: Mapping[str, int]) -> int:
    """An estimate of the tokens in the request of a turn, what the service remembered for it included."""
    if turn.sent.route == "restart":
        return SYSTEM_TOKENS + turn.sent.added
    parent = turns.get(turn.sent.kept or turn.parent or "")
    while parent is not None and parent.sent.side:
        parent = turns.get(parent.parent or "")
    return (held.get(parent.id, 0) if parent else 0) + turn.sent.added


def _plain(value: Spent | Total) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(value, name) for name in value.__struct_fields__}
    return fields | {"usage": usage_json(value.usage), "again": usage_json(value.again)}
