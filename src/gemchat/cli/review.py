"""diff, apply, discard, undo, redo: what becomes of proposals. None of them talks to the model."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import opened, paths_of, settings_of
from gemchat.errors import UsageError

_COLORS = ("auto", "always", "never")


def diff(
    ctx: typer.Context,
    files: options.Pending = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only the number of lines per file.")] = False,
    patch: Annotated[bool, typer.Option("--patch", help="A patch, also on a terminal.")] = False,
    color: Annotated[
        str, typer.Option("--color", metavar="auto|always|never", help="When to use colour.")
    ] = "auto",
    side_by_side: options.SideBySide = False,
    pager: options.Pager = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show what is pending; in a pipe as a patch for git apply."""
    from gemchat import changes, report

    if color not in _COLORS:
        raise UsageError(f"there is no colour mode {color!r}", f"Choose one of: {', '.join(_COLORS)}.")
    view, place = opened(ctx, session=session, root=project, as_json=as_json, color=color)
    pending = changes.select(place.load(), paths_of(ctx, place, files))
    diffs = report.file_diffs(place, pending)
    if as_json:
        view.json(report.diff_json(pending, diffs))
        return
    wanted = settings_of(ctx, place)
    with view.paged(ctx.obj.environ, wanted=pager or wanted.pager):
        if stat:
            view.stat(diffs)
        else:
            view.diff(diffs, patch=patch, side_by_side=side_by_side or wanted.side_by_side)


def apply(
    ctx: typer.Context,
    files: options.Pending = None,
    hunks: Annotated[
        str | None, typer.Option("--hunks", metavar="1,3-4", help="Only these hunks, as numbered by diff.")
    ] = None,
    drop_rest: Annotated[bool, typer.Option("--drop-rest", help="With --hunks: discard the other hunks.")] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge with what was changed in the file meanwhile.")
    ] = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Write what is pending, all files or none."""
    from gemchat import changes

    if (hunks is not None and merge) or (hunks is None and drop_rest):
        raise UsageError("--hunks goes without --merge, and --drop-rest goes with --hunks")
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    paths = paths_of(ctx, place, files)
    if hunks is None:
        change = changes.apply(place, paths, merge=merge)
    else:
        change = changes.apply_hunks(place, _numbers(hunks), paths, drop_rest=drop_rest)
    view.change(change)


def discard(
    ctx: typer.Context,
    files: options.Pending = None,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Drop what is pending; no file is touched."""
    from gemchat import changes

    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    view.change(changes.discard(place, paths_of(ctx, place, files)))


def undo(
    ctx: typer.Context,
    session: options.SessionName = None,
    merge: Annotated[bool, typer.Option("--merge", help="Keep what was changed in the files meanwhile.")] = False,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Take back the newest apply."""
    from gemchat import changes

    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    view.change(changes.undo(place, merge=merge))


def redo(
    ctx: typer.Context,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Repeat the apply that was taken back last."""
    from gemchat import changes

    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    view.change(changes.redo(place))


def _numbers(listed: str) -> set[int]:
    """The numbers of a list like 1,3-4."""
    numbers: set[int] = set()
    for part in listed.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"{part!r} is not a hunk number", "For example: gemchat apply --hunks 1,3-4")
        first, last = int(match[1]), int(match[2] or match[1])
        numbers.update(range(first, last + 1))
    return numbers
