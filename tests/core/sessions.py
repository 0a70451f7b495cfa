"""Builds journals for tests: each call adds an entry, hashes are made from words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemchat.core.model import (
    Change,
    ChangeKind,
    FileChange,
    FileRef,
    MediaRef,
    Outcome,
    Remote,
    Route,
    Sent,
    SentFile,
    Session,
    Source,
    Turn,
    TurnStatus,
)


class Script:
    """A session under construction. File versions are given as texts, which serve as their own hashes."""

    def __init__(self) -> None:
        self.session = Session(name="main", created=0)

    def turn(
        self,
        *,
        files: Mapping[str, str | None] | None = None,
        proposal: Mapping[str, tuple[str | None, str]] | None = None,
        route: Route | None = None,
        carried: Mapping[str, str] | None = None,
        context: str | None = None,
        media: tuple[MediaRef, ...] = (),
        outcomes: tuple[Outcome, ...] = (),
        status: TurnStatus = "complete",
        parent: str | None = None,
        explanation: str = "because",
        side: bool = False,
        attachments: tuple[str, ...] = (),
        carryover: tuple[str, ...] = (),
        added: int = 0,
        source: Source = "full",
        kept: str | None = None,
        **more: Any,
    ) -> Turn:
        number = str(sum(isinstance(entry, Turn) for entry in self.session.journal) + 1)
        sent = Sent(
            route=route or ("continue" if self.session.head else "restart"),
            reason="",
            files=tuple(
                SentFile(path=path, sha256=version, source=source, reason="")
                for path, version in (files or {}).items()
            ),
            messages="",
            bytes=0,
            tokens=0,
            carried=tuple(FileRef(path=path, sha256=version) for path, version in (carried or {}).items()),
            context=context,
            media=media,
            outcomes=outcomes,
            side=side,
            attachments=attachments,
            attached=5000 if side else 0,
            carryover=carryover,
            kept=kept,
            added=added,
        )
        fields: dict[str, Any] = {
            "mode": "edit" if proposal else "ask",
            "prompt": f"prompt {number}",
            "model": "m",
            "backend": "interactions",
            "remote": Remote(interaction=f"v1_{number}"),
            "at": 0.0,
            "reply": explanation,
        }
        turn = Turn(
            **(fields | more),
            id=number,
            parent=parent or self.session.head,
            sent=sent,
            explanation=explanation,
            status=status,
            proposal=tuple(
                FileChange(path=path, before=before, after=after, turn=number)
                for path, (before, after) in (proposal or {}).items()
            ),
        )
        head = self.session.head if status == "incomplete" else number
        self._add(turn, head=head)
        return turn

    def change(self, kind: ChangeKind, *files: FileChange, dropped: bool = False) -> Change:
        change = Change(id="c", at=0, kind=kind, files=files, dropped=dropped)
        self._add(change, head=self.session.head)
        return change

    def _add(self, entry: Turn | Change, head: str | None) -> None:
        self.session = Session(name="main", created=0, journal=(*self.session.journal, entry), head=head)
