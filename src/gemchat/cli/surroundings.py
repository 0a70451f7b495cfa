"""What a command line runs in: environment, directory, clock and the way to the service, all replaceable.

Whatever the command line, it begins here: each method imports what it is made of, so that none is loaded in vain.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gemchat.cli.connections import Connections
from gemchat.errors import OutsideProject

if TYPE_CHECKING:
    import typer

    from gemchat.cli.connections import Gemini
    from gemchat.config import Found, Settings
    from gemchat.core.economics import Policy
    from gemchat.core.model import Transport
    from gemchat.gemini import InteractionsTransport
    from gemchat.local.serve import Place
    from gemchat.log import Log
    from gemchat.project import Project
    from gemchat.retry import Patience
    from gemchat.store import Store
    from gemchat.view import View
    from gemchat.watching import SavedFiles
    from gemchat.workspace import Workspace

_LOCAL_IDLE_SECONDS = 900.0  # a rewritten file comes in one piece, and others may be before it


def _has_local(environ: Mapping[str, str]) -> bool:
    from gemchat.local.choice import is_available

    return is_available(environ)


def _saved_files(places: Sequence[Path]) -> Generator[Collection[str], None, None]:
    from gemchat.watching import saved_files

    return saved_files(places)


def _draw() -> float:
    from random import random

    return random()  # noqa: S311  it spreads retries, and keeps no secret


@dataclass(frozen=True)
class Surroundings:
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    directory: Path = field(default_factory=Path.cwd)
    clock: Callable[[], float] = time.time
    has_local: Callable[[Mapping[str, str]], bool] = _has_local
    sleep: Callable[[float], None] = time.sleep
    ticks: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = _draw
    idle_timeout: float | None = None
    saved_files: SavedFiles = _saved_files
    connections: Connections = field(default_factory=Connections)
    root: str | None = None  # of the project, where no option names it

    def project(self, view: View, *, session: str | None = None, root: str | None = None) -> Project:
        """The project of the current directory, or of `root`, with the session in use."""
        from gemchat.apikey import own_keys
        from gemchat.project import Project

        workspace = self.workspace(root)
        store = self.store(workspace.root, view.note)
        return Project(
            store=store,
            workspace=workspace,
            session=self.session_in_use(store, session),
            clock=self.clock,
            note=view.note,
            own_keys=own_keys(self.environ, self.user_file.parent),
        )

    def store(self, root: Path, note: Callable[[str], None]) -> Store:
        """What is stored of the project with that root."""
        from gemchat.config import state_directory
        from gemchat.store import Store, project_directory

        return Store(project_directory(state_directory(self.environ), root), root, note)

    def session_in_use(self, store: Store, session: str | None = None) -> str:
        return session if session is not None else self.environ.get("GEMCHAT_SESSION") or store.current()

    def workspace(self, root: str | None) -> Workspace:
        from gemchat.workspace import Workspace, find_root

        root = root or self.root
        return Workspace(self.directory / root if root else find_root(self.directory))

    def paths(self, project: Project, names: list[str] | None, *, outside: bool = False) -> tuple[str, ...]:
        """Project paths of files as the user named them, each once; what the session allows may be outside."""

        def relative(name: str) -> str:
            return project.workspace.relative(name, self.directory, outside=outside)

        try:
            named = [relative(name) for name in names or ()]
        except OutsideProject:
            project.load()  # what it allowed is allowed again
            named = [relative(name) for name in names or ()]
        return tuple(dict.fromkeys(named))

    @property
    def user_file(self) -> Path:
        """The user's own file of settings, whether it exists or not."""
        from gemchat.config import config_directory
        from gemchat.configfile import USER_FILE

        return config_directory(self.environ) / USER_FILE

    def found(self, root: Path, **options: str | None) -> dict[str, Found]:
        """All settings in the project with that root, and where they come from."""
        from gemchat.config import resolve
        from gemchat.configfile import PROJECT_FILE, read_settings

        return resolve(
            self.environ,
            user=read_settings(self.user_file, "user"),
            project=read_settings(root / PROJECT_FILE, "project"),
            options=options,
        )

    def settings(self, root: Path, **options: str | None) -> Settings:
        """Without a key and a model's name, the local model is meant if it is installed."""
        from msgspec.structs import replace

        from gemchat.apikey import has_key
        from gemchat.config import LOCAL_MODEL, settings

        found = self.found(root, **options)
        chosen = settings(found)
        if found["model"].source != "default" or chosen.vertex or has_key(self.environ, self.user_file.parent):
            return chosen
        return replace(chosen, model=LOCAL_MODEL) if self.has_local(self.local_environ(chosen)) else chosen

    def policy(self, chosen: Settings) -> Policy:
        """How to decide between continuing a conversation and rewriting it."""
        from gemchat.core.economics import RELATIVE, Policy
        from gemchat.core.prices import price_of

        return Policy(
            compaction=chosen.compaction,
            horizon=chosen.horizon,
            cache_ttl=chosen.cache_ttl,
            price=price_of(chosen.model, self.clock(), chosen.own_prices) or RELATIVE,
        )

    def local_environ(self, chosen: Settings) -> dict[str, str]:
        """The environment as the local model reads it: what files name counts as if a variable did."""
        named = {"GEMCHAT_LOCAL_MODEL": chosen.local_path, "GEMCHAT_LOCAL_URL": chosen.local_url}
        return {**self.environ, **{variable: value or "" for variable, value in named.items()}}

    def service(self, wanted: Settings) -> str | None:
        """What tells apart the places where a conversation can be kept; None if it cannot be known."""
        from gemchat.apikey import api_key, has_key
        from gemchat.config import LOCAL_MODEL, service_mark

        if wanted.model == LOCAL_MODEL:
            return None
        if wanted.vertex:
            return service_mark(f"vertex {wanted.project} {wanted.location}", wanted.base_url)
        if not has_key(self.environ, self.user_file.parent):
            return None
        return service_mark(api_key(self.environ, self.user_file.parent), wanted.base_url)

    def connect(self, wanted: Settings, view: View) -> AbstractContextManager[Transport]:
        """A connection to the service that leaves a line per request in the log."""
        from gemchat.log import logged

        return logged(self._connect(wanted, view), wanted.backend, self.log())

    def log(self) -> Log:
        from gemchat.config import state_directory
        from gemchat.log import Log

        return Log(state_directory(self.environ) / "gemchat.log", time.time)

    def _connect(self, wanted: Settings, view: View) -> AbstractContextManager[Transport]:
        """Loads the SDK, which takes longer than all the rest."""
        from gemchat.config import LOCAL_MODEL
        from gemchat.retry import Retrying

        if wanted.model == LOCAL_MODEL:
            return self._connect_locally(wanted, view.note)
        return Retrying(self._gemini(wanted), self._patience(wanted, view))

    def delete(self, interactions: Collection[str], wanted: Settings, view: View) -> None:
        """Removes stored interactions from the service. What it does not know any more is no failure."""
        from msgspec.structs import replace

        from gemchat.errors import ChainLost
        from gemchat.gemini import InteractionsTransport

        patience = self._patience(wanted, view)
        with self._gemini(replace(wanted, backend="interactions")) as transport:
            assert isinstance(transport, InteractionsTransport)
            for interaction in interactions:
                with suppress(ChainLost):
                    list(patience.tried(partial(_deleted, transport, interaction)))

    def _gemini(self, wanted: Settings) -> AbstractContextManager[Gemini]:
        if wanted.vertex:
            from gemchat.gemini import connect_vertex

            where = (wanted.backend, wanted.project, wanted.location)
            return self.connections.open(
                connect_vertex, *where, base_url=wanted.base_url, insecure=wanted.insecure
            )
        from gemchat.apikey import api_key

        key = api_key(self.environ, self.user_file.parent)
        from gemchat.gemini import IDLE_TIMEOUT, connect

        return self.connections.open(
            connect,
            wanted.backend,
            key=key,
            base_url=wanted.base_url,
            idle_timeout=self.idle_timeout or IDLE_TIMEOUT,
            insecure=wanted.insecure,
        )

    def _patience(self, wanted: Settings, view: View) -> Patience:
        from gemchat.retry import Patience, Policy

        return Patience(
            note=view.note,
            pause=lambda seconds: view.pause(seconds, self.sleep),
            clock=self.ticks,
            draw=self.draw,
            policy=Policy(deadline=wanted.deadline),
        )

    def local_place(self) -> Place:
        """Where the user's local server says how to reach it."""
        from gemchat.config import state_directory
        from gemchat.local.serve import Place

        named = self.environ.get("GEMCHAT_RUNTIME_DIR")
        return Place(directory=Path(named).absolute() if named else state_directory(self.environ) / "local")

    def keep_warm(self, chosen: Settings) -> None:
        """Leaves a process behind for the next turn in this terminal, or none, as the settings have it."""
        from gemchat.configtable import seconds
        from gemchat.warm.control import settle

        settle(self.environ, seconds(chosen.warm))

    def _connect_locally(self, wanted: Settings, note: Callable[[str], None]) -> AbstractContextManager[Transport]:
        from gemchat.cli.loading import local_server
        from gemchat.local.choice import choice

        environ = self.local_environ(wanted)
        chosen = choice(environ)
        server = local_server(chosen, self.local_place(), environ, note)
        note(
            f"{chosen.title} on this machine answers; it is meant for small files and may be wrong. "
            "For Gemini set GEMINI_API_KEY."
        )
        from gemchat.gemini import connect

        return self.connections.open(
            connect, wanted.backend, key=server.token, base_url=server.url, idle_timeout=_LOCAL_IDLE_SECONDS
        )


def _deleted(transport: InteractionsTransport, interaction: str) -> Iterator[str]:
    transport.delete(interaction)
    yield interaction


def opened(
    ctx: typer.Context,
    *,
    session: str | None = None,
    root: str | None = None,
    as_json: bool = False,
    color: str = "auto",
) -> tuple[View, Project]:
    """What a local command works with: how it shows things, and the session it is about."""
    from gemchat.view import View

    view = View(as_json=as_json, color=color)
    here: Surroundings = ctx.obj
    return view, here.project(view, session=session, root=root)


def settings_of(ctx: typer.Context, place: Project) -> Settings:
    """The settings in force, where no option of the command overrules them."""
    here: Surroundings = ctx.obj
    return here.settings(place.workspace.root)


def paths_of(ctx: typer.Context, place: Project, names: list[str] | None) -> tuple[str, ...]:
    here: Surroundings = ctx.obj
    return here.paths(place, names)
