"""What a shell offers at the tab key that depends on the state: sessions, turns, models, pending files.

Reads and never repairs, says nothing, and finds nothing where anything is amiss: a tab is no place for messages.
Every command line reads this module for its options, so what only a tab needs is imported by what it offers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gemchat.errors import GemchatError

if TYPE_CHECKING:
    from gemchat.core.model import Session
    from gemchat.project import Project

MODELS = ("gemini-3.7-flash", "gemini-3.5-flash", "gemini-3.1-flash-lite", "local")


def _offered(candidates: Callable[[Project, Path], Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    """Candidates of the project that the command line so far is about, as typer asks for them."""

    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        from gemchat.cli.surroundings import Surroundings
        from gemchat.view import View

        here = ctx.obj if isinstance(ctx.obj, Surroundings) else Surroundings()
        chosen = ctx.params
        try:
            place = here.project(View(quiet=True), session=chosen.get("session"), root=chosen.get("project"))
            return [
                name for name in dict.fromkeys(candidates(place, here.directory)) if name.startswith(incomplete)
            ]
        except (GemchatError, OSError, ValueError):
            return []

    return offered


@_offered
def session_names(place: Project, _directory: Path) -> Iterable[str]:
    from gemchat.store import DEFAULT_SESSION

    return [*place.store.names(), DEFAULT_SESSION]


@_offered
def turn_numbers(place: Project, _directory: Path) -> Iterable[str]:
    """Newest first."""
    from gemchat.core.turns import all_turns

    return [turn.id for turn in reversed(all_turns(_session(place)))]


@_offered
def models(place: Project, _directory: Path) -> Iterable[str]:
    """Those of this session, then the one set, then others known to do."""
    from gemchat.cli.surroundings import Surroundings
    from gemchat.core.turns import all_turns

    here = Surroundings()
    chosen = here.settings(place.workspace.root)
    used = (turn.model for turn in reversed(all_turns(_session(place))))
    return [*used, chosen.model, *chosen.prices, *MODELS]


@_offered
def setting_names(_place: Project, _directory: Path) -> Iterable[str]:
    from gemchat.configtable import OPTIONS

    return [row.name.removesuffix("<model>") for row in OPTIONS]


@_offered
def pending_files(place: Project, directory: Path) -> Iterable[str]:
    """As they are called from here."""
    from gemchat.core import history

    return [
        os.path.relpath(place.workspace.root / path, directory)
        for path in history.pending_changes(_session(place))
    ]


def among(*names: str) -> Callable[[str], list[str]]:
    """Fixed words."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _session(place: Project) -> Session:
    from gemchat.core.model import Session

    return place.store.peek(place.session) or Session(name=place.session, created=0)
