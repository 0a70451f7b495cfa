"""status: where the conversation and its files stand. Local, fast, and without the SDK."""

from __future__ import annotations

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import opened


def status(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show the conversation, its files and what the model knows of them."""
    from gemchat import report

    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    state = report.overview(place)
    if as_json:
        view.json(report.overview_json(state))
    else:
        view.overview(state)
