"""One exchange with the model: read the files, plan, send, and record what came of it.

The user's files are only read here. A turn is recorded as complete only if its whole answer arrived; what was
received of any other is kept as incomplete, outside the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from gemchat.core import history, proposals
from gemchat.core.economics import estimate_tokens
from gemchat.core.instruction import SYSTEM
from gemchat.core.model import (
    Backend,
    FileChange,
    FileRef,
    Message,
    Mode,
    Remote,
    Reply,
    ReplyFormat,
    Request,
    Sent,
    Session,
    Transport,
    Turn,
    Value,
)
from gemchat.core.planner import NamedText, Plan, Wish, plan
from gemchat.core.textfile import TextFile, decode
from gemchat.errors import (
    ChainLost,
    FileMissing,
    GemchatError,
    NoUsableReply,
    ProposalRejected,
    ReplyBlocked,
    SessionCorrupt,
    Unavailable,
    UsageError,
)
from gemchat.project import Project

CHAIN_LOST = "the service no longer knows the conversation"


class Ask(Value, frozen=True):
    """What the user asked for. `paths` are project paths; none means the files of the turn before."""

    mode: Mode
    prompt: str
    model: str
    backend: Backend
    paths: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    attachments: tuple[NamedText, ...] = ()
    reply_format: ReplyFormat | None = None
    thinking: str | None = None
    stream: bool = True
    restart: str = ""


class Prepared(Value, frozen=True):
    """A turn that is ready to be sent: what was decided, and the state of the files it was decided on."""

    session: Session
    ask: Ask
    plan: Plan
    request: Request
    disk: dict[str, str | None]
    working: dict[str, TextFile | None]
    stale: tuple[FileChange, ...]

    @property
    def texts(self) -> list[str]:
        return [part for message in self.request.messages for part in message.parts]

    @property
    def bytes(self) -> int:
        """The size of all texts of the request, in UTF-8."""
        return sum(len(text.encode("utf-8", "replace")) for text in self.texts)

    @property
    def tokens(self) -> int:
        """An estimate for what the request itself carries, not for what the service remembers."""
        return estimate_tokens(self.request.system) + sum(map(estimate_tokens, self.texts))


@dataclass(frozen=True)
class Chat:
    """`connect` is called when something is about to be sent, so that preparing needs no connection."""

    project: Project
    connect: Callable[[], AbstractContextManager[Transport]]
    on_text: Callable[[str], None] = field(default=lambda _: None)

    def prepare(self, ask: Ask) -> Prepared:
        """Reads the files and decides what would be sent. Nothing is sent, nothing but file versions is stored."""
        session = self.project.load()
        paths = ask.paths or history.sticky_targets(history.current_path(session))
        if ask.mode == "edit" and not paths:
            raise UsageError("edit needs a file to work on", 'For example: gemchat edit "add a docstring" app.py')
        disk = {path: self.project.remember(path) for path in paths}
        stale: tuple[FileChange, ...] = ()
        if ask.mode == "edit":
            stale = _stale_changes(session, disk)
            for change in stale:
                self.project.note(f"{change.path} changed on disk; the proposal for its old text is dropped")
            session = self.project.with_change(session, "stale", stale) if stale else session
        working = _working_versions(session, disk)
        self._check_present(ask, working)
        wish = Wish(
            mode=ask.mode,
            prompt=ask.prompt,
            model=ask.model,
            backend=ask.backend,
            targets=tuple(FileRef(path=path, sha256=version) for path, version in working.items()),
            context=tuple(self._context(session, ask)),
            attachments=ask.attachments,
            restart=ask.restart,
        )
        decision = plan(session, wish, self.project.text_of())
        files = {path: decode(self._blob(version)) if version else None for path, version in working.items()}
        request = self._request(session, ask, decision, files)
        return Prepared(session, ask, decision, request, disk, files, stale)

    def send(self, ask: Ask) -> Turn:
        """One turn from question to record. An edit reply that cannot be used is sent back once.

        Raises from the error tree; what had arrived by then is recorded all the same.
        """
        prepared = self.prepare(ask)
        with self.connect() as transport:
            turn = self._exchange(transport, prepared)
            if turn.status == "unusable":
                self.project.note(f"the reply could not be used: {turn.problem}; asking once more")
                repair = replace(ask, prompt=_repair_prompt(ask.prompt, turn.problem), restart="")
                turn = self._exchange(transport, self.prepare(repair))
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
            return self._converse(transport, self.prepare(replace(prepared.ask, restart=CHAIN_LOST)))

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

    def _request(
        self, session: Session, ask: Ask, decision: Plan, files: Mapping[str, TextFile | None]
    ) -> Request:
        reply_format: ReplyFormat = "text"
        if ask.mode == "edit":
            reply_format = ask.reply_format or proposals.choose_format(files)
        request = Request(
            model=ask.model,
            system=SYSTEM,
            messages=decision.messages,
            contents=(None,) * len(decision.messages),
            schema=proposals.schema(reply_format, len(files)),
            thinking=ask.thinking,
            stream=ask.stream,
        )
        if decision.route == "restart":
            return request
        path = history.current_path(session)
        if ask.backend == "interactions":
            return replace(request, previous=path[-1].remote.interaction)
        earlier = [pair for turn in history.epoch(path) for pair in self._said(turn)]
        return replace(
            request,
            messages=(*(message for message, _ in earlier), *request.messages),
            contents=(*(content for _, content in earlier), *request.contents),
        )

    def _said(self, turn: Turn) -> list[tuple[Message, str | None]]:
        """What a turn added to the conversation, word for word, with the model's content as it was received."""
        sent = msgspec.json.decode(self._blob(turn.sent.messages), type=list[Message])
        content = self._blob(turn.remote.content or "").decode()
        return [*((message, None) for message in sent), (Message(role="model", parts=(turn.reply,)), content)]

    def _check_present(self, ask: Ask, working: Mapping[str, str | None]) -> None:
        for path, version in working.items():
            if version is not None:
                continue
            if ask.mode == "ask":
                raise FileMissing(
                    f"there is no file {path}", "Check the name; paths are relative to where you are."
                )
            self.project.workspace.check_creatable(path)

    def _context(self, session: Session, ask: Ask) -> list[NamedText]:
        texts = []
        for path in dict.fromkeys((*session.context, *ask.context)):
            version = self.project.remember(path)
            if version is not None:
                texts.append(NamedText(name=path, text=decode(self._blob(version)).text))
            elif path in ask.context:
                raise FileMissing(f"there is no file {path}", "Name an existing file after --context.")
            else:
                self.project.note(f"the context file {path} is gone and is left out")
        return texts

    def _stored(self, data: bytes) -> str:
        return self.project.store.blobs.put(data)

    def _blob(self, version: str) -> bytes:
        data = self.project.store.blobs.get(version)
        if data is None:
            raise SessionCorrupt(
                f"part {version[:12]} of the conversation is missing or damaged", "Continue with --restart."
            )
        return data


def _working_versions(session: Session, disk: Mapping[str, str | None]) -> dict[str, str | None]:
    """A pending text is the working text of its file while the file is still what it was proposed for."""
    pending = history.pending_changes(session)
    return {
        path: pending[path].after if path in pending and pending[path].before == version else version
        for path, version in disk.items()
    }


def _stale_changes(session: Session, disk: Mapping[str, str | None]) -> tuple[FileChange, ...]:
    """Proposals for a version of their file that is not on disk any more."""
    pending = history.pending_changes(session)
    return tuple(
        pending[path] for path, version in disk.items() if path in pending and pending[path].before != version
    )


def _repair_prompt(prompt: str, problem: str) -> str:
    return f"{prompt}\n\nYour reply to this could not be used: {problem}. None of it was applied; here is the text again."
