"""What a session has left at the service: the interactions its turns were answered by."""

from __future__ import annotations

from typing import NamedTuple

from gemchat.config import LOCAL_MODEL
from gemchat.core.model import Session, Turn


class Stored(NamedTuple):
    """Ids of interactions, in the order of their turns: those that can be reached now, and those that cannot."""

    here: tuple[str, ...]
    elsewhere: tuple[str, ...]


def stored(session: Session, service: str | None) -> Stored:
    """An interaction belongs to the key and address it was made with; where either is unknown, it may be here.

    The model on this machine keeps nothing for longer than it runs.
    """
    remotes = [turn.remote for turn in session.journal if isinstance(turn, Turn) and turn.model != LOCAL_MODEL]
    reachable = {
        remote.interaction: None in (service, remote.service) or remote.service == service
        for remote in remotes
        if remote.interaction
    }
    return Stored(
        here=tuple(name for name, here in reachable.items() if here),
        elsewhere=tuple(name for name, here in reachable.items() if not here),
    )
