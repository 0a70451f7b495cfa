"""status and log: what the conversation holds and how it came about. Local, fast, and without the SDK."""

from __future__ import annotations

from typing import Annotated

import typer

from gemchat import report
from gemchat.cli import options
from gemchat.cli.surroundings import opened
from gemchat.core.model import Turn
from gemchat.errors import UsageError


def status(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show the conversation, its files and what the model knows of them."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    state = report.overview(place)
    if as_json:
        view.json(report.overview_json(state))
    else:
        view.overview(state)


def show(
    ctx: typer.Context,
    turn: Annotated[str, typer.Argument(metavar="TURN", help="The number of a turn, as log has it.")],
    pager: options.Pager = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show one turn: what was asked, what came back, and the change it proposed."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    turns = [entry for entry in place.load().journal if isinstance(entry, Turn)]
    found = next((entry for entry in turns if entry.id == turn), None)
    if found is None:
        raise UsageError(f"there is no turn {turn}", "See: gemchat log")
    if as_json:
        view.json(
            report.turn_json(place, found) | {"prompt": found.prompt, "status": found.status, "raw": found.reply}
        )
    else:
        with view.paged(ctx.obj.environ, wanted=pager):
            view.exchange(found, report.file_diffs(place, found.proposal))


def log(
    ctx: typer.Context,
    number: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many of the newest turns.")] = 20,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """List the turns, newest last, with what was sent and what became of their proposals."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    conversation = place.load()
    turns = [entry for entry in conversation.journal if isinstance(entry, Turn)][-number:]
    if as_json:
        view.json(report.log_json(conversation, turns))
    else:
        view.log(conversation, turns)
