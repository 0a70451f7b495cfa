"""new and sessions: several conversations in one project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings, opened
from gemchat.errors import GemchatError, SessionError

if TYPE_CHECKING:
    from gemchat.core.model import Session
    from gemchat.project import Project
    from gemchat.view import View

app = typer.Typer(help="List, use, rename and remove sessions.", invoke_without_command=True)


def new(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Default: the next free chat-N.")] = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Start a new conversation in this project and use it from now on."""
    from gemchat.core.model import Session

    view, place = opened(ctx, root=project, as_json=as_json)
    with place.at_rest():
        taken = place.store.names()
        name = name or next(free for n in range(2, 10_000) if (free := f"chat-{n}") not in taken)
        if place.store.exists(name):
            raise SessionError(f"there is a session named {name} already", f"Use it: gemchat sessions use {name}")
        place.store.save(Session(name=name, created=place.clock()))
        place.store.use(name)
    _told(view, place, f"using the new session {name}")


@app.callback()
def sessions(ctx: typer.Context, as_json: options.AsJson = False, project: options.ProjectRoot = None) -> None:
    if ctx.invoked_subcommand is None:
        _listed(*opened(ctx, root=project, as_json=as_json))


@app.command("list")
def list_sessions(
    ctx: typer.Context, as_json: options.AsJson = False, project: options.ProjectRoot = None
) -> None:
    """List the project's sessions; the one in use has a star."""
    _listed(*opened(ctx, root=project, as_json=as_json))


@app.command()
def use(
    ctx: typer.Context,
    name: options.ExistingSession,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Use another session from now on."""
    from gemchat.store import DEFAULT_SESSION, unknown

    view, place = opened(ctx, root=project, as_json=as_json)
    with place.at_rest():
        if name != DEFAULT_SESSION and not place.store.exists(name):
            raise unknown(name)
        place.store.use(name)
    _told(view, place, f"using session {name}")


@app.command()
def rename(
    ctx: typer.Context,
    old: options.ExistingSession,
    name: str,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Give a session another name."""
    from gemchat.store import check_name

    view, place = opened(ctx, root=project, as_json=as_json)
    with place.at_rest():
        place.store.rename(old, check_name(name))
    _told(view, place, f"session {old} is now {name}")


@app.command("rm")
def remove(
    ctx: typer.Context,
    name: options.ExistingSession,
    keep_remote: Annotated[
        bool, typer.Option("--keep-remote", help="Leave what the service has stored of it where it is.")
    ] = False,
    insecure: options.Insecure = False,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Remove a session with everything it remembers, here and at the service; files are not touched."""
    view, place = opened(ctx, root=project, as_json=as_json)
    session = None if keep_remote else place.store.load(name)
    if session is not None:
        _remove_remote(ctx.obj, view, place, session, insecure=insecure)
    with place.at_rest():
        if session is not None and place.store.load(name) != session:
            raise SessionError(f"session {name} was used meanwhile; it is not removed", "Try again.")
        place.store.remove(name)
        place.store.collect(place.clock())
    _told(view, place, f"removed session {name}")


def _remove_remote(here: Surroundings, view: View, place: Project, session: Session, *, insecure: bool) -> None:
    """The service first: were the session removed before, nobody would know any more what else to remove."""
    from gemchat.diffview import counted
    from gemchat.stored import stored

    wanted = here.settings(place.workspace.root, backend="interactions", insecure="true" if insecure else None)
    found = stored(session, here.service(wanted))
    if found.here:
        view.note(f"removing {counted(len(found.here), 'stored answer')} from the service")
        try:
            here.delete(found.here, wanted, view)
        except GemchatError as error:
            error.hint = f"{error.hint} To remove the session on this machine only, add --keep-remote.".strip()
            raise
    if found.elsewhere:
        answers = counted(len(found.elsewhere), "stored answer")
        view.note(f"{answers} of another key or address cannot be removed with this one")


def _told(view: View, place: Project, text: str) -> None:
    if view.as_json:
        _listed(view, place)
    else:
        view.note(text)


def _listed(view: View, place: Project) -> None:
    names, current = place.store.names(), place.store.current()
    if view.as_json:
        view.json({"current": current, "sessions": names})
    else:
        view.sessions(names, current)
        if not names:
            view.note(f"there are none yet; the first question begins {current}")
