"""usage: what it all has cost."""

from __future__ import annotations

from dataclasses import replace

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import opened, settings_of
from gemchat.core import history
from gemchat.ledgerview import usage_lines
from gemchat.spending import spending, spending_json


def usage(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show tokens and costs by turn, and what sending the files again would have cost."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    prices = settings_of(ctx, place).own_prices
    names = dict.fromkeys((place.session, *place.store.names()))
    sessions = [replace(place, session=name).load() for name in names]
    spent = {one.name: spending(one, place.text_of(history.encodings(one)), prices) for one in sessions}
    everything = [one for turns in spent.values() for one in turns]
    if as_json:
        view.json(spending_json(place.session, spent[place.session], everything))
    else:
        view.lines(usage_lines(spent[place.session], place.session, everything))
