"""What a session's journal means: folds over it, from turns and changes to the state they add up to.

Nothing here is stored. The one rule for what the model holds: a version is held when it was sent or proposed on
the current path since the last restart, and nothing else changes that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gemchat.core.model import Change, FileChange, Outcome, OutcomeKind, Session, Turn

_OUTCOMES: Mapping[str, OutcomeKind] = {
    "applied": "applied",
    "discarded": "discarded",
    "undone": "undone",
    "redone": "applied",
    "stale": "stale",
}


class Holding(NamedTuple):
    """A version that the model holds, since which turn, and in what form it learnt of it."""

    sha256: str | None
    turn: str
    form: str


class UndoStack(NamedTuple):
    """Applied changes, newest last: those that can be taken back, and those that can be repeated."""

    undo: tuple[Change, ...]
    redo: tuple[Change, ...]


def current_path(session: Session) -> tuple[Turn, ...]:
    """The conversation: the turns from the first one to the head.

    Raises ValueError for a journal in which a turn does not stand after its parent.
    """
    path: list[Turn] = []
    at = session.head
    for entry in reversed(session.journal):
        if isinstance(entry, Turn) and entry.id == at:
            path.append(entry)
            at = entry.parent
    if at is not None:
        raise ValueError(f"turn {at} is missing")
    return tuple(reversed(path))


def chain(path: Sequence[Turn], *, beside: bool = False) -> tuple[Turn, ...]:
    """The turns that the next one continues: all but those on a side branch and those that were trimmed away.

    A restart tells of all turns before it, these included. `beside` is for a turn that repairs one on a side
    branch and therefore stays there. Raises ValueError for a journal in which a turn goes on from one that does
    not come before it.
    """
    last = path[-1:] if beside else ()
    since = epoch([turn for turn in path if not turn.sent.side or turn in last])
    turns = list(path[: path.index(since[0])]) if since else []
    start = len(turns)
    for turn in since:
        if turn.sent.kept is not None:
            _go_back(turns, start, turn.id, turn.sent.kept)
        turns.append(turn)
    return tuple(turns)


def _go_back(turns: list[Turn], start: int, turn: str, kept: str) -> None:
    while len(turns) > start and turns[-1].id != kept:
        turns.pop()
    if len(turns) == start:
        raise ValueError(f"turn {turn} goes on from turn {kept}, which does not come before it")


def known(path: Sequence[Turn], turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns of a chain, and those that it was told of in summaries."""
    ids = {turn.id for turn in turns}.union(*(turn.sent.carryover for turn in epoch(turns)))
    return tuple(turn for turn in path if turn.id in ids)


def untold(path: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns on side branches that the conversation since its last restart has not been told about."""
    turns = epoch(chain(path))
    told = {name for turn in turns for name in turn.sent.carryover}
    since = path.index(turns[0]) if turns else 0
    return tuple(turn for turn in path[since:] if turn.sent.side and turn.id not in told)


def epoch(path: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns since the history was last rewritten, the one that rewrote it included."""
    start = max((i for i, turn in enumerate(path) if turn.sent.route == "restart"), default=0)
    return tuple(path[start:])


def held_versions(turns: Sequence[Turn]) -> dict[str, str | None]:
    """The version of each file that the model holds after the turns of one epoch."""
    return {path: held.sha256 for path, held in holdings(turns).items()}


def holdings(turns: Sequence[Turn]) -> dict[str, Holding]:
    """What the model holds of each file after the turns of one epoch.

    After an edit that could not be used, or was matched loosely, nobody knows for sure what the model believes:
    such files are not held.
    """
    held: dict[str, Holding] = {}
    for turn in turns:
        held.update({ref.path: Holding(ref.sha256, turn.id, "rewritten history") for ref in turn.sent.carried})
        for file in turn.sent.files:
            if file.source != "synchronized" or file.path not in held:
                held[file.path] = Holding(file.sha256, turn.id, file.source)
            held[file.path] = held[file.path]._replace(sha256=file.sha256)
        held.update({change.path: Holding(change.after, turn.id, "proposal") for change in turn.proposal})
        for path in _in_doubt(turn):
            held.pop(path, None)
    return held


def _in_doubt(turn: Turn) -> list[str]:
    if turn.status == "unusable":
        return [file.path for file in turn.sent.files]
    return [change.path for change in turn.proposal if change.tier != "exact"]


def held_context(turns: Sequence[Turn]) -> str | None:
    """The hash of the secondary context that the model holds after the turns of one epoch."""
    return next((turn.sent.context for turn in reversed(turns) if turn.sent.context is not None), None)


def held_media(turns: Sequence[Turn]) -> dict[str, str]:
    """The images and PDFs that the model holds after the turns of one epoch: by hash, the turn that sent them."""
    return {ref.sha256: turn.id for turn in turns for ref in turn.sent.media}


def pending_changes(session: Session) -> dict[str, FileChange]:
    """What is proposed and neither applied nor dropped: the newest proposal per file, oldest file first.

    A proposal that leads back to the file on disk leaves nothing pending.
    """
    pending: dict[str, FileChange] = {}
    for entry in session.journal:
        if isinstance(entry, Change):
            for change in entry.files:
                _settle(pending, entry, change)
            continue
        for change in entry.proposal:
            if change.after == change.before:
                pending.pop(change.path, None)
            else:
                pending[change.path] = change
    return pending


def _settle(pending: dict[str, FileChange], entry: Change, change: FileChange) -> None:
    """What a change of one file does to the proposal it came from; the rest of a partial apply stays pending."""
    waiting = pending.get(change.path)
    if waiting is None or waiting.turn != change.turn:
        return
    whole = entry.dropped or not change.partial
    if entry.kind == "revised":
        pending[change.path] = change
    elif entry.kind in ("discarded", "stale") or (entry.kind == "applied" and whole):
        del pending[change.path]
    elif entry.kind in ("applied", "redone") and waiting.before == change.before:
        pending[change.path] = replace(waiting, before=change.after)
        if waiting.after == change.after:
            del pending[change.path]
    elif entry.kind == "undone" and waiting.before == change.after:
        pending[change.path] = replace(waiting, before=change.before)


def moved_versions(session: Session) -> set[str]:
    """The file versions that were written, or gave way, when changes were applied, undone and redone."""
    return {
        version
        for entry in session.journal
        if isinstance(entry, Change) and entry.kind in ("applied", "undone", "redone")
        for file in entry.files
        for version in (file.before, file.after)
        if version is not None
    }


def undo_stack(session: Session) -> UndoStack:
    undo: list[Change] = []
    redo: list[Change] = []
    for entry in session.journal:
        if not isinstance(entry, Change):
            continue
        if entry.kind == "applied":
            undo.append(entry)
            redo.clear()
        elif entry.kind == "undone":
            redo.append(undo.pop())
        elif entry.kind == "redone":
            undo.append(redo.pop())
    return UndoStack(tuple(undo), tuple(redo))


def outcomes(session: Session) -> dict[tuple[str, str], OutcomeKind]:
    """What became of each proposed file, by the proposing turn and the path; the latest word counts.

    A revised proposal is still one; that it is not just the model's own is said when it is applied.
    """
    return {
        (file.turn, file.path): "partially_applied"
        if file.partial and entry.kind in ("applied", "redone")
        else _OUTCOMES[entry.kind]
        for entry in session.journal
        if isinstance(entry, Change) and entry.kind != "revised"
        for file in entry.files
    }


def outcome_of(
    turn: Turn, became: Mapping[tuple[str, str], OutcomeKind], pending: Mapping[str, FileChange]
) -> str | None:
    """What became of a turn's proposal, in words; `became` and `pending` are those of its session."""
    kinds = {
        became.get((turn.id, change.path))
        or ("proposed" if (waiting := pending.get(change.path)) and waiting.turn == turn.id else "replaced")
        for change in turn.proposal
    }
    return ", ".join(sorted(kinds)) or None


def outcomes_to_tell(session: Session, path: Sequence[Turn], heard: Sequence[Turn]) -> tuple[Outcome, ...]:
    """The outcomes of proposals on `path` that differ from what was last told about them in the turns `heard`."""
    told = {(outcome.turn, outcome.path): outcome.outcome for turn in heard for outcome in turn.sent.outcomes}
    became = outcomes(session)
    return tuple(
        Outcome(turn=turn.id, path=change.path, proposal=change.after, outcome=became[key])
        for turn in path
        for change in turn.proposal
        if (key := (turn.id, change.path)) in became and told.get(key) != became[key]
    )


def encodings(session: Session) -> dict[str, str]:
    """The encoding of every version that was sent, proposed or chosen, by its hash; the latest word counts."""
    named: dict[str, str] = {}
    for entry in session.journal:
        for file in entry.sent.files if isinstance(entry, Turn) else ():
            if file.sha256:
                named[file.sha256] = file.encoding
        for change in entry.proposal if isinstance(entry, Turn) else entry.files:
            if change.after:
                named[change.after] = change.encoding
    return named


def sticky_targets(path: Sequence[Turn]) -> tuple[str, ...]:
    """The files a follow-up is about when it names none: those of the turn before."""
    return tuple(file.path for file in path[-1].sent.files) if path else ()
