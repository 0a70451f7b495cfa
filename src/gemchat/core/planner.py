"""Decides what a turn sends: continue or restart, and for each file nothing, a diff or its text - and why.

`plan` is a pure function: file texts come through a lookup by hash, and the same journal, wish and texts always
give the same messages. Sending them and recording the turn is somebody else's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gemchat.core import history
from gemchat.core.contents import (
    Delta,
    HistoryFile,
    HistoryTurn,
    Target,
    active_turns,
    build_multi_turn_contents,
    lift,
    message,
    proposal_is_active,
    to_json,
    user_payload,
)
from gemchat.core.diff import count, parsed, unified
from gemchat.core.model import (
    Backend,
    FileRef,
    Message,
    Mode,
    NamedText,
    Outcome,
    Route,
    SentFile,
    Session,
    Source,
    Turn,
    Value,
)
from gemchat.core.proposals import FailedEdit

FIRST_TURN = "first turn"
RECENT_TURNS = 8
SHORT_EXPLANATION = 200  # characters kept of an explanation older than the recent turns

TextOf: TypeAlias = Callable[[str], str | None]


class Wish(Value, frozen=True):
    """What the user wants of the next turn. `targets` are working versions; `restart` forces one, saying why.

    `service` stands for whom it goes to and as whom, None where that is not known.
    `failed` are the edits of the turn before that are asked for again.
    """

    mode: Mode
    prompt: str
    model: str
    backend: Backend
    targets: tuple[FileRef, ...] = ()
    context: tuple[NamedText, ...] = ()
    attachments: tuple[NamedText, ...] = ()
    failed: tuple[FailedEdit, ...] = ()
    restart: str = ""
    service: str | None = None


class Plan(Value, frozen=True):
    """The decision. `messages` are what it adds to the conversation, `carried` what a rewritten history shows."""

    route: Route
    reason: str
    files: tuple[SentFile, ...]
    messages: tuple[Message, ...]
    outcomes: tuple[Outcome, ...] = ()
    carried: tuple[FileRef, ...] = ()
    context: str | None = None

    @property
    def versions(self) -> tuple[FileRef, ...]:
        """The targets as the model then has them."""
        return tuple(FileRef(path=file.path, sha256=file.sha256) for file in self.files)


class _Choice(NamedTuple):
    sent: SentFile
    target: Target


def plan(session: Session, wish: Wish, text_of: TextOf) -> Plan:
    """`text_of` gives the model's text of a version by its hash, None where it is not stored."""
    path = history.current_path(session)
    reason = wish.restart or _no_chain(path, wish)
    return _restart(session, path, wish, text_of, reason) if reason else _continue(session, path, wish, text_of)


def _no_chain(path: Sequence[Turn], wish: Wish) -> str:
    """Why there is nothing to continue, or the empty string."""
    if not path:
        return FIRST_TURN
    head = path[-1]
    if head.backend != wish.backend:
        return f"the conversation moves to the {wish.backend} backend"
    if head.model != wish.model:
        return f"the model changes from {head.model} to {wish.model}"
    if head.remote.detached or not (head.remote.interaction or head.remote.content):
        return "turns from two terminals are joined"
    if head.remote.service and wish.service and head.remote.service != wish.service:
        return "the API key or the address of the service changed"
    return ""


def _continue(session: Session, path: Sequence[Turn], wish: Wish, text_of: TextOf) -> Plan:
    turns = history.epoch(path)
    held = history.held_versions(turns)
    mentioned = {file.path for turn in turns for file in turn.sent.files}
    choices = [_choose(ref, held, ref.path in mentioned, text_of) for ref in wish.targets]
    outcomes = history.outcomes_to_tell(session, path)
    context = _changed_context(wish, history.held_context(turns))
    payload = user_payload(wish.mode, wish.prompt, _targets(choices), _extra(wish, context, outcomes))
    newest = lift(Message(role="user", parts=(to_json(payload),)))
    return Plan(
        route="continue",
        reason="the model remembers the conversation",
        files=tuple(choice.sent for choice in choices),
        messages=(newest,),
        outcomes=outcomes,
        context=context,
    )


def _restart(session: Session, path: Sequence[Turn], wish: Wish, text_of: TextOf, reason: str) -> Plan:
    past = _past(session, path, {ref.path for ref in wish.targets}, text_of)
    shown = _shown_versions(past)
    choices = [_choose_at_restart(ref, shown, bool(path), text_of) for ref in wish.targets]
    outcomes = history.outcomes_to_tell(session, path)
    context = _changed_context(wish, None)
    contents = build_multi_turn_contents(
        past,
        mode=wish.mode,
        prompt=wish.prompt,
        files=_targets(choices),
        extra=_extra(wish, context, outcomes),
    )
    resent = {choice.sent.path for choice in choices if choice.sent.source != "synchronized"}
    return Plan(
        route="restart",
        reason=reason,
        files=tuple(choice.sent for choice in choices),
        messages=tuple(lift(message(content)) for content in contents),
        outcomes=outcomes,
        carried=tuple(FileRef(path=p, sha256=sha) for p, sha in shown.items() if p not in resent),
        context=context,
    )


def _choose(ref: FileRef, held: Mapping[str, str | None], mentioned: bool, text_of: TextOf) -> _Choice:
    """How a continued conversation tells the model about one target."""
    if ref.sha256 is None:
        return _absent(ref)
    if ref.path not in held:
        unknown = "the last edit left its text in doubt" if mentioned else "new to this conversation"
        return _full(ref, unknown, text_of)
    before = held[ref.path]
    if before == ref.sha256:
        return _synchronized(ref, "unchanged since the model last saw it")
    old, new = None if before is None else text_of(before), text_of(ref.sha256)
    if old is None or before is None or new is None:
        return _full(ref, "the version the model knows is not at hand", text_of)
    if old == new:
        return _synchronized(ref, "only line ends or the byte order mark changed")
    return _delta_or_full(ref, before, old, new, text_of)


def _delta_or_full(ref: FileRef, before: str, old: str, new: str, text_of: TextOf) -> _Choice:
    diff = unified(old, new, old_name=ref.path, new_name=ref.path)
    added, removed = count(parsed(diff))
    if 2 * len(diff) >= len(new):
        return _full(ref, f"changed +{added} -{removed}, too much for a diff", text_of)
    delta = Delta(before=before, after=ref.sha256 or "", diff=diff)
    target = Target(path=ref.path, delta=delta, sha256=ref.sha256)
    return _Choice(_sent(ref, "delta", f"changed +{added} -{removed}"), target)


def _choose_at_restart(ref: FileRef, shown: Mapping[str, str], rewritten: bool, text_of: TextOf) -> _Choice:
    if ref.sha256 is None:
        return _absent(ref)
    if shown.get(ref.path) == ref.sha256:
        return _synchronized(ref, "carried in the rewritten history")
    return _full(ref, "differs from the rewritten history" if rewritten else "new to this conversation", text_of)


def _absent(ref: FileRef) -> _Choice:
    return _Choice(_sent(ref, "absent", "the file does not exist yet"), Target(path=ref.path, absent=True))


def _synchronized(ref: FileRef, reason: str) -> _Choice:
    target = Target(path=ref.path, synchronized=True, sha256=ref.sha256)
    return _Choice(_sent(ref, "synchronized", reason), target)


def _full(ref: FileRef, reason: str, text_of: TextOf) -> _Choice:
    text = None if ref.sha256 is None else text_of(ref.sha256)
    assert text is not None, "the working text of a target is always stored"
    return _Choice(_sent(ref, "full", reason), Target(path=ref.path, text=text, sha256=ref.sha256))


def _sent(ref: FileRef, source: Source, reason: str) -> SentFile:
    return SentFile(path=ref.path, sha256=ref.sha256, source=source, reason=reason)


def _targets(choices: Sequence[_Choice]) -> list[Target]:
    return [choice.target for choice in choices] or [Target()]


def _past(session: Session, path: Sequence[Turn], targets: set[str], text_of: TextOf) -> list[HistoryTurn]:
    """The turns as the builder takes them; the texts of files long out of sight are left behind."""
    recent = path[-RECENT_TURNS:]
    recent_ids = {turn.id for turn in recent}
    wanted = targets | {file.path for turn in recent for file in turn.sent.files}
    became = history.outcomes(session)

    def text(file_path: str, sha256: str | None) -> str | None:
        return text_of(sha256) if sha256 is not None and file_path in wanted else None

    def file(turn: Turn, sent: SentFile) -> HistoryFile:
        after = next((change.after for change in turn.proposal if change.path == sent.path), None)
        return HistoryFile(
            path=sent.path,
            base_source=text(sent.path, sent.sha256),
            base_sha256=sent.sha256,
            proposal_source=text(sent.path, after),
            proposal_sha256=after,
            outcome_status=became.get((turn.id, sent.path)),
        )

    return [
        HistoryTurn(
            prompt=turn.prompt,
            response=turn.explanation if turn.id in recent_ids else turn.explanation[:SHORT_EXPLANATION],
            mode=turn.mode,
            files=tuple(file(turn, sent) for sent in turn.sent.files),
        )
        for turn in path
    ]


def _shown_versions(past: Sequence[HistoryTurn]) -> dict[str, str]:
    """The version of each file whose text the rewritten history shows when the newest turn does not bring one."""

    def version(path: str | None, index: int) -> str | None:
        turn = past[index]
        file = next(file for file in turn.targets if file.path == path)
        return file.proposal_sha256 if proposal_is_active(turn, file) else file.base_sha256

    versions = {path: version(path, index) for path, index in active_turns(past).items()}
    return {path: sha256 for path, sha256 in versions.items() if path is not None and sha256 is not None}


def context_hash(context: Sequence[NamedText]) -> str:
    listed = to_json([[item.name, item.text] for item in context])
    return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()


def _changed_context(wish: Wish, held: str | None) -> str | None:
    """The hash of the secondary context if it must be sent: it differs from what is held."""
    now = context_hash(wish.context)
    return None if now == (held or context_hash(())) else now


def _extra(wish: Wish, context: str | None, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if context:
        extra["secondaryContext"] = [{"path": item.name, "text": item.text} for item in wish.context]
        extra["secondaryContextHash"] = context
    if outcomes:
        extra["outcomes"] = [{"proposalSha256": o.proposal, "outcome": o.outcome} for o in outcomes]
    if wish.attachments:
        extra["attachments"] = [{"name": item.name, "text": item.text} for item in wish.attachments]
    if wish.failed:
        extra["failedEdits"] = [_failed_edit(edit) for edit in wish.failed]
    return extra


def _failed_edit(edit: FailedEdit) -> dict[str, str]:
    fields = {"path": edit.path, "search": edit.search, "reason": edit.reason, "nearestLines": edit.nearest}
    return {name: text for name, text in fields.items() if text}
