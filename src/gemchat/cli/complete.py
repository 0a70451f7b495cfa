"""What a shell offers at the tab key that depends on the state: sessions, turns, models, pending files.

Reads and never repairs, says nothing, and finds nothing where anything is amiss: a tab is no place for messages.
Every command line reads this module for its options, so what only a tab needs is imported by what it offers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from gemchat.cli.surroundings import Surroundings
from gemchat.errors import GemchatError

if TYPE_CHECKING:
    from gemchat.core.model import Session
    from gemchat.store import Store

MODELS = ("gemini-3.7-flash", "gemini-3.5-flash", "gemini-3.1-flash-lite", "local")


class Place(NamedTuple):
    """What the command line so far is about; the stored session is read as it is."""

    here: Surroundings
    root: Path
    store: Store
    name: str

    @property
    def session(self) -> Session:
        from gemchat.core.model import Session

        return self.store.peek(self.name) or Session(name=self.name, created=0)


def _offered(candidates: Callable[[Place], Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    """Candidates as typer asks for them."""

    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        here = ctx.obj if isinstance(ctx.obj, Surroundings) else Surroundings()
        chosen = ctx.params
        try:
            root = here.workspace(chosen.get("project")).root
            store = here.store(root, lambda _: None)
            place = Place(here, root, store, here.session_in_use(store, chosen.get("session")))
            return [name for name in dict.fromkeys(candidates(place)) if name.startswith(incomplete)]
        except (GemchatError, OSError, ValueError):
            return []

    return offered


@_offered
def session_names(place: Place) -> Iterable[str]:
    from gemchat.store import DEFAULT_SESSION

    return [*place.store.names(), DEFAULT_SESSION]


@_offered
def turn_numbers(place: Place) -> Iterable[str]:
    """Newest first."""
    from gemchat.core.turns import all_turns

    return [turn.id for turn in reversed(all_turns(place.session))]


@_offered
def models(place: Place) -> Iterable[str]:
    """Those of this session, then the one set, then others known to do."""
    from gemchat.core.turns import all_turns

    chosen = place.here.settings(place.root)
    used = (turn.model for turn in reversed(all_turns(place.session)))
    return [*used, chosen.model, *chosen.prices, *MODELS]


@_offered
def setting_names(_place: Place) -> Iterable[str]:
    from gemchat.configtable import OPTIONS

    return [row.name.removesuffix("<model>") for row in OPTIONS]


@_offered
def pending_files(place: Place) -> Iterable[str]:
    """As they are called from here."""
    from gemchat.core import history

    return [
        os.path.relpath(place.root / path, place.here.directory) for path in history.pending_changes(place.session)
    ]


def among(*names: str) -> Callable[[str], list[str]]:
    """Fixed words."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]
