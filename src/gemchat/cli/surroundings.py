"""What a command line runs in: environment, directory, clock and the way to the service, all replaceable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from msgspec.structs import replace

from gemchat.config import LOCAL_MODEL, Settings, api_key, has_key, settings, state_directory
from gemchat.core.model import Transport
from gemchat.log import Log, logged
from gemchat.project import Project
from gemchat.store import Store, project_directory
from gemchat.view import View
from gemchat.workspace import Workspace, find_root

if TYPE_CHECKING:
    from gemchat.local.serve import Place


_LOCAL_IDLE_SECONDS = 900.0  # a rewritten file comes in one piece, and others may be before it


def _has_local(environ: Mapping[str, str]) -> bool:
    from gemchat.local.choice import is_available

    return is_available(environ)


@dataclass(frozen=True)
class Surroundings:
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    directory: Path = field(default_factory=Path.cwd)
    clock: Callable[[], float] = time.time
    has_local: Callable[[Mapping[str, str]], bool] = _has_local

    def project(self, view: View, *, session: str | None = None, root: str | None = None) -> Project:
        """The project of the current directory, or of `root`, with the session in use."""
        workspace = self.workspace(root)
        directory = project_directory(state_directory(self.environ), workspace.root)
        store = Store(directory, workspace.root, view.note)
        name = session or self.environ.get("GEMCHAT_SESSION") or store.current()
        return Project(store=store, workspace=workspace, session=name, clock=self.clock, note=view.note)

    def workspace(self, root: str | None) -> Workspace:
        return Workspace(self.directory / root if root else find_root(self.directory))

    def paths(self, project: Project, names: list[str] | None) -> tuple[str, ...]:
        """Project paths of files as the user named them, each once."""
        return tuple(dict.fromkeys(project.workspace.relative(name, self.directory) for name in names or ()))

    def settings(self, *, model: str | None, backend: str | None) -> Settings:
        """Without a key and a model's name, the local model is meant if it is installed."""
        chosen = settings(self.environ, model=model, backend=backend)
        named = model or self.environ.get("GEMCHAT_MODEL")
        if named or has_key(self.environ) or not self.has_local(self.environ):
            return chosen
        return replace(chosen, model=LOCAL_MODEL)

    def connect(self, wanted: Settings, note: Callable[[str], None]) -> AbstractContextManager[Transport]:
        """A connection to the service that leaves a line per request in the log."""
        return logged(self._connect(wanted, note), wanted.backend, self.log())

    def log(self) -> Log:
        return Log(state_directory(self.environ) / "gemchat.log", time.time)

    def _connect(self, wanted: Settings, note: Callable[[str], None]) -> AbstractContextManager[Transport]:
        """Loads the SDK, which takes longer than all the rest."""
        if wanted.model == LOCAL_MODEL:
            return self._connect_locally(wanted, note)
        key = api_key(self.environ)
        from gemchat.gemini import connect

        return connect(wanted.backend, key=key, base_url=wanted.base_url)

    def local_place(self) -> Place:
        """Where the user's local server says how to reach it."""
        from gemchat.local.serve import Place

        named = self.environ.get("GEMCHAT_RUNTIME_DIR")
        return Place(directory=Path(named).absolute() if named else state_directory(self.environ) / "local")

    def _connect_locally(self, wanted: Settings, note: Callable[[str], None]) -> AbstractContextManager[Transport]:
        from gemchat.cli.loading import local_server
        from gemchat.local.choice import choice

        chosen = choice(self.environ)
        server = local_server(chosen, self.local_place(), self.environ, note)
        note(
            f"{chosen.title} on this machine answers; it is meant for small files and may be wrong. "
            "For Gemini set GEMINI_API_KEY."
        )
        from gemchat.gemini import connect

        return connect(wanted.backend, key=server.token, base_url=server.url, idle_timeout=_LOCAL_IDLE_SECONDS)


def opened(
    ctx: typer.Context,
    *,
    session: str | None = None,
    root: str | None = None,
    as_json: bool = False,
    color: str = "auto",
) -> tuple[View, Project]:
    """What a local command works with: how it shows things, and the session it is about."""
    view = View(as_json=as_json, color=color)
    here: Surroundings = ctx.obj
    return view, here.project(view, session=session, root=root)


def paths_of(ctx: typer.Context, place: Project, names: list[str] | None) -> tuple[str, ...]:
    here: Surroundings = ctx.obj
    return here.paths(place, names)
