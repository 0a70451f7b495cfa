"""ask and edit: one turn with the model."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings
from gemchat.errors import NotText, UsageError

if TYPE_CHECKING:
    from gemchat.config import Settings
    from gemchat.core.model import Mode, NamedText, ReplyFormat, Turn
    from gemchat.prepare import Ask
    from gemchat.project import Project
    from gemchat.view import View

_FORMATS: dict[str, ReplyFormat | None] = {"auto": None, "edits": "edits", "whole": "whole"}


def ask(
    ctx: typer.Context,
    prompt: options.Prompt,
    files: options.Files = None,
    context: options.Context = None,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    thinking: options.Thinking = None,
    attach_limit: options.AttachLimit = None,
    pager: options.Pager = False,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_stream: options.NoStream = False,
    restart: options.Restart = False,
    encoding: options.Encoding = None,
    allow_secret: options.AllowSecret = False,
    allow_outside: options.AllowOutside = False,
    insecure: options.Insecure = False,
    project: options.ProjectRoot = None,
) -> None:
    """Answer a question about files."""
    from msgspec.structs import replace

    from gemchat import report
    from gemchat.view import View

    view = View(quiet=quiet, as_json=as_json, verbose=verbose)
    given = {"model": model, "backend": backend, "thinking": thinking}
    talk = _begun(ctx, view, session, project, attach_limit=attach_limit, insecure=insecure, **given)
    question = talk.question("ask", prompt, stream=not no_stream, restart=restart)
    question = talk.with_files(question, files, context, encoding=encoding, outside=allow_outside)
    question = replace(question, allow_secret=allow_secret)
    if dry_run:
        return talk.show_decision(question)
    ctx.call_on_close(talk.keep_warm)
    pages = (pager or talk.chosen.pager) and view.pages
    turn = talk.send((lambda _: None) if pages else view.stream, question)
    if pages:
        with view.paged(talk.here.environ):
            view.markdown(turn.explanation)
    if as_json:
        view.json(report.turn_json(talk.place, turn))
    view.turn(turn, talk.place.session)
    return None


def edit(
    ctx: typer.Context,
    prompt: options.Prompt,
    files: options.Files = None,
    context: options.Context = None,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    thinking: options.Thinking = None,
    attach_limit: options.AttachLimit = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Apply the change at once.")] = False,
    reply_format: Annotated[
        str, typer.Option("--format", metavar="auto|edits|whole", help="How the model writes the change.")
    ] = "auto",
    check: Annotated[
        str | None, typer.Option("--check", metavar="CMD", help="Apply, run CMD, and take it back if CMD fails.")
    ] = None,
    check_timeout: Annotated[
        float | None, typer.Option("--check-timeout", metavar="SECONDS", min=1, help="How long CMD may take.")
    ] = None,
    retries: Annotated[
        int, typer.Option("--retries", metavar="N", min=0, help="How often to ask again when CMD failed.")
    ] = 2,
    side_by_side: options.SideBySide = False,
    pager: options.Pager = False,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_stream: options.NoStream = False,
    restart: options.Restart = False,
    encoding: options.Encoding = None,
    allow_secret: options.AllowSecret = False,
    allow_outside: options.AllowOutside = False,
    insecure: options.Insecure = False,
    project: options.ProjectRoot = None,
) -> None:
    """Propose a change of files, show it as a diff and keep it pending."""
    from msgspec.structs import replace

    from gemchat.cli.commands import Check, edit_until
    from gemchat.cli.proposal import Review
    from gemchat.view import View

    if reply_format not in _FORMATS:
        raise UsageError(f"there is no format {reply_format!r}", f"Choose one of: {', '.join(_FORMATS)}.")
    view = View(quiet=quiet, as_json=as_json, verbose=verbose)
    given = {"model": model, "backend": backend, "thinking": thinking}
    talk = _begun(ctx, view, session, project, attach_limit=attach_limit, insecure=insecure, **given)
    question = talk.question("edit", prompt, stream=not no_stream, restart=restart)
    question = talk.with_files(question, files, context, encoding=encoding, outside=allow_outside)
    question = replace(question, reply_format=_FORMATS[reply_format], allow_secret=allow_secret)
    if dry_run:
        return talk.show_decision(question)
    ctx.call_on_close(talk.keep_warm)
    send, chosen = partial(talk.send, view.explain), talk.chosen
    review = Review(
        view,
        talk.place,
        lambda follow_up: send(replace(question, prompt=follow_up, attachments=(), restart="")),
        talk.here.environ,
        side_by_side=side_by_side or chosen.side_by_side,
        pager=pager or chosen.pager,
    )
    command = chosen.check if check is None else check
    if command:
        test = Check(command, check_timeout or chosen.check_timeout, retries)
        return review.settle(edit_until(test, send, question, view, talk.place), applied=True)
    return review.settle(send(question), apply_it=yes)


def _begun(
    ctx: typer.Context,
    view: View,
    session: str | None,
    root: str | None,
    *,
    attach_limit: int | None,
    insecure: bool,
    **texts: str | None,
) -> _Talk:
    """With the session and the settings that these options name."""
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=root)
    limit = None if attach_limit is None else str(attach_limit)
    more = {"attachments.limit": limit, "insecure": "true" if insecure else None}
    return _Talk(view, here, place, here.settings(place.workspace.root, **texts, **more))


class _Talk(NamedTuple):
    """What a turn takes place in: the session, and the settings in force."""

    view: View
    here: Surroundings
    place: Project
    chosen: Settings

    def question(self, mode: Mode, prompt: str, *, stream: bool, restart: bool) -> Ask:
        from gemchat.prepare import Ask

        text, attachments = _prompt_and_attachments(prompt, self.view.note)
        return Ask(
            mode=mode,
            prompt=text,
            model=self.chosen.model,
            backend=self.chosen.backend,
            attachments=attachments,
            policy=self.here.policy(self.chosen),
            service=self.here.service(self.chosen),
            attach_limit=self.chosen.attachments_limit,
            thinking=self.chosen.thinking,
            stream=stream,
            restart="--restart was given" if restart else "",
        )

    def with_files(
        self,
        question: Ask,
        files: list[str] | None,
        context: list[str] | None,
        *,
        encoding: str | None,
        outside: bool,
    ) -> Ask:
        from msgspec.structs import replace

        from gemchat.core.textfile import canonical

        codec = canonical(encoding) if encoding else None
        paths = self.here.paths(self.place, files, outside=outside)
        chosen = self._context(context, codec, outside=outside) if context else ()
        allowed = self.place.workspace.allowed((*paths, *chosen))
        return replace(question, paths=paths, context=chosen, encoding=codec, outside=allowed)

    def _context(self, names: list[str], codec: str | None, *, outside: bool) -> tuple[str, ...]:
        from gemchat.cli.context import tell_size
        from gemchat.selection import is_pattern, select

        directory, model = self.here.directory, self.chosen.model
        chosen = select(self.place.workspace, directory, names, encoding=codec, outside=outside, model=model)
        if any(is_pattern(directory, name) for name in names):
            tell_size(self.view, chosen)
        return tuple(file.path for file in chosen.files)

    def send(self, on_text: Callable[[str], None], question: Ask) -> Turn:
        from gemchat.chat import Chat

        view = self.view
        chat = Chat(self.place, lambda: self.here.connect(self.chosen, view), on_text, view.progress)
        with view.answer(self.chosen.model):
            return chat.send(question)

    def keep_warm(self) -> None:
        self.here.keep_warm(self.chosen)

    def show_decision(self, question: Ask) -> None:
        from gemchat import report
        from gemchat.blobs import Drafts
        from gemchat.prepare import prepare

        self.place.store.blobs = Drafts(self.place.store.blobs)
        prepared = prepare(self.place, question)
        if self.view.as_json:
            self.view.json(report.decision_json(self.place.session, prepared))
        else:
            self.view.decision(prepared)


def _prompt_and_attachments(prompt: str, note: Callable[[str], None]) -> tuple[str, tuple[NamedText, ...]]:
    """The prompt is stdin for "-"; otherwise what is piped in goes along as an attachment."""
    from gemchat.core.model import NamedText

    if prompt == "-":
        prompt = _read_stdin(note)
        attachments: tuple[NamedText, ...] = ()
    else:
        piped = _read_stdin(note) if _stdin_is_piped() else ""
        attachments = (NamedText(name="stdin", text=piped),) if piped else ()
    if not prompt.strip():
        raise UsageError("the prompt is empty", 'For example: gemchat ask "what does this do?" app.py')
    return prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), attachments


def _stdin_is_piped() -> bool:
    """A pipe or a file: a terminal, /dev/null or a closed stdin carries nothing."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISREG(kind)


def _read_stdin(note: Callable[[str], None]) -> str:
    data = sys.stdin.buffer.read() if sys.stdin else b""
    if b"\0" in data:
        raise NotText("what is piped in is binary", "gemchat works on text only.")
    text = data.decode("utf-8", "replace")
    if text.encode() != data:
        note("what is piped in is not UTF-8 throughout; what cannot be read is sent as \ufffd")
    return text
