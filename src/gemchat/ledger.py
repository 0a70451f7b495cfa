"""The ledger: what the model holds of each file, what the next turn would send, and what that would cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec.structs import asdict

from gemchat.core import history
from gemchat.core.chain import held_chain
from gemchat.core.economics import estimate_tokens
from gemchat.core.model import Comparison, MediaRef, SentFile, Value
from gemchat.core.tree import OVERVIEW
from gemchat.prepare import Ask, Prepared, prepare
from gemchat.project import Project


class Entry(Value, frozen=True):
    """One file. `sha256`, `since` and `form` tell of the version the model holds, `tokens` estimates its text.

    `next` is how the next turn would send it, None for a file that the next turn is not about.
    """

    path: str
    held: bool
    sha256: str | None = None
    since: str | None = None
    form: str | None = None
    tokens: int = 0
    next: SentFile | None = None


class MediaEntry(Value, frozen=True):
    """An image or PDF of the context. `since` is the turn that sent it, None if the model does not hold it."""

    ref: MediaRef
    since: str | None


class Ledger(Value, frozen=True):
    """`warm_until` is when the cache of the conversation runs out, in Unix seconds; None if there is nothing warm.

    `comparison` is the decision for a question without words asked now, `cold` the same one after that time.
    """

    session: str
    files: tuple[Entry, ...]
    context: tuple[str, ...]
    media: tuple[MediaEntry, ...]
    route: str
    reason: str
    turns: int
    tokens: int
    warm_until: float | None
    comparison: Comparison | None
    cold: Comparison | None


def ledger(project: Project, ask: Ask) -> Ledger:
    """`ask` is a question as it would be asked next; it is prepared and not sent."""
    prepared = prepare(project, ask)
    session, now = prepared.session, project.clock()
    turns = history.epoch(history.chain(history.current_path(session)))
    shown = history.held_media(turns)
    compared = prepared.plan.comparison
    chain = held_chain(turns, ask.policy, now) if turns else None
    warm_until = turns[-1].at + ask.policy.cache_ttl if compared and compared.warm else None
    return Ledger(
        session=project.session,
        files=_entries(project, prepared, history.holdings(turns)),
        context=((OVERVIEW,) if session.tree else ()) + session.context,
        media=tuple(MediaEntry(ref=ref, since=shown.get(ref.sha256)) for ref in prepared.media),
        route=prepared.plan.route,
        reason=prepared.plan.reason,
        turns=len(turns),
        tokens=chain.tokens if chain else 0,
        warm_until=warm_until,
        comparison=compared,
        cold=compared if warm_until is None else _compared_at(project, ask, warm_until),
    )


def _entries(project: Project, prepared: Prepared, holdings: dict[str, history.Holding]) -> tuple[Entry, ...]:
    following = {file.path: file for file in prepared.plan.files}
    text_of = project.text_of(history.encodings(prepared.session))
    entries = []
    for path in dict.fromkeys((*following, *holdings)):
        held = holdings.get(path)
        text = text_of(held.sha256) if held and held.sha256 else None
        entries.append(
            Entry(
                path=path,
                held=held is not None,
                sha256=held.sha256 if held else None,
                since=held.turn if held else None,
                form=held.form if held else None,
                tokens=estimate_tokens(text or ""),
                next=following.get(path),
            )
        )
    return tuple(entries)


def _compared_at(project: Project, ask: Ask, then: float) -> Comparison | None:
    """Prepared anew, for at another time another turn may be the one to go on from."""
    return prepare(replace(project, clock=lambda: then), ask).plan.comparison


def ledger_json(found: Ledger) -> dict[str, Any]:
    return asdict(found) | {
        "files": [_entry_json(entry) for entry in found.files],
        "context": list(found.context),
        "media": [asdict(entry.ref) | {"since": entry.since} for entry in found.media],
        "comparison": asdict(found.comparison) if found.comparison else None,
        "cold": asdict(found.cold) if found.cold else None,
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    coming = entry.next
    said = {"source": coming.source, "reason": coming.reason} if coming else None
    return asdict(entry) | {"next": said}
