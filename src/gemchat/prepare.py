"""A turn before it is sent: reads the files, lets the planner decide, and builds the request.

Nothing is sent here and nothing written but file versions into the blob store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gemchat.context import check_sendable, read_context
from gemchat.core import history, proposals
from gemchat.core.economics import Policy, estimate_tokens
from gemchat.core.folding import fold
from gemchat.core.instruction import SYSTEM
from gemchat.core.media import media_of, message_bytes, message_tokens
from gemchat.core.model import (
    Backend,
    FileChange,
    FileRef,
    MediaRef,
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
from gemchat.core.textfile import UTF_8, TextFile, blank, codec_of, decode
from gemchat.errors import FileMissing, SessionCorrupt, UsageError, WorkspaceError
from gemchat.outgoing import check_secrets, check_size
from gemchat.project import Project, Taken

ATTACH_LIMIT = 200_000  # estimated tokens of one attachment


class Repair(Value, frozen=True):
    """What an edit reply left to be done: `texts` are the targets after its good edits, `failed` the others."""

    texts: tuple[FileRef, ...]
    failed: tuple[FailedEdit, ...]


class Ask(Value, frozen=True):
    """What the user asked for. `paths` are project paths; none means the files of the turn before.

    `encoding` is that of `paths` and `context` from now on; `outside` are those of them that are allowed although
    they are outside the project. `allow_secret` lets credentials leave with this turn. `service` stands for the
    address and the key that will be used, without revealing the key. `drafts` count as pending in this turn. With
    `preview` nothing will leave, so that nothing is refused.
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
    policy: Policy = Policy()
    attach_limit: int = ATTACH_LIMIT
    encoding: str | None = None
    outside: tuple[str, ...] = ()
    allow_secret: bool = False
    drafts: tuple[FileChange, ...] = ()
    preview: bool = False


class Prepared(Value, frozen=True):
    """A turn that is ready to be sent: what was decided, and the state of the files it was decided on.

    `encodings` has those that the user named, by path; `media` are the images and PDFs of the context.
    """

    session: Session
    ask: Ask
    plan: Plan
    request: Request
    disk: dict[str, str | None]
    working: dict[str, TextFile | None]
    stale: tuple[FileChange, ...]
    encodings: dict[str, str]
    attachments: tuple[NamedText, ...]
    media: tuple[MediaRef, ...]

    def file(self, path: str) -> TextFile:
        """A target as it is, or an empty one with the encoding it is to have."""
        return self.working[path] or blank(self.encodings.get(path, UTF_8))

    @property
    def bytes(self) -> int:
        """The size of all texts of the request, in UTF-8, and of its images and PDFs."""
        return sum(map(message_bytes, self.request.messages))

    @property
    def tokens(self) -> int:
        """An estimate for what the request itself carries, not for what the service remembers."""
        return estimate_tokens(self.request.system) + sum(map(message_tokens, self.request.messages))


def prepare(project: Project, ask: Ask) -> Prepared:
    session = project.load()
    project.workspace.allow(ask.outside)
    paths = ask.paths or history.sticky_targets(history.current_path(session))
    if ask.mode == "edit" and not paths:
        raise UsageError("edit needs a file to work on", 'For example: gemchat edit "add a docstring" app.py')
    project.workspace.check_distinct(paths)
    encodings = dict(session.encodings)
    if ask.encoding:
        encodings |= dict.fromkeys((*paths, *ask.context), ask.encoding)
    taken = {path: project.take(path, encodings.get(path, UTF_8)) for path in paths}
    disk = {path: file.version if file else None for path, file in taken.items()}
    stale = _stale_changes(session, disk) if ask.mode == "edit" else ()
    for change in stale:
        project.note(f"{change.path} changed on disk; the proposal for its old text is dropped")
    session = project.with_change(session, "stale", stale) if stale else session
    working = _working_versions(session, disk, ask.drafts)
    if ask.repair is not None:
        working |= {ref.path: ref.sha256 for ref in ask.repair.texts}
    _check_present(project, ask, working)
    files = _decoded(project, session, working, encodings, taken)
    targets = tuple(
        FileRef(path=path, sha256=version, encoding=file.encoding if (file := files[path]) else UTF_8)
        for path, version in working.items()
    )
    texts, media = read_context(project, session, ask.context, ask.model, encodings)
    wish = Wish(
        mode=ask.mode,
        prompt=ask.prompt,
        model=ask.model,
        backend=ask.backend,
        targets=targets,
        context=texts,
        media=media,
        attachments=_attachments(session, ask),
        repairs=ask.repair is not None,
        failed=ask.repair.failed if ask.repair else (),
        restart=ask.restart or _read_anew(session, targets),
        service=ask.service,
    )
    by_hash = history.encodings(session) | {ref.sha256: ref.encoding for ref in targets if ref.sha256}
    known = {ref.sha256: file.text for ref in targets if ref.sha256 and (file := files[ref.path])}
    decision = plan(session, wish, project.text_of(by_hash, known), ask.policy, project.clock())
    request = _with_media(project, _request(project, session, ask, decision, files))
    if not ask.preview:
        check_sendable(request, media)
        check_size(request, decision.messages[-1])
        if not ask.allow_secret:
            check_secrets(decision.messages[-1], project.own_keys)
    return Prepared(
        session=session,
        ask=ask,
        plan=decision,
        request=request,
        disk=disk,
        working=files,
        stale=stale,
        attachments=wish.attachments,
        media=media,
        encodings=encodings,
    )


def _decoded(
    project: Project,
    session: Session,
    working: Mapping[str, str | None],
    encodings: Mapping[str, str],
    taken: Mapping[str, Taken | None],
) -> dict[str, TextFile | None]:
    """The targets as the turn is about them; those that were `taken` from the disk are decoded already."""
    pending = history.pending_changes(session)
    files: dict[str, TextFile | None] = {}
    for path, version in working.items():
        on_disk = taken[path]
        if on_disk and on_disk.version == version:
            files[path] = on_disk.file
            continue
        data = None if version is None else _blob(project, version)
        encoding = encodings.get(path, UTF_8)
        change = pending.get(path)
        codec = "" if data is None else codec_of(data, encoding)
        if change and change.after == version and codec not in ("", change.encoding):
            raise WorkspaceError(
                f"a change of {path} is pending, and it is written in {change.encoding}",
                "Apply or discard it before naming another encoding.",
            )
        files[path] = None if data is None else decode(data, encoding)
    return files


def _read_anew(session: Session, targets: Sequence[FileRef]) -> str:
    """Why the conversation has to be rewritten: it shows bytes that are read as other characters now."""
    shown = {
        (file.path, file.sha256): file.encoding
        for turn in history.epoch(history.current_path(session))
        for file in turn.sent.files
    }
    for ref in targets:
        if shown.get((ref.path, ref.sha256), ref.encoding) != ref.encoding:
            return f"{ref.path} is read as {ref.encoding} now"
    return ""


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
    if decision.route == "restart":
        return request
    ids = set(decision.follows)
    follows = [turn for turn in history.current_path(session) if turn.id in ids]
    if ask.backend == "interactions":
        return replace(request, previous=follows[-1].remote.interaction)
    earlier = [pair for turn in follows for pair in _said(project, turn)]
    return replace(
        request,
        messages=(*(message for message, _ in earlier), *request.messages),
        contents=(*(content for _, content in earlier), *request.contents),
    )


def _with_media(project: Project, request: Request) -> Request:
    return replace(request, media={ref.sha256: _blob(project, ref.sha256) for ref in media_of(request.messages)})


def _attachments(session: Session, ask: Ask) -> tuple[NamedText, ...]:
    """What goes along with this turn, each text folded if it is longer than the limit in estimated tokens."""
    texts = () if ask.repair else (*session.attached, *ask.attachments)
    return tuple(NamedText(name=item.name, text=fold(item.text, ask.attach_limit)) for item in texts)


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


def _blob(project: Project, version: str) -> bytes:
    data = project.store.blobs.get(version)
    if data is None:
        raise SessionCorrupt(
            f"part {version[:12]} of the conversation is missing or damaged",
            "Continue with --restart; if a proposal is pending, drop it: gemchat discard",
        )
    return data


def _working_versions(
    session: Session, disk: Mapping[str, str | None], drafts: Sequence[FileChange]
) -> dict[str, str | None]:
    """A pending text is the working text of its file while the file is still what it was proposed for."""
    pending = history.pending_changes(session) | {draft.path: draft for draft in drafts}
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
