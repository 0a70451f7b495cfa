"""What the commands tell, as values: diffs of proposals, the state of a session, and the JSON of every result.

Reads through a Project and computes; drawing is the view's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from gemchat.core import history
from gemchat.core.diff import Hunk, count, git_patch, hunks
from gemchat.core.model import Change, FileChange, Sent, Session, Tier, Turn, Usage, Value
from gemchat.core.textfile import UTF_8, decode, raw_text
from gemchat.errors import GemchatError, NotText
from gemchat.project import Project

if TYPE_CHECKING:
    from gemchat.core.planner import Plan
    from gemchat.prepare import Prepared


class FileDiff(Value, frozen=True):
    """One file's change; the texts are the whole decoded bytes, None for a file that is not there.

    `git_path` is the path as a patch must have it, from the root of the repository around the project.
    """

    path: str
    before: str | None
    after: str | None
    mode: int
    tier: Tier = "exact"
    git_path: str = ""
    encoding: str = UTF_8

    @property
    def hunks(self) -> list[Hunk]:
        return hunks(self.before or "", self.after or "")

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        return count(self.hunks)

    @property
    def patch(self) -> str:
        return git_patch(self.git_path or self.path, self.before, self.after, self.mode)


class TargetState(Value, frozen=True):
    """Where a file stands. `state`: synchronized, changed, unknown, absent; `proposal`: pending, stale, none."""

    path: str
    state: str
    added: int = 0
    removed: int = 0
    proposal: str = "none"


class Overview(Value, frozen=True):
    """A session at a glance. `usage` adds up all its turns."""

    session: str
    turns: int
    epoch_turns: int
    model: str | None
    backend: str | None
    targets: tuple[TargetState, ...]
    pending: tuple[str, ...]
    undo: int
    redo: int
    context: tuple[str, ...]
    usage: Usage


def file_diffs(project: Project, changes: Iterable[FileChange], *, backwards: bool = False) -> list[FileDiff]:
    """What the changes do to their files, or what taking them back does."""

    def text(change: FileChange, version: str | None) -> str | None:
        return None if version is None else raw_text(project.bytes_of(change.path, version), change.encoding)

    diffs = []
    for change in changes:
        old, new = (change.after, change.before) if backwards else (change.before, change.after)
        diffs.append(
            FileDiff(
                path=change.path,
                before=text(change, old),
                after=text(change, new),
                mode=project.workspace.mode(change.path),
                tier=change.tier,
                git_path=project.workspace.git_path(change.path),
                encoding=change.encoding,
            )
        )
    return diffs


def patch(diffs: Iterable[FileDiff]) -> str:
    return "".join(diff.patch for diff in diffs)


def overview(project: Project) -> Overview:
    session = project.load()
    path = history.current_path(session)
    head = path[-1] if path else None
    pending = history.pending_changes(session)
    stack = history.undo_stack(session)
    named = dict.fromkeys((*history.sticky_targets(path), *pending))
    return Overview(
        session=session.name,
        turns=len(path),
        epoch_turns=len(history.epoch(history.chain(path))),
        model=head.model if head else None,
        backend=head.backend if head else None,
        targets=tuple(_target_state(project, session, name) for name in named),
        pending=tuple(pending),
        undo=len(stack.undo),
        redo=len(stack.redo),
        context=session.context,
        usage=sum((entry.usage for entry in session.journal if isinstance(entry, Turn)), Usage()),
    )


def turn_json(project: Project, turn: Turn, status: str = "proposed") -> dict[str, Any]:
    """`reply` is what the user asked to see: the answer, or the explanation of an edit."""
    return {
        "session": project.session,
        "turn": turn.id,
        "mode": turn.mode,
        "reply": turn.explanation,
        "proposal": _proposal_json(project, turn, status) if turn.proposal else None,
        "sent": sent_json(turn.sent, turn.sent.bytes, turn.sent.tokens),
        "usage": usage_json(turn.usage),
        "model": turn.model,
        "backend": turn.backend,
    }


def decision_json(session: str, prepared: Prepared) -> dict[str, Any]:
    return {
        "session": session,
        "mode": prepared.ask.mode,
        "sent": sent_json(prepared.plan, prepared.bytes, prepared.tokens),
        "model": prepared.ask.model,
        "backend": prepared.ask.backend,
    }


def change_json(change: Change) -> dict[str, Any]:
    """`sha256` is the version that is on disk now; of a discarded proposal the version it was for."""
    back = change.kind in ("undone", "discarded", "stale")
    return {
        "proposal": change.files[-1].turn,
        "status": change.kind,
        "files": [{"path": file.path, "sha256": file.before if back else file.after} for file in change.files],
    }


def diff_json(changes: Sequence[FileChange], diffs: Sequence[FileDiff]) -> dict[str, Any]:
    return {"files": _changed_files(changes, diffs), "diff": patch(diffs)}


def overview_json(state: Overview) -> dict[str, Any]:
    return {
        "session": state.session,
        "turns": state.turns,
        "model": state.model,
        "backend": state.backend,
        "targets": [
            {
                "path": target.path,
                "state": target.state,
                "added": target.added,
                "removed": target.removed,
                "proposal": target.proposal,
            }
            for target in state.targets
        ],
        "pending": list(state.pending),
        "undo": state.undo,
        "redo": state.redo,
        "context": list(state.context),
        "usage": usage_json(state.usage),
    }


def error_json(error: GemchatError) -> dict[str, Any]:
    return {
        "error": {
            "code": error.exit_code,
            "kind": error.kind,
            "message": error.message,
            "hint": error.hint,
        }
    }


def usage_json(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output, "thought": usage.thought}


def _proposal_json(project: Project, turn: Turn, status: str) -> dict[str, Any]:
    diffs = file_diffs(project, turn.proposal)
    return {
        "id": turn.id,
        "status": status,
        "files": _changed_files(turn.proposal, diffs),
        "diff": patch(diffs),
        "warnings": list(turn.warnings),
    }


def _changed_files(changes: Sequence[FileChange], diffs: Sequence[FileDiff]) -> list[dict[str, Any]]:
    return [
        {
            "path": change.path,
            "base_sha256": change.before,
            "proposal_sha256": change.after,
            "added": counts[0],
            "removed": counts[1],
            "matched": change.tier,
        }
        for change, counts in zip(changes, [diff.counts for diff in diffs], strict=True)
    ]


def sent_json(sent: Sent | Plan, size: int, tokens: int) -> dict[str, Any]:
    return {
        "route": sent.route,
        "reason": sent.reason,
        "files": [{"path": file.path, "source": file.source, "reason": file.reason} for file in sent.files],
        "context": sent.context is not None,
        "media": [msgspec.to_builtins(ref) for ref in sent.media],
        "bytes": size,
        "tokens": tokens,
        "beside": sent.side,
        "kept": sent.kept,
        "comparison": None if sent.comparison is None else msgspec.structs.asdict(sent.comparison),
    }


def _target_state(project: Project, session: Session, path: str) -> TargetState:
    disk = project.version(path)
    change = history.pending_changes(session).get(path)
    proposal = "none" if change is None else "pending" if change.before == disk else "stale"
    working = change.after if change is not None and proposal == "pending" else disk
    if working is None:
        return TargetState(path=path, state="absent", proposal=proposal)
    held = history.held_versions(history.epoch(history.chain(history.current_path(session))))
    if held.get(path) == working:
        return TargetState(path=path, state="synchronized", proposal=proposal)
    text_of = project.text_of(history.encodings(session))
    encoding = session.encodings.get(path, UTF_8)
    before, now = text_of(held.get(path) or ""), text_of(working) or _disk_text(project, path, encoding)
    if before is None:
        return TargetState(path=path, state="unknown", proposal=proposal)
    added, removed = count(hunks(before, now))
    return TargetState(path=path, state="changed", added=added, removed=removed, proposal=proposal)


def _disk_text(project: Project, path: str, encoding: str) -> str:
    try:
        return decode(project.workspace.read(path) or b"", encoding).text
    except NotText:
        return ""
