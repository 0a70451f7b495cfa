"""context: the read-only files that go along with every turn of a session."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from typing import Annotated, Any, TypeAlias

import typer
from msgspec.structs import asdict, replace

from gemchat.blobs import Drafts
from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings, opened
from gemchat.core.economics import estimate_tokens
from gemchat.core.textfile import canonical
from gemchat.core.tree import OVERVIEW
from gemchat.errors import FileMissing, UsageError
from gemchat.ledger import ledger, ledger_json
from gemchat.ledgerview import ledger_lines
from gemchat.prepare import Ask
from gemchat.project import Project
from gemchat.selection import Selection, project_overview, select
from gemchat.turnview import describe_size
from gemchat.view import View

Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH...]", help="Files, directories or globs.", show_default=False),
]
Tree: TypeAlias = Annotated[
    bool, typer.Option("--tree", help="An overview of the project: its files, their sizes and what they define.")
]
app = typer.Typer(
    help="Show what the model holds and what comes next; add and remove read-only files.",
    invoke_without_command=True,
)


@app.callback()
def context(
    ctx: typer.Context,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show what the model holds of each file, and what the next turn would send and why."""
    if ctx.invoked_subcommand is not None:
        return
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    here: Surroundings = ctx.obj
    chosen = here.settings(place.workspace.root, model=model, backend=backend)
    place.store.blobs = Drafts(place.store.blobs)
    next_one = Ask(mode="ask", prompt="", model=chosen.model, backend=chosen.backend, policy=here.policy(chosen))
    found = ledger(place, replace(next_one, preview=True))
    if as_json:
        view.json(ledger_json(found))
    else:
        view.lines(ledger_lines(found))


@app.command()
def add(
    ctx: typer.Context,
    paths: Paths = None,
    tree: Tree = False,
    encoding: options.Encoding = None,
    allow_outside: options.AllowOutside = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Let files go along with every turn; of directories and globs, those that no ignore file leaves out.

    Images and PDFs are taken by their names or a glob; a directory stands for its texts.
    """
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    place.load()
    here: Surroundings = ctx.obj
    codec = canonical(encoding) if encoding else None
    _check_something(paths, tree=tree)
    model = here.settings(place.workspace.root).model
    chosen = select(
        place.workspace, here.directory, paths or (), encoding=codec, outside=allow_outside, model=model
    )
    added = tuple(file.path for file in chosen.files)
    kept = place.change_context(
        add=added,
        encodings=dict.fromkeys(added, codec) if codec else {},
        outside=place.workspace.allowed(added),
        tree=tree or None,
    )
    if as_json:
        view.json(selection_json(chosen) | {"context": list(kept)})
        return
    view.lines(f"{file.path}  {describe_size(file.mime_type, file.bytes, file.tokens)}" for file in chosen.files)
    if chosen.files or chosen.left_out:
        tell_size(view, chosen)
    if tree:
        size = estimate_tokens(project_overview(place.workspace))
        view.lines([f"{OVERVIEW}  about {size:,} tokens; sent once, and again when it changes"])


@app.command("rm")
def remove(
    ctx: typer.Context,
    paths: Paths = None,
    tree: Tree = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Let files go along no longer."""
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    _check_something(paths, tree=tree)
    kept = place.load().context
    named = [_project_path(ctx, place, name) for name in paths or ()]
    gone = [path for path in kept if any(_stands_for(name, path) for name in named)]
    for argument, name in zip(paths or (), named, strict=True):
        if not any(_stands_for(name, path) for path in kept):
            raise FileMissing(f"{argument} is not part of the context", "See: gemchat context")
    left = place.change_context(remove=gone, tree=False if tree else None)
    if as_json:
        view.json({"removed": gone, "context": list(left)})
    else:
        view.lines(f"removed {path}" for path in ([OVERVIEW, *gone] if tree else gone))


def _check_something(paths: list[str] | None, *, tree: bool) -> None:
    if not (paths or tree):
        raise UsageError(
            "nothing is named", "For example: gemchat context add src, or: gemchat context add --tree"
        )


def selection_json(chosen: Selection) -> dict[str, Any]:
    return {
        "added": [asdict(file) for file in chosen.files],
        "left_out": [{"path": path, "reason": reason} for path, reason in chosen.left_out],
    }


def tell_size(view: View, chosen: Selection) -> None:
    """The size of a selection, before anything of it is sent."""
    for _, reason in chosen.left_out:
        view.note(f"left out: {reason}")
    view.note(
        f"{_counted(chosen.files)} of context, {chosen.bytes:,} bytes, about {chosen.tokens:,} tokens; "
        "sent once, and again when one changes"
    )


def _counted(files: Sequence[object]) -> str:
    return f"{len(files)} file{'' if len(files) == 1 else 's'}"


def _project_path(ctx: typer.Context, place: Project, name: str) -> str:
    """A file that is gone, or a pattern, is named all the same."""
    here: Surroundings = ctx.obj
    return place.workspace.relative(name, here.directory, outside=True)


def _stands_for(name: str, path: str) -> bool:
    return path == name or name == "." or path.startswith(f"{name}/") or fnmatch(path, name)
