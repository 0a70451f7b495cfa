"""context and usage: what the model holds and what the next turn would send; what it all has cost."""

from __future__ import annotations

from dataclasses import replace

import typer

from gemchat.blobs import Drafts
from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings, opened, settings_of
from gemchat.core.visible import visible
from gemchat.ledger import ledger, ledger_json
from gemchat.ledgerview import ledger_lines, usage_lines
from gemchat.prepare import Ask
from gemchat.spending import spending, spending_json


def context(
    ctx: typer.Context,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show what the model holds of each file, and what the next turn would send and why."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    here: Surroundings = ctx.obj
    chosen = here.settings(place.workspace.root, model=model, backend=backend)
    place.store.blobs = Drafts(place.store.blobs)
    next_one = Ask(mode="ask", prompt="", model=chosen.model, backend=chosen.backend, policy=here.policy(chosen))
    found = ledger(place, next_one)
    if as_json:
        view.json(ledger_json(found))
    else:
        view.lines(map(visible, ledger_lines(found)))


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
    spent = {name: spending(replace(place, session=name).load(), place.text_of(), prices) for name in names}
    everything = [one for turns in spent.values() for one in turns]
    if as_json:
        view.json(spending_json(place.session, spent[place.session], everything))
    else:
        view.lines(map(visible, usage_lines(spent[place.session], place.session, everything)))
