"""Decides what a turn sends: from where it goes on, and for each file nothing, a diff or its text - and why.

`plan` is a pure function: file texts come through a lookup by hash, and the same journal, wish, texts, policy and
time always give the same messages. Sending them and recording the turn is somebody else's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.chain import SYSTEM_TOKENS, counted_tokens, held_chain
from gemchat.core.contents import lifted, multi_turn_payloads, to_json, user_payload
from gemchat.core.economics import Policy, Trimmed, compare, estimate_tokens, fits_no_model, trimming
from gemchat.core.media import listed, media_of, message_tokens, unheld
from gemchat.core.model import (
    FIRST_TURN,
    Backend,
    Comparison,
    FileRef,
    MediaRef,
    Message,
    Mode,
    NamedText,
    Outcome,
    Route,
    SentFile,
    Session,
    Turn,
    Value,
)
from gemchat.core.proposals import FailedEdit
from gemchat.core.rewriting import RECENT_TURNS, SHOWN_TURNS, left_out, past, shown_versions, summaries
from gemchat.core.sources import TextOf, choose, choose_at_restart, targets_of

HEAVY = 4000  # estimated tokens of attachments from which on a turn goes onto a side branch


class Wish(Value, frozen=True):
    """What the user wants of the next turn. `targets` are working versions; `restart` forces one, saying why.

    `media` are the images and PDFs of the context.

    `repairs` says that it asks again for the edits of the turn before, of which `failed` had no place. `service`
    stands for whom it goes to and as whom, None where that is not known.
    """

    mode: Mode
    prompt: str
    model: str
    backend: Backend
    targets: tuple[FileRef, ...] = ()
    context: tuple[NamedText, ...] = ()
    media: tuple[MediaRef, ...] = ()
    attachments: tuple[NamedText, ...] = ()
    repairs: bool = False
    failed: tuple[FailedEdit, ...] = ()
    restart: str = ""
    service: str | None = None


class Plan(Value, frozen=True):
    """The decision. `messages` are what it adds to the conversation, `carried` what a rewritten history shows.

    `follows` are the ids of the turns it continues, oldest first; trimmed, the last of them is also `kept`.
    `comparison` is None where nothing was compared.
    """

    route: Route
    reason: str
    files: tuple[SentFile, ...]
    messages: tuple[Message, ...]
    follows: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    carried: tuple[FileRef, ...] = ()
    context: str | None = None
    side: bool = False
    carryover: tuple[str, ...] = ()
    kept: str | None = None
    comparison: Comparison | None = None

    @property
    def versions(self) -> tuple[FileRef, ...]:
        """The targets as the model then has them."""
        return tuple(FileRef(path=file.path, sha256=file.sha256) for file in self.files)

    @property
    def added(self) -> int:
        """An estimate of the tokens that the messages add to the conversation."""
        return sum(map(message_tokens, self.messages))

    @property
    def media(self) -> tuple[MediaRef, ...]:
        """The images and PDFs whose bytes go out with the messages."""
        return media_of(self.messages)


def plan(session: Session, wish: Wish, text_of: TextOf, policy: Policy, now: float) -> Plan:
    """`text_of` gives the model's text of a version by its hash, None where it is not stored."""
    path = history.current_path(session)
    turns = history.chain(path, beside=wish.repairs)
    shown = RECENT_TURNS if policy.compaction == "always" else SHOWN_TURNS
    reason = wish.restart or _no_chain(path, turns, wish)
    if reason:
        return _restart(session, path, wish, text_of, reason, shown)
    going_on = _continue(session, path, turns, history.untold(path), wish, text_of)
    sources = (text_of(ref.sha256) or "" for ref in wish.targets if ref.sha256)
    if policy.compaction == "never" or (policy.compaction == "auto" and fits_no_model(sources)):
        return going_on
    afresh = _restart(session, path, wish, text_of, "compaction is set to always", shown)
    if policy.compaction == "always":
        return afresh
    if going_on.side:
        return going_on  # what a rewritten history saves later turns would be lost with the branch
    chain = held_chain(history.epoch(turns), policy, now)
    trims = _trims(session, path, turns, wish, text_of)
    trimmed, weight = min(trims, key=lambda trim: trimming(trim[1], chain, policy), default=(going_on, None))
    compared = compare(
        chain,
        payload=going_on.added,
        rewritten=SYSTEM_TOKENS + afresh.added,
        trimmed=weight,
        policy=policy,
    )
    chosen = {"continue": going_on, "trim": trimmed, "restart": afresh}[compared.choice]
    reason = going_on.reason if chosen is going_on else _cheaper(compared, chosen)
    return replace(chosen, reason=reason, comparison=compared)


def _cheaper(compared: Comparison, chosen: Plan) -> str:
    trimmed = f"to go on from turn {chosen.kept} with a summary of what came after"
    shorter = "a rewritten history" if chosen.kept is None else trimmed
    return f"{shorter} costs {compared.saved} % less over {compared.horizon} turns"


def _no_chain(path: Sequence[Turn], turns: Sequence[Turn], wish: Wish) -> str:
    """Why there is nothing to continue, or the empty string."""
    if not path:
        return FIRST_TURN
    if not turns:
        return "the turns before were beside the conversation"
    head = turns[-1]
    if head.backend != wish.backend:
        return f"the conversation moves to the {wish.backend} backend"
    if head.model != wish.model:
        return f"the model changes from {head.model} to {wish.model}"
    if head.remote.detached or not (head.remote.interaction or head.remote.content):
        return "turns from two terminals are joined"
    if head.remote.service and wish.service and head.remote.service != wish.service:
        return "the API key or the address of the service changed"
    return ""


def _continue(
    session: Session,
    path: Sequence[Turn],
    chain: Sequence[Turn],
    untold: Sequence[Turn],
    wish: Wish,
    text_of: TextOf,
) -> Plan:
    """After the turns of a chain, telling in words of those `untold` that are not among them."""
    turns = history.epoch(chain)
    held = history.held_versions(turns)
    mentioned = {file.path for turn in turns for file in turn.sent.files}
    choices = [choose(ref, held, ref.path in mentioned, text_of) for ref in wish.targets]
    outcomes = history.outcomes_to_tell(session, history.known(path, chain), chain)
    context = _changed_context(wish, history.held_context(turns))
    continued = {turn.id for turn in chain}
    beside = [turn for turn in untold if turn.id not in continued]
    fresh = unheld(wish.media, history.held_media(turns)) if context else ()
    extra = _extra(wish, context, fresh, outcomes, summaries(session, beside))
    payload = user_payload(wish.mode, wish.prompt, targets_of(choices), extra)
    newest = replace(lifted("user", payload), media=fresh)
    return Plan(
        route="continue",
        reason="the model remembers the conversation",
        files=tuple(choice.sent for choice in choices),
        messages=(newest,),
        follows=tuple(turn.id for turn in turns),
        outcomes=(*outcomes, *history.outcomes_to_tell(session, beside, chain)),
        context=context,
        side=_is_heavy(wish) or chain[-1].sent.side,
        carryover=tuple(turn.id for turn in beside),
    )


def _trims(
    session: Session, path: Sequence[Turn], chain: Sequence[Turn], wish: Wish, text_of: TextOf
) -> Iterator[tuple[Plan, Trimmed]]:
    """Going on from a turn of which the service counted what is kept; the rest is summed up.

    Those worth a look are the first, which leaves all other files behind, and the newest of those that brought a
    whole text and of those that were trimmed. None if a turn is to be repaired.
    """
    turns = history.epoch(chain)
    whole = max((i for i, turn in enumerate(turns) if _brought_text(turn)), default=0)
    cut = max((i for i, turn in enumerate(turns) if turn.sent.kept and turn.status == "complete"), default=whole)
    for kept in (turns[i] for i in sorted({0, whole, cut}) if i < len(turns) - 1 and not wish.repairs):
        if tokens := counted_tokens(kept):
            after = path[path.index(kept) + 1 :]
            trimmed = _continue(session, path, chain[: chain.index(kept) + 1], after, wish, text_of)
            yield replace(trimmed, kept=kept.id), Trimmed(kept=tokens, summary=trimmed.added)


def _brought_text(turn: Turn) -> bool:
    return turn.status == "complete" and any(file.source == "full" for file in turn.sent.files)


def _restart(
    session: Session, path: Sequence[Turn], wish: Wish, text_of: TextOf, reason: str, shown_turns: int
) -> Plan:
    outcomes = history.outcomes_to_tell(session, path, history.chain(path))
    turns = past(session, path, {ref.path for ref in wish.targets}, outcomes, text_of, shown_turns)
    shown = shown_versions(turns)
    choices = [choose_at_restart(ref, shown, bool(path), text_of) for ref in wish.targets]
    context = _changed_context(wish, None)
    fresh = unheld(wish.media, ())
    payloads = multi_turn_payloads(
        turns,
        mode=wish.mode,
        prompt=wish.prompt,
        targets=targets_of(choices),
        extra=_extra(wish, context, fresh, outcomes, left_out(path)),
    )
    *earlier, newest = (lifted(role, payload) for role, payload in payloads)
    resent = {choice.sent.path for choice in choices if choice.sent.source != "synchronized"}
    return Plan(
        route="restart",
        reason=reason,
        files=tuple(choice.sent for choice in choices),
        messages=(*earlier, replace(newest, media=fresh)),
        outcomes=outcomes,
        carried=tuple(FileRef(path=p, sha256=sha) for p, sha in shown.items() if p not in resent),
        context=context,
        side=_is_heavy(wish),
    )


def _is_heavy(wish: Wish) -> bool:
    return attached_tokens(wish.attachments) > HEAVY


def attached_tokens(attachments: Sequence[NamedText]) -> int:
    return sum(estimate_tokens(item.text) for item in attachments)


def context_hash(context: Sequence[NamedText], media: Sequence[MediaRef] = ()) -> str:
    texts = [[item.name, item.text] for item in context]
    named = to_json([*texts, *([ref.path, ref.mime_type, ref.sha256] for ref in media)])
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()


def _changed_context(wish: Wish, held: str | None) -> str | None:
    """The hash of the secondary context if it must be sent: it differs from what is held."""
    now = context_hash(wish.context, wish.media)
    return None if now == (held or context_hash(())) else now


def _extra(
    wish: Wish,
    context: str | None,
    fresh: Sequence[MediaRef],
    outcomes: Sequence[Outcome],
    carryover: Sequence[str],
) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if context:
        texts = [{"path": item.name, "text": item.text} for item in wish.context]
        extra["secondaryContext"] = [*texts, *listed(wish.media, fresh)]
        extra["secondaryContextHash"] = context
    if outcomes:
        extra["outcomes"] = [{"proposalSha256": o.proposal, "outcome": o.outcome} for o in outcomes]
    if wish.attachments:
        extra["attachments"] = [{"name": item.name, "text": item.text} for item in wish.attachments]
    if carryover:
        extra["carryover"] = list(carryover)
    if wish.failed:
        extra["failedEdits"] = [_failed_edit(edit) for edit in wish.failed]
    return extra


def _failed_edit(edit: FailedEdit) -> dict[str, str]:
    fields = {"path": edit.path, "search": edit.search, "reason": edit.reason, "nearestLines": edit.nearest}
    return {name: text for name, text in fields.items() if text}
