"""One exchange with the model: send what was prepared, and record what came of it.

The user's files are only read here. A turn is recorded as complete only if its whole answer arrived; what was
received of any other is kept as incomplete, outside the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from gemchat.core import proposals
from gemchat.core.model import (
    FileChange,
    Remote,
    Reply,
    Sent,
    Transport,
    Turn,
)
from gemchat.errors import (
    ChainLost,
    GemchatError,
    NoUsableReply,
    ProposalRejected,
    ReplyBlocked,
    Unavailable,
)
from gemchat.prepare import Ask, Prepared, prepare
from gemchat.project import Project

CHAIN_LOST = "the service no longer knows the conversation"


@dataclass(frozen=True)
class Chat:
    """`connect` is called only when something is about to be sent; `on_text` gets an answer as it arrives."""

    project: Project
    connect: Callable[[], AbstractContextManager[Transport]]
    on_text: Callable[[str], None] = field(default=lambda _: None)

    def send(self, ask: Ask) -> Turn:
        """One turn from question to record. An edit reply that cannot be used is sent back once.

        Raises from the error tree; what had arrived by then is recorded all the same.
        """
        prepared = prepare(self.project, ask)
        with self.connect() as transport:
            turn = self._exchange(transport, prepared)
            if turn.status == "unusable":
                self.project.note(f"the reply could not be used: {turn.problem}; asking once more")
                repair = replace(ask, prompt=_repair_prompt(ask.prompt, turn.problem), restart="")
                turn = self._exchange(transport, prepare(self.project, repair))
        if turn.status == "unusable":
            raise ProposalRejected(f"the reply could not be used: {turn.problem}", "Nothing was changed.")
        if turn.mode == "edit" and not turn.proposal:
            raise ProposalRejected(f"the model proposes no change: {turn.explanation or 'it gave no reason'}")
        return turn

    def _exchange(self, transport: Transport, prepared: Prepared) -> Turn:
        try:
            return self._converse(transport, prepared)
        except ChainLost:
            if prepared.plan.route == "restart":
                raise
            self.project.note(f"{CHAIN_LOST}; it is sent again from the local history")
            return self._converse(transport, prepare(self.project, replace(prepared.ask, restart=CHAIN_LOST)))

    def _converse(self, transport: Transport, prepared: Prepared) -> Turn:
        arrived: list[str] = []
        try:
            for event in transport.send(prepared.request):
                if isinstance(event, Reply):
                    return self._record(prepared, self._complete(prepared, event))
                arrived.append(event)
                self.on_text(event)
        except BaseException as error:
            if arrived or isinstance(error, NoUsableReply | ReplyBlocked):
                problem = error.message if isinstance(error, GemchatError) else "interrupted"
                self._record(prepared, self._incomplete(prepared, "".join(arrived), problem))
            raise
        raise Unavailable("the service ended the answer without completing it")

    def _complete(self, prepared: Prepared, reply: Reply) -> Turn:
        content = None if reply.content is None else self._stored(reply.content.encode())
        turn = replace(
            self._incomplete(prepared, reply.text, ""),
            status="complete",
            usage=reply.usage,
            remote=Remote(interaction=reply.interaction, content=content),
        )
        return self._with_proposal(prepared, turn) if turn.mode == "edit" else turn

    def _with_proposal(self, prepared: Prepared, turn: Turn) -> Turn:
        try:
            reply = proposals.parse(turn.reply)
            turn = replace(turn, explanation=reply.explanation)
            changed = proposals.resolve(reply, prepared.working)
        except ProposalRejected as error:
            return replace(turn, status="unusable", problem=error.message)
        proposal = [
            FileChange(path=path, before=prepared.disk[path], after=self._stored(data), turn="")
            for path, data in changed.items()
        ]
        return replace(turn, proposal=tuple(proposal))

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
                outcomes=decision.outcomes,
                attachments=tuple(attachment.name for attachment in ask.attachments),
            ),
            reply=text,
            explanation=text if ask.mode == "ask" else "",
            status="incomplete",
            problem=problem,
        )

    def _record(self, prepared: Prepared, turn: Turn) -> Turn:
        return self.project.record(turn, stale=prepared.stale, context=prepared.ask.context)

    def _stored(self, data: bytes) -> str:
        return self.project.store.blobs.put(data)


def _repair_prompt(prompt: str, problem: str) -> str:
    return (
        f"{prompt}\n\nYour reply to this could not be used: {problem}. None of it counts; here is the text again."
    )
