"""run, and the check of edit: what a command prints goes to the model."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer
from msgspec.structs import replace

from gemchat import changes, shell
from gemchat.cli import options
from gemchat.cli.surroundings import opened
from gemchat.core.folding import fold
from gemchat.core.model import NamedText, Turn
from gemchat.core.secrets import find
from gemchat.diffview import counted
from gemchat.errors import EditConflict, ProposalRejected, SecretFound
from gemchat.prepare import Ask
from gemchat.project import Project
from gemchat.view import View

OUTPUT_LIMIT = 4_000  # estimated tokens of a command's output that a turn carries


def run(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")],
    session: options.SessionName = None,
    project: options.ProjectRoot = None,
) -> None:
    """Run a command and attach what it prints, and its exit code, to the next turn."""
    view, place = opened(ctx, session=session, root=project)
    finished = shell.run(command, ctx.obj.directory, view.output)
    printed = _named(shlex.join(command), finished)
    if find(f"{printed.name}\n{printed.text}", place.own_keys):
        raise SecretFound(
            "the command or what it prints contains a credential, so it is not attached",
            'To send it all the same: … | gemchat ask "…" --allow-secret',
        )
    place.attach(printed)
    view.note("what it printed goes along with the next turn")
    raise typer.Exit(finished.code if finished.code >= 0 else 128 - finished.code)


class Check(NamedTuple):
    """A command that tells whether an edit is good, in seconds, and how often to ask again when it is not."""

    command: str
    timeout: float
    retries: int = 2


def edit_until(check: Check, send: Callable[[Ask], Turn], question: Ask, view: View, place: Project) -> Turn:
    """Applies an edit and runs the check; while it fails, takes the edit back and asks again with the output."""
    asked, tries = question, 0
    while True:
        turn = send(asked)
        changes.apply(place, [change.path for change in turn.proposal])
        try:
            finished = shell.run(check.command, place.workspace.root, view.beside, check.timeout)
        except BaseException:
            _take_back(place)
            raise
        if finished.code == 0:
            return turn
        _take_back(place)
        view.note(f"{_ended(finished, check.timeout)}; the change was taken back")
        tries += 1
        if tries > check.retries:
            raise ProposalRejected(
                f"the check failed with {counted(tries, 'change')}; none is kept",
                f"The last of them: gemchat show {turn.id}",
            )
        prompt = f"{question.prompt}\n\nYour change was taken back, because the attached check failed with it."
        paths = tuple(file.path for file in turn.sent.files)
        asked = replace(
            asked, prompt=prompt, paths=paths, attachments=(_named(check.command, finished),), restart=""
        )


def _take_back(place: Project) -> None:
    """Keeps what the check itself did to the files, formatting them for example."""
    try:
        changes.undo(place, merge=True)
    except EditConflict as error:
        raise EditConflict(
            f"the check failed, and the change is still applied: {error.message}", error.hint
        ) from None


def _ended(finished: shell.Finished, timeout: float) -> str:
    if finished.timed_out:
        return f"the check took longer than {timeout:g} s and was ended"
    return f"the check ended with {finished.code}"


def _named(command: str, finished: shell.Finished) -> NamedText:
    how = "timed out" if finished.timed_out else f"exit code {finished.code}"
    return NamedText(name=f"$ {command} ({how})", text=fold(finished.output, OUTPUT_LIMIT))
