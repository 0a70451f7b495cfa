"""local: what the model on this machine is doing, ending it, and removing what it takes up."""

from __future__ import annotations

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings
from gemchat.view import View

app = typer.Typer(help="See, stop and remove the model on this machine.", no_args_is_help=True)


@app.command()
def status(ctx: typer.Context, as_json: options.AsJson = False) -> None:
    """Show whether the local model is installed, joined and running."""
    from gemchat.local.choice import choice
    from gemchat.local.process import running
    from gemchat.local.weights import QWEN, cache_directory, is_joined, joined_file

    here: Surroundings = ctx.obj
    environ = here.local_environ(here.settings(here.workspace(None).root))
    cache = cache_directory(environ)
    server = running(here.local_place())
    state = {
        "model": choice(environ).title,
        "installed": here.has_local(environ),
        "file": str(joined_file(QWEN, cache)) if is_joined(QWEN, cache) else None,
        "running": server.name if server else None,
        "pid": server.pid if server else None,
    }
    if as_json:
        View(as_json=True).json(state)
        return
    for name, value in state.items():
        typer.echo(f"{name:10} {_said(value)}")


@app.command()
def stop(ctx: typer.Context) -> None:
    """End the server that holds the model; the next question starts it again."""
    from gemchat.local import process

    here: Surroundings = ctx.obj
    typer.echo("stopped" if process.stop(here.local_place()) else "nothing was running")


@app.command()
def rm(ctx: typer.Context) -> None:
    """End the server and remove the joined model file; the installed packages stay."""
    from gemchat.local import process
    from gemchat.local.weights import QWEN, cache_directory, remove

    here: Surroundings = ctx.obj
    process.stop(here.local_place())
    cache = cache_directory(here.environ)
    typer.echo(f"removed {QWEN.file} from {cache}" if remove(QWEN, cache) else "there is no joined model file")


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
