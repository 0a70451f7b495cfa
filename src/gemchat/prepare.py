"""A turn before it is sent: reads the files, lets the planner decide, and builds the request.

Nothing is sent here and nothing written but file versions into the blob store.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    NamedText,
    ReplyFormat,
    Request,
    Session,
    Turn,
    Value,
)
from gemchat.core.planner import Plan, Wish, plan
from gemchat.core.proposals import FailedEdit
from gemchat.core.textfile import TextFile, decode
from gemchat.errors import FileMissing, SessionCorrupt, UsageError, WorkspaceError
from gemchat.project import Project


class Repair(Value, frozen=True):
    """What an edit reply left to be done: `texts` are the targets after its good edits, `failed` the others."""

    texts: tuple[FileRef, ...]
    failed: tuple[FailedEdit, ...]


class Ask(Value, frozen=True):
    """What the user asked for. `paths` are project paths; none means the files of the turn before.

    `service` stands for the address and the key that will be used, without revealing the key.
    """

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
    service: str | None = None
    repair: Repair | None = None


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


def prepare(project: Project, ask: Ask) -> Prepared:
    session = project.load()
    paths = ask.paths or history.sticky_targets(history.current_path(session))
    if ask.mode == "edit" and not paths:
        raise UsageError("edit needs a file to work on", 'For example: gemchat edit "add a docstring" app.py')
    project.workspace.check_distinct(paths)
    disk = {path: project.remember(path) for path in paths}
    stale = _stale_changes(session, disk) if ask.mode == "edit" else ()
    for change in stale:
        project.note(f"{change.path} changed on disk; the proposal for its old text is dropped")
    session = project.with_change(session, "stale", stale) if stale else session
    working = _working_versions(session, disk)
    if ask.repair is not None:
        working |= {ref.path: ref.sha256 for ref in ask.repair.texts}
    _check_present(project, ask, working)
    wish = Wish(
        mode=ask.mode,
        prompt=ask.prompt,
        model=ask.model,
        backend=ask.backend,
        targets=tuple(FileRef(path=path, sha256=version) for path, version in working.items()),
        context=tuple(_context(project, session, ask)),
        attachments=(*session.attached, *ask.attachments),
        failed=ask.repair.failed if ask.repair else (),
        restart=ask.restart,
        service=ask.service,
    )
    files = {path: decode(_blob(project, version)) if version else None for path, version in working.items()}
    decision = plan(session, wish, project.text_of())
    return Prepared(
        session=session,
        ask=ask,
        plan=decision,
        request=_request(project, session, ask, decision, files),
        disk=disk,
        working=files,
        stale=stale,
    )


def _request(
    project: Project, session: Session, ask: Ask, decision: Plan, files: Mapping[str, TextFile | None]
) -> Request:
    request = Request(
        model=ask.model,
        system=SYSTEM,
        messages=decision.messages,
        contents=(None,) * len(decision.messages),
        schema=proposals.schema(_reply_format(ask, files), len(files)),
        thinking=ask.thinking,
        stream=ask.stream,
    )
    path = history.current_path(session)
    if decision.route == "restart":
        return request
    if ask.backend == "interactions":
        return replace(request, previous=path[-1].remote.interaction)
    earlier = [pair for turn in history.epoch(path) for pair in _said(project, turn)]
    return replace(
        request,
        messages=(*(message for message, _ in earlier), *request.messages),
        contents=(*(content for _, content in earlier), *request.contents),
    )


def _reply_format(ask: Ask, files: Mapping[str, TextFile | None]) -> ReplyFormat:
    if ask.mode == "ask":
        return "text"
    return ask.reply_format or proposals.choose_format(files)


def _said(project: Project, turn: Turn) -> list[tuple[Message, str | None]]:
    """What a turn added to the conversation, word for word, with the model's content as it was received."""
    sent = msgspec.json.decode(_blob(project, turn.sent.messages), type=list[Message])
    content = _blob(project, turn.remote.content or "").decode()
    return [*((message, None) for message in sent), (Message(role="model", parts=(turn.reply,)), content)]


def _check_present(project: Project, ask: Ask, working: Mapping[str, str | None]) -> None:
    for path, version in working.items():
        if version is not None:
            continue
        if ask.mode == "ask" and path not in ask.paths:
            continue
        if ask.mode == "ask":
            raise FileMissing(f"there is no file {path}", "Check the name; paths are relative to where you are.")
        project.workspace.check_creatable(path)


def _context(project: Project, session: Session, ask: Ask) -> list[NamedText]:
    texts = []
    for path in dict.fromkeys((*session.context, *ask.context)):
        try:
            version = project.remember(path)
            if version is None:
                raise FileMissing(f"there is no file {path}", "Name an existing file after --context.")
        except WorkspaceError as error:
            if path in ask.context:
                raise
            project.note(f"the context file {path} is left out: {error.message}")
            continue
        texts.append(NamedText(name=path, text=decode(_blob(project, version)).text))
    return texts


def _blob(project: Project, version: str) -> bytes:
    data = project.store.blobs.get(version)
    if data is None:
        raise SessionCorrupt(
            f"part {version[:12]} of the conversation is missing or damaged",
            "Continue with --restart; if a proposal is pending, drop it: gemchat discard",
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
