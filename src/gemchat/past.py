"""What a session's journal tells about its turns, as values and JSON. Drawing is the business of `turnview`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gemchat import report
from gemchat.core import history
from gemchat.core.model import Session, Turn, Value
from gemchat.core.turns import all_turns
from gemchat.project import Project


class Entry(Value, frozen=True):
    """A turn, what became of its proposal, and whether the conversation still contains it.

    `outcome` is None for a turn without a proposal; `state` says the same for every turn.
    """

    turn: Turn
    outcome: str | None
    in_conversation: bool

    @property
    def state(self) -> str:
        return self.turn.status if self.turn.status != "complete" else self.outcome or "answered"


def entries(session: Session) -> list[Entry]:
    """All turns of the journal, oldest first."""
    became, pending = history.outcomes(session), history.pending_changes(session)
    path = {turn.id for turn in history.current_path(session)}
    return [
        Entry(turn=turn, outcome=history.outcome_of(turn, became, pending), in_conversation=turn.id in path)
        for turn in all_turns(session)
    ]


def log_json(session: Session, shown: Sequence[Entry]) -> dict[str, Any]:
    return {"session": session.name, "turns": [_entry_json(entry) for entry in shown]}


def show_json(project: Project, entry: Entry) -> dict[str, Any]:
    """The turn as ask and edit tell it, with what log tells and the reply word for word."""
    whole = report.turn_json(project, entry.turn, entry.outcome or "proposed")
    return whole | _entry_json(entry) | {"raw": entry.turn.reply, "attachments": list(entry.turn.sent.attachments)}


def rewind_json(session: Session, dropped: Sequence[Turn]) -> dict[str, Any]:
    return {
        "session": session.name,
        "head": session.head,
        "turns": len(history.current_path(session)),
        "dropped": [turn.id for turn in dropped],
        "pending": list(history.pending_changes(session)),
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    turn = entry.turn
    return {
        "turn": turn.id,
        "parent": turn.parent,
        "in_conversation": entry.in_conversation,
        "at": turn.at,
        "mode": turn.mode,
        "prompt": turn.prompt,
        "status": turn.status,
        "problem": turn.problem,
        "files": [change.path for change in turn.proposal] or [file.path for file in turn.sent.files],
        "outcome": entry.outcome,
        "sent": report.sent_json(turn.sent, turn.sent.bytes, turn.sent.tokens),
        "usage": report.usage_json(turn.usage),
        "model": turn.model,
        "backend": turn.backend,
    }
