"""ask and edit: one turn with the model."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

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
    from gemchat.chat import Chat
    from gemchat.view import View

    view = View(quiet=quiet, as_json=as_json, verbose=verbose)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    chosen = _settings(
        here, place, model=model, backend=backend, thinking=thinking, attach_limit=attach_limit, insecure=insecure
    )
    question = _question("ask", prompt, chosen, view, here, stream=not no_stream, restart=restart)
    question = _with_files(question, view, here, place, files, context, encoding=encoding, outside=allow_outside)
    question = replace(question, allow_secret=allow_secret)
    pages = (pager or chosen.pager) and view.pages
    shown = (lambda _: None) if pages else view.stream
    chat = Chat(place, lambda: here.connect(chosen, view), on_text=shown, progress=view.progress)
    if dry_run:
        return _show_decision(view, place, question)
    ctx.call_on_close(lambda: here.keep_warm(chosen))
    with view.answer(chosen.model):
        turn = chat.send(question)
    if pages:
        with view.paged(here.environ):
            view.markdown(turn.explanation)
    if as_json:
        view.json(report.turn_json(place, turn))
    view.turn(turn, place.session)
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

    from gemchat.chat import Chat
    from gemchat.cli.commands import Check, edit_until
    from gemchat.cli.proposal import Review
    from gemchat.view import View

    if reply_format not in _FORMATS:
        raise UsageError(f"there is no format {reply_format!r}", f"Choose one of: {', '.join(_FORMATS)}.")
    view = View(quiet=quiet, as_json=as_json, verbose=verbose)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    chosen = _settings(
        here, place, model=model, backend=backend, thinking=thinking, attach_limit=attach_limit, insecure=insecure
    )
    question = _question("edit", prompt, chosen, view, here, stream=not no_stream, restart=restart)
    question = _with_files(question, view, here, place, files, context, encoding=encoding, outside=allow_outside)
    question = replace(question, reply_format=_FORMATS[reply_format], allow_secret=allow_secret)
    chat = Chat(place, lambda: here.connect(chosen, view), on_text=view.explain, progress=view.progress)

    def send(wanted: Ask) -> Turn:
        with view.answer(chosen.model):
            return chat.send(wanted)

    def refine(prompt: str) -> Turn:
        return send(replace(question, prompt=prompt, attachments=(), restart=""))

    columns, pages = side_by_side or chosen.side_by_side, pager or chosen.pager
    review = Review(view, place, refine, here.environ, side_by_side=columns, pager=pages)
    if dry_run:
        return _show_decision(view, place, question)
    ctx.call_on_close(lambda: here.keep_warm(chosen))
    command = chosen.check if check is None else check
    if command:
        test = Check(command, check_timeout or chosen.check_timeout, retries)
        return review.settle(edit_until(test, send, question, view, place), applied=True)
    return review.settle(send(question), apply_it=yes)


def _settings(
    here: Surroundings, place: Project, *, attach_limit: int | None, insecure: bool, **texts: str | None
) -> Settings:
    """What is in force with these options."""
    limit = None if attach_limit is None else str(attach_limit)
    more = {"attachments.limit": limit, "insecure": "true" if insecure else None}
    return here.settings(place.workspace.root, **texts, **more)


def _question(
    mode: Mode, prompt: str, chosen: Settings, view: View, here: Surroundings, *, stream: bool, restart: bool
) -> Ask:
    from gemchat.prepare import Ask

    text, attachments = _prompt_and_attachments(prompt, view.note)
    return Ask(
        mode=mode,
        prompt=text,
        model=chosen.model,
        backend=chosen.backend,
        attachments=attachments,
        policy=here.policy(chosen),
        service=here.service(chosen),
        attach_limit=chosen.attachments_limit,
        thinking=chosen.thinking,
        stream=stream,
        restart="--restart was given" if restart else "",
    )


def _with_files(
    question: Ask,
    view: View,
    here: Surroundings,
    place: Project,
    files: list[str] | None,
    context: list[str] | None,
    *,
    encoding: str | None,
    outside: bool,
) -> Ask:
    from msgspec.structs import replace

    from gemchat.core.textfile import canonical

    codec = canonical(encoding) if encoding else None
    paths = here.paths(place, files, outside=outside)
    model = question.model
    chosen = _context(view, here, place, context, codec, outside=outside, model=model) if context else ()
    allowed = place.workspace.allowed((*paths, *chosen))
    return replace(question, paths=paths, context=chosen, encoding=codec, outside=allowed)


def _context(
    view: View,
    here: Surroundings,
    place: Project,
    names: list[str],
    codec: str | None,
    *,
    outside: bool,
    model: str,
) -> tuple[str, ...]:
    from gemchat.cli.context import tell_size
    from gemchat.selection import is_pattern, select

    chosen = select(place.workspace, here.directory, names, encoding=codec, outside=outside, model=model)
    if any(is_pattern(here.directory, name) for name in names):
        tell_size(view, chosen)
    return tuple(file.path for file in chosen.files)


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


def _show_decision(view: View, place: Project, question: Ask) -> None:
    from gemchat import report
    from gemchat.blobs import Drafts
    from gemchat.prepare import prepare

    place.store.blobs = Drafts(place.store.blobs)
    prepared = prepare(place, question)
    if view.as_json:
        view.json(report.decision_json(place.session, prepared))
    else:
        view.decision(prepared)
