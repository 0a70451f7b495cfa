"""warm: the processes that are kept so that the next turn in a terminal starts at once."""

from __future__ import annotations

import os

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings
from gemchat.view import View
from gemchat.warm import control

app = typer.Typer(help="See and end the processes that let the next turn start at once.", no_args_is_help=True)


@app.command()
def status(ctx: typer.Context, as_json: options.AsJson = False) -> None:
    """Show the processes that wait for the next turn, one per terminal, and for how long nobody needed them."""
    here: Surroundings = ctx.obj
    setting = here.settings(here.workspace(None).root).warm
    found = list(control.parents(here.environ))
    if as_json:
        processes = [{**parent._asdict(), "here": _is_here(parent)} for parent in found]
        View(as_json=True).json({"warm": setting, "supported": control.SUPPORTED, "processes": processes})
        return
    typer.echo(f"warm       {setting}" + ("" if control.SUPPORTED else ", which does nothing on this system"))
    for parent in found:
        place = "this terminal" if _is_here(parent) else f"session {parent.session}"
        typer.echo(f"process    {parent.pid}, idle for {parent.idle:.0f} s, {place}")


@app.command()
def stop(ctx: typer.Context) -> None:
    """End them; a turn with the setting `warm` starts one again."""
    here: Surroundings = ctx.obj
    count = control.stop(here.environ)
    typer.echo(f"stopped {count}" if count else "nothing was running")


def _is_here(parent: control.Parent) -> bool:
    return parent.session == os.getsid(0)
