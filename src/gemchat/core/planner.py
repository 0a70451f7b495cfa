"""Decides what a turn sends: continue or restart, and for each file nothing, a diff or its text - and why.

`plan` is a pure function: file texts come through a lookup by hash, and the same journal, wish, texts, policy and
time always give the same messages. Sending them and recording the turn is somebody else's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.contents import lifted, multi_turn_payloads, to_json, user_payload
from gemchat.core.economics import SCALE, Chain, Policy, compare, estimate_tokens, fits_no_model
from gemchat.core.instruction import SYSTEM
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
from gemchat.core.rewriting import concluded, left_out, past, shown_versions
from gemchat.core.sources import TextOf, choose, choose_at_restart, targets_of

HEAVY = 4000  # estimated tokens of attachments from which on a turn goes onto a side branch
_SYSTEM_TOKENS = estimate_tokens(SYSTEM)


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

    `follows` are the ids of the turns it continues, oldest first; `comparison` is None where nothing was compared.
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
    reason = wish.restart or _no_chain(path, turns, wish)
    if reason:
        return _restart(session, path, wish, text_of, reason)
    going_on = _continue(session, path, turns, wish, text_of)
    sources = (text_of(ref.sha256) or "" for ref in wish.targets if ref.sha256)
    if policy.compaction == "never" or (policy.compaction == "auto" and fits_no_model(sources)):
        return going_on
    afresh = _restart(session, path, wish, text_of, "compaction is set to always")
    if policy.compaction == "always":
        return afresh
    if going_on.side:
        return going_on  # what a rewritten history saves later turns would be lost with the branch
    compared = compare(
        held_chain(history.epoch(turns), policy, now),
        payload=going_on.added,
        rewritten=_SYSTEM_TOKENS + afresh.added,
        policy=policy,
    )
    chosen = replace(afresh, reason=_cheaper(compared)) if compared.restart else going_on
    return replace(chosen, comparison=compared)


def held_chain(turns: Sequence[Turn], policy: Policy, now: float) -> Chain:
    """What the service holds after the turns of one epoch: its own count where it gave one, else the estimate."""
    head = turns[-1]
    sizes = [turn.sent.added + estimate_tokens(turn.reply) for turn in turns]
    estimated = _SYSTEM_TOKENS + sum(sizes)
    counted = head.usage.input + head.usage.output if head.usage.input else estimated
    return Chain(
        tokens=counted,
        warm=now - head.at < policy.cache_ttl,
        caching=not _was_missed(turns, policy),
        growth=_mean(sizes[1:]) or estimate_tokens(head.prompt) + estimate_tokens(head.reply),
        scale=min(max(counted / estimated, SCALE[0]), SCALE[1]),
    )


def _mean(sizes: Sequence[int]) -> int:
    return sum(sizes) // len(sizes) if sizes else 0


def _was_missed(turns: Sequence[Turn], policy: Policy) -> bool:
    """The newest turn could have been served from the cache and was not: do not count on it now."""
    if len(turns) < 2:
        return False
    before, head = turns[-2:]
    prefix = before.usage.input + before.usage.output
    return prefix >= policy.price.floor and head.at - before.at < policy.cache_ttl and not head.usage.cached


def _cheaper(compared: Comparison) -> str:
    return f"a rewritten history costs {compared.saved} % less over {compared.horizon} turns"


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


def _continue(session: Session, path: Sequence[Turn], chain: Sequence[Turn], wish: Wish, text_of: TextOf) -> Plan:
    turns = history.epoch(chain)
    held = history.held_versions(turns)
    mentioned = {file.path for turn in turns for file in turn.sent.files}
    choices = [choose(ref, held, ref.path in mentioned, text_of) for ref in wish.targets]
    outcomes = history.outcomes_to_tell(session, chain, chain)
    context = _changed_context(wish, history.held_context(turns))
    beside = [turn for turn in history.untold(path) if turn not in chain]
    fresh = unheld(wish.media, history.held_media(turns)) if context else ()
    extra = _extra(wish, context, fresh, outcomes, [concluded(turn) for turn in beside])
    payload = user_payload(wish.mode, wish.prompt, targets_of(choices), extra)
    newest = replace(lifted("user", payload), media=fresh)
    return Plan(
        route="continue",
        reason="the model remembers the conversation",
        files=tuple(choice.sent for choice in choices),
        messages=(newest,),
        follows=tuple(turn.id for turn in turns),
        outcomes=outcomes,
        context=context,
        side=_is_heavy(wish) or chain[-1].sent.side,
        carryover=tuple(turn.id for turn in beside),
    )


def _restart(session: Session, path: Sequence[Turn], wish: Wish, text_of: TextOf, reason: str) -> Plan:
    turns = past(session, path, {ref.path for ref in wish.targets}, text_of)
    shown = shown_versions(turns)
    choices = [choose_at_restart(ref, shown, bool(path), text_of) for ref in wish.targets]
    outcomes = history.outcomes_to_tell(session, path, history.chain(path))
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
