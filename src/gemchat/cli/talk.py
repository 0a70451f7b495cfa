"""ask and edit: one turn with the model."""

from __future__ import annotations

import os
import stat
import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from gemchat import changes, report
from gemchat.blobs import Drafts
from gemchat.chat import Chat
from gemchat.cli import options
from gemchat.cli.commands import edit_until
from gemchat.cli.surroundings import Surroundings
from gemchat.config import Settings
from gemchat.core.model import Mode, NamedText, ReplyFormat, Turn
from gemchat.diffview import MATCHED
from gemchat.errors import NotText, UsageError
from gemchat.prepare import Ask, prepare
from gemchat.project import Project
from gemchat.view import View, interactive

_FORMATS: dict[str, ReplyFormat | None] = {"auto": None, "edits": "edits", "whole": "whole"}
_AFTERWARDS = {
    "apply": "applied; take it back with: gemchat undo",
    "discard": "discarded; no file was touched",
    "check": "the check passes; the change is applied, take it back with: gemchat undo",
    "nothing": "this leads back to the file as it is; nothing is pending any more",
    "keep": "pending; write it with: gemchat apply, drop it with: gemchat discard",
}


def ask(
    ctx: typer.Context,
    prompt: options.Prompt,
    files: options.Files = None,
    context: options.Context = None,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    thinking: options.Thinking = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    no_stream: options.NoStream = False,
    restart: options.Restart = False,
    insecure: options.Insecure = False,
    project: options.ProjectRoot = None,
) -> None:
    """Answer a question about files."""
    view = View(quiet=quiet, as_json=as_json)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    chosen = here.settings(model=model, backend=backend, insecure=insecure)
    question = _question("ask", prompt, chosen, stream=not no_stream, restart=restart, thinking=thinking)
    question = replace(
        question, paths=here.paths(place, files), context=here.paths(place, context), service=here.service(chosen)
    )
    chat = Chat(place, lambda: here.connect(chosen, view), on_text=view.stream)
    if dry_run:
        return _show_decision(view, place, question)
    with view.answer(chosen.model):
        turn = chat.send(question)
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
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Apply the change at once.")] = False,
    reply_format: Annotated[
        str, typer.Option("--format", metavar="auto|edits|whole", help="How the model writes the change.")
    ] = "auto",
    check: Annotated[
        str | None, typer.Option("--check", metavar="CMD", help="Apply, run CMD, and take it back if CMD fails.")
    ] = None,
    check_timeout: Annotated[
        float, typer.Option("--check-timeout", metavar="SECONDS", min=1, help="How long CMD may take.")
    ] = 300,
    retries: Annotated[
        int, typer.Option("--retries", metavar="N", min=0, help="How often to ask again when CMD failed.")
    ] = 2,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    no_stream: options.NoStream = False,
    restart: options.Restart = False,
    insecure: options.Insecure = False,
    project: options.ProjectRoot = None,
) -> None:
    """Propose a change of files, show it as a diff and keep it pending."""
    if reply_format not in _FORMATS:
        raise UsageError(f"there is no format {reply_format!r}", f"Choose one of: {', '.join(_FORMATS)}.")
    view = View(quiet=quiet, as_json=as_json)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    chosen = here.settings(model=model, backend=backend, insecure=insecure)
    question = _question("edit", prompt, chosen, stream=not no_stream, restart=restart, thinking=thinking)
    question = replace(
        question,
        paths=here.paths(place, files),
        context=here.paths(place, context),
        reply_format=_FORMATS[reply_format],
        service=here.service(chosen),
    )
    chat = Chat(place, lambda: here.connect(chosen, view))
    if dry_run:
        return _show_decision(view, place, question)
    if check is not None:
        turn = edit_until(check, chat, question, view, timeout=check_timeout, retries=retries)
        return _show_proposal(view, place, turn, applied=True)
    with view.answer(chosen.model):
        turn = chat.send(question)
    return _show_proposal(view, place, turn, apply_it=yes)


def _question(
    mode: Mode, prompt: str, chosen: Settings, *, stream: bool, restart: bool, thinking: str | None
) -> Ask:
    text, attachments = _prompt_and_attachments(prompt)
    return Ask(
        mode=mode,
        prompt=text,
        model=chosen.model,
        backend=chosen.backend,
        attachments=attachments,
        thinking=thinking,
        stream=stream,
        restart="--restart was given" if restart else "",
    )


def _prompt_and_attachments(prompt: str) -> tuple[str, tuple[NamedText, ...]]:
    """The prompt is stdin for "-"; otherwise what is piped in goes along as an attachment."""
    if prompt == "-":
        prompt = _read_stdin()
        attachments: tuple[NamedText, ...] = ()
    else:
        piped = _read_stdin() if _stdin_is_piped() else ""
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


def _read_stdin() -> str:
    data = sys.stdin.buffer.read() if sys.stdin else b""
    if b"\0" in data:
        raise NotText("what is piped in is binary", "gemchat works on text only.")
    return data.decode("utf-8", "replace")


def _show_decision(view: View, place: Project, question: Ask) -> None:
    place.store.blobs = Drafts(place.store.blobs)
    prepared = prepare(place, question)
    if view.as_json:
        view.json(report.decision_json(place.session, prepared))
    else:
        view.decision(prepared)


def _show_proposal(
    view: View, place: Project, turn: Turn, *, apply_it: bool = False, applied: bool = False
) -> None:
    if not view.as_json:
        view.explanation(turn.explanation)
        diffs = report.file_diffs(place, turn.proposal)
        view.diff(diffs)
        for change in turn.proposal:
            if change.tier != "exact":
                view.note(f"{change.path}{MATCHED[change.tier]}")
        for warning in turn.warnings:
            view.note(f"warning: {warning}")
        view.turn(turn, place.session)
    open_changes = [change for change in turn.proposal if change.after != change.before]
    choice = "nothing"
    if open_changes:
        choice = "check" if applied else "apply" if apply_it else _chosen(view)
    paths = [change.path for change in open_changes]
    if choice == "apply":
        changes.apply(place, paths)
    elif choice == "discard":
        changes.discard(place, paths)
    if view.as_json:
        view.json(report.turn_json(place, turn, status="applied" if choice in ("apply", "check") else "proposed"))
    else:
        view.note(_AFTERWARDS[choice])


def _chosen(view: View) -> str:
    """What the user wants of a proposal; it is kept where nobody can be asked."""
    if view.as_json or not interactive():
        return "keep"
    return view.choose({"a": "apply", "d": "discard", "k": "keep"}, default="k")
