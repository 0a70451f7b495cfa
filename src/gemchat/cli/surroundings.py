"""What a command line runs in: environment, directory, clock and the way to the service, all replaceable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from gemchat.config import Settings, api_key, settings, state_directory
from gemchat.core.model import Transport
from gemchat.project import Project
from gemchat.store import Store, project_directory
from gemchat.view import View
from gemchat.workspace import Workspace, find_root


@dataclass(frozen=True)
class Surroundings:
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    directory: Path = field(default_factory=Path.cwd)
    clock: Callable[[], float] = time.time

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
        return settings(self.environ, model=model, backend=backend)

    def connect(self, wanted: Settings) -> AbstractContextManager[Transport]:
        """A connection to the service. Loads the SDK, which takes longer than all the rest."""
        key = api_key(self.environ)
        from gemchat.gemini import connect

        return connect(wanted.backend, key=key, base_url=wanted.base_url)
