"""One exchange with the model: send what was prepared, and record what came of it.

The user's files are only read here. A turn is recorded as complete only if its whole answer arrived; what was
received of any other is kept as incomplete, outside the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from gemchat.core import guards, proposals
from gemchat.core.model import (
    Event,
    FileChange,
    FileRef,
    Remote,
    Reply,
    Sent,
    Thought,
    Transport,
    Turn,
)
from gemchat.core.planner import attached_tokens
from gemchat.core.proposals import FailedEdit
from gemchat.core.textfile import decode
from gemchat.errors import (
    ChainLost,
    GemchatError,
    NoUsableReply,
    ProposalRejected,
    ReplyBlocked,
    Unavailable,
)
from gemchat.prepare import Ask, Prepared, Repair, prepare
from gemchat.project import Project

CHAIN_LOST = "the service no longer knows the conversation"


class _Received(NamedTuple):
    """A recorded turn, and what to ask for again if its reply could not be used."""

    turn: Turn
    repair: Repair | None


@dataclass(frozen=True)
class Chat:
    """`connect` is called only when something is about to be sent; `on_text` gets an answer as it arrives.

    `progress` is told in a few words what is waited for while nothing arrives.
    """

    project: Project
    connect: Callable[[], AbstractContextManager[Transport]]
    on_text: Callable[[str], None] = field(default=lambda _: None)
    progress: Callable[[str], None] = field(default=lambda _: None)

    def send(self, ask: Ask) -> Turn:
        """One turn from question to record. An edit reply that cannot be used is sent back once.

        Raises from the error tree; what had arrived by then is recorded all the same.
        """
        prepared = prepare(self.project, ask)
        with self.connect() as transport:
            turn, repair = self._exchange(transport, prepared)
            if repair is not None:
                self.project.note(f"the reply could not be used: {turn.problem}; asking once more")
                prompt = _repair_prompt(ask.prompt, turn.problem, repair)
                again = replace(ask, prompt=prompt, restart="", repair=repair)
                turn, repair = self._exchange(transport, prepare(self.project, again))
        if repair is not None:
            raise ProposalRejected(
                f"the reply could not be used: {turn.problem}",
                f"Nothing was changed. Read the reply: gemchat show {turn.id}",
            )
        if turn.mode == "edit" and not turn.proposal:
            raise ProposalRejected(f"the model proposes no change: {turn.explanation or 'it gave no reason'}")
        return turn

    def _exchange(self, transport: Transport, prepared: Prepared) -> _Received:
        try:
            return self._converse(transport, prepared)
        except ChainLost:
            if prepared.plan.route == "restart":
                raise
            self.project.note(f"{CHAIN_LOST}; it is sent again from the local history")
            return self._converse(transport, prepare(self.project, replace(prepared.ask, restart=CHAIN_LOST)))

    def _converse(self, transport: Transport, prepared: Prepared) -> _Received:
        arrived: list[str] = []
        self.progress(f"about {prepared.tokens:,} tokens sent, waiting")
        try:
            turn, repair = self._complete(prepared, self._receive(transport.send(prepared.request), arrived))
        except BaseException as error:
            if arrived or isinstance(error, NoUsableReply | ReplyBlocked):
                self._keep(prepared, "".join(arrived), error)
            raise
        return _Received(self._record(prepared, turn), repair)

    def _receive(self, events: Iterator[Event], arrived: list[str]) -> Reply:
        for event in events:
            if isinstance(event, Reply):
                return event
            if isinstance(event, Thought):
                self.progress("thinking")
                continue
            arrived.append(event)
            self.on_text(event)
        raise Unavailable("the service ended the answer without completing it")

    def _keep(self, prepared: Prepared, text: str, error: BaseException) -> None:
        problem = error.message if isinstance(error, GemchatError) else "interrupted"
        turn = self._record(prepared, self._incomplete(prepared, text, problem))
        if text and isinstance(error, Unavailable):
            self.project.note(f"the part of the answer that arrived is kept: gemchat show {turn.id}")

    def _complete(self, prepared: Prepared, reply: Reply) -> _Received:
        content = None if reply.content is None else self._stored(reply.content.encode())
        turn = replace(
            self._incomplete(prepared, reply.text, ""),
            status="complete",
            usage=reply.usage,
            remote=Remote(interaction=reply.interaction, content=content, service=prepared.ask.service),
        )
        return self._with_proposal(prepared, turn) if turn.mode == "edit" else _Received(turn, None)

    def _with_proposal(self, prepared: Prepared, turn: Turn) -> _Received:
        try:
            reply = proposals.parse(turn.reply)
        except ProposalRejected as error:
            repair = Repair(texts=prepared.plan.versions, failed=())
            return _Received(replace(turn, status="unusable", problem=error.message), repair)
        turn = replace(turn, explanation=reply.explanation)
        found = proposals.resolve(
            reply,
            prepared.working,
            may_shrink=prepared.ask.repair is not None,
            encodings=prepared.encodings,
        )
        texts = {ref.path: ref.sha256 for ref in prepared.plan.versions}
        texts |= {path: self._stored(data) for path, data in found.files.items()}
        unmended = _unmended(prepared.ask.repair, found)
        if unmended:
            problem = f"the model did not send the failed edits of {unmended} again"
            return _Received(replace(turn, status="unusable", problem=problem), prepared.ask.repair)
        if found.failed:
            repair = Repair(texts=tuple(FileRef(path=p, sha256=v) for p, v in texts.items()), failed=found.failed)
            return _Received(replace(turn, status="unusable", problem=_summary(found.failed)), repair)
        repaired = texts if prepared.ask.repair else {}
        proposal = tuple(
            FileChange(
                path=path,
                before=before,
                after=texts[path],
                turn="",
                tier=found.tiers.get(path, "exact"),
                encoding=prepared.file(path).encoding,
            )
            for path, before in prepared.disk.items()
            if path in found.files or repaired.get(path, before) != before
        )
        return _Received(replace(turn, proposal=proposal, warnings=_warnings(prepared, found)), None)

    def _incomplete(self, prepared: Prepared, text: str, problem: str) -> Turn:
        ask, decision = prepared.ask, prepared.plan
        return Turn(
            id="",
            parent=prepared.session.head,
            at=self.project.clock(),
            mode=ask.mode,
            prompt=ask.prompt,
            model=ask.model,
            backend=ask.backend,
            sent=Sent(
                route=decision.route,
                reason=decision.reason,
                files=decision.files,
                messages=self._stored(msgspec.json.encode(decision.messages)),
                bytes=prepared.bytes,
                tokens=prepared.tokens,
                carried=decision.carried,
                context=decision.context,
                media=decision.media,
                outcomes=decision.outcomes,
                attachments=tuple(text.name for text in prepared.attachments),
                added=decision.added,
                attached=attached_tokens(prepared.attachments),
                side=decision.side,
                carryover=decision.carryover,
                kept=decision.kept,
                comparison=decision.comparison,
            ),
            reply=text,
            explanation=text if ask.mode == "ask" else "",
            status="incomplete",
            problem=problem,
        )

    def _record(self, prepared: Prepared, turn: Turn) -> Turn:
        ask = prepared.ask
        named = {path: ask.encoding for path in (*prepared.disk, *ask.context) if ask.encoding}
        return self.project.record(
            turn, stale=prepared.stale, context=ask.context, encodings=named, outside=ask.outside
        )

    def _stored(self, data: bytes) -> str:
        return self.project.store.blobs.put(data)


def _summary(failed: Sequence[FailedEdit]) -> str:
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{failed[0].reason}{more}"


def _unmended(repair: Repair | None, found: proposals.Resolution) -> str:
    """A file whose failed edits were asked for again in vain, or the empty string."""
    asked = {failed.path for failed in repair.failed} & {ref.path for ref in repair.texts} if repair else set()
    heard = {*found.files, *(failed.path for failed in found.failed)}
    return min(asked - heard, default="")


def _warnings(prepared: Prepared, found: proposals.Resolution) -> tuple[str, ...]:
    said = []
    for path, data in found.files.items():
        base = prepared.working[path]
        text = decode(data, prepared.file(path).encoding).text
        broken = guards.broken_syntax(path, base.text if base else None, text)
        said += [f"{path} would not parse any more: {broken}"] if broken else []
    return tuple(said)


def _repair_prompt(prompt: str, problem: str, repair: Repair) -> str:
    said = f"Your reply to this could not be used: {problem}. None of it counts; here is the text again"
    if repair.failed:
        said = "Some of your edits could not be used, see failedEdits; the others are in the text as you see it"
    return f"{prompt}\n\n{said}."
