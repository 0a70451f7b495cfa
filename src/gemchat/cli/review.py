"""diff, apply, discard, undo, redo: what becomes of proposals. None of them talks to the model."""

from __future__ import annotations

from typing import Annotated

import typer

from gemchat import changes, report
from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings
from gemchat.errors import UsageError
from gemchat.view import View

_COLORS = ("auto", "always", "never")


def diff(
    ctx: typer.Context,
    files: options.Pending = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only the number of lines per file.")] = False,
    patch: Annotated[bool, typer.Option("--patch", help="A patch, also on a terminal.")] = False,
    color: Annotated[
        str, typer.Option("--color", metavar="auto|always|never", help="When to use colour.")
    ] = "auto",
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show what is pending; in a pipe as a patch for git apply."""
    if color not in _COLORS:
        raise UsageError(f"there is no colour mode {color!r}", f"Choose one of: {', '.join(_COLORS)}.")
    view = View(as_json=as_json, color=color)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    pending = changes.select(place.load(), here.paths(place, files))
    diffs = report.file_diffs(place, pending)
    if as_json:
        view.json(report.diff_json(pending, diffs))
    elif stat:
        view.stat(diffs)
    else:
        view.diff(diffs, patch=patch)


def apply(
    ctx: typer.Context,
    files: options.Pending = None,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Write what is pending, all files or none."""
    view = View(as_json=as_json)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    view.change(changes.apply(place, here.paths(place, files)))


def discard(
    ctx: typer.Context,
    files: options.Pending = None,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Drop what is pending; no file is touched."""
    view = View(as_json=as_json)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    view.change(changes.discard(place, here.paths(place, files)))


def undo(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Take back the newest apply."""
    view = View(as_json=as_json)
    here: Surroundings = ctx.obj
    view.change(changes.undo(here.project(view, session=session, root=project)))


def redo(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Repeat the apply that was taken back last."""
    view = View(as_json=as_json)
    here: Surroundings = ctx.obj
    view.change(changes.redo(here.project(view, session=session, root=project)))
