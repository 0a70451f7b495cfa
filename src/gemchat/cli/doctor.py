"""doctor: is all that gemchat needs and keeps in order, and can it be put in order?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from gemchat import doctor as examination
from gemchat.apikey import api_key
from gemchat.cli import options
from gemchat.cli.surroundings import Surroundings
from gemchat.config import state_directory
from gemchat.core.visible import visible
from gemchat.doctor import Finding
from gemchat.errors import ConfigError, SessionError, UsageError
from gemchat.project import Project
from gemchat.view import View

_COMPLETIONS = {
    "bash": ".bash_completions/gemchat.sh",
    "zsh": ".zfunc/_gemchat",
    "fish": ".config/fish/completions/gemchat.fish",
}


def doctor(
    ctx: typer.Context,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended; remove what nothing needs.")
    ] = False,
    adopt: Annotated[
        str | None,
        typer.Option("--adopt", metavar="NAME", help="Make the conversations of a project that moved this one's."),
    ] = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Check key, stored conversations, permissions and completions; say what is wrong and what to do."""
    here: Surroundings = ctx.obj
    view = View(as_json=as_json)
    place = here.project(view, root=project)
    findings = []
    for finding in _findings(here, place, fix=fix, adopt=adopt):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        view.json({"checks": [finding._asdict() for finding in findings]})
    raise typer.Exit(_exit_code(findings))


def _findings(here: Surroundings, place: Project, *, fix: bool, adopt: str | None) -> Iterator[Finding]:
    yield from _settings(here, place)
    yield _completions(here.environ)
    state = state_directory(here.environ)
    yield from _moved(state, place, fix=fix, adopt=adopt)
    held = examination.lock(place.store)
    yield held
    if not fix:
        yield from examination.examine(place, state, fix=False)
    elif held.state == "ok" and place.store.directory.is_dir():
        with place.at_rest():
            yield from examination.examine(place, state, fix=True)


def _settings(here: Surroundings, place: Project) -> Iterator[Finding]:
    """Only their form: nothing is sent."""
    from gemchat.gemini.client import GEMINI_URL, check_base_url, check_key

    try:
        chosen = here.settings(place.workspace.root)
    except ConfigError as error:
        yield Finding("settings", "problem", error.message, error.hint)
        return
    try:
        if not chosen.vertex:
            check_key(api_key(here.environ, here.user_file.parent))
        said = "Vertex AI needs none" if chosen.vertex else "there is an API key, and it has the form of one"
        yield Finding("key", "ok", said)
    except ConfigError as error:
        local = here.has_local(here.environ)
        yield Finding("key", "note" if local else "problem", error.message, error.hint)
    try:
        url = check_base_url(chosen.base_url or GEMINI_URL, insecure=chosen.insecure)
        yield Finding("base URL", "ok", f"requests go to {url}")
    except ConfigError as error:
        yield Finding("base URL", "problem", error.message, error.hint)
    yield _warm(here, chosen.warm)


def _warm(here: Surroundings, setting: str) -> Finding:
    from gemchat.warm import control
    from gemchat.warm.meeting import directory_of

    if setting in ("off", "0"):
        return Finding("warm start", "ok", "off")
    if not control.SUPPORTED:
        return Finding("warm start", "note", "does nothing on this system; it needs Linux")
    if not control.is_safe(here.environ):
        place = directory_of(here.environ)
        hint = f"Make it yours alone: chmod 700 {place}"
        return Finding("warm start", "problem", f"others may enter {place}", hint)
    waiting = [f"process {one.pid}, idle for {one.idle:.0f} s" for one in control.parents(here.environ)]
    return Finding("warm start", "ok", "; ".join(["on", *waiting]))


def _completions(environ: Mapping[str, str]) -> Finding:
    shell = Path(environ.get("SHELL", "")).name
    place = _COMPLETIONS.get(shell)
    if place is None:
        return Finding("completions", "note", f"not checked for the shell {shell or '(unknown)'}")
    if Path(environ.get("HOME", ""), place).is_file():
        return Finding("completions", "ok", f"{shell} completes commands and options")
    return Finding("completions", "note", f"{shell} does not complete", "gemchat --install-completion")


def _moved(state: Path, place: Project, *, fix: bool, adopt: str | None) -> Iterator[Finding]:
    """Projects whose directory is gone: the one that is surely this one is adopted by --fix, any by --adopt."""
    root = place.workspace.root
    lost = dict(examination.orphans(state, place.store, root))
    chosen: Path | None
    if adopt is not None:
        chosen = state / "projects" / adopt
        if chosen not in lost:
            raise UsageError(f"{adopt!r} is no project that lost its directory", "List them: gemchat doctor")
    else:
        likely = examination.moved_here(state, place.store, root)
        chosen = likely[0] if fix and len(likely) == 1 else None
    if chosen is not None:
        yield examination.adopt(place.store, chosen, root)
        del lost[chosen]
    for directory, was in lost.items():
        hint = f"If it is this one now: gemchat doctor --adopt {directory.name}"
        yield Finding("moved", "note", f"there are conversations of {was}, which is not there any more", hint)


def _show(finding: Finding) -> None:
    typer.echo(visible(f"{finding.state:8} {finding.check}: {finding.message}"))
    if finding.hint:
        typer.echo(visible(f"{'':8} {finding.hint}"))


def _exit_code(findings: list[Finding]) -> int:
    """What is wrong with the state weighs more than what is wrong with the settings."""
    wrong = {finding.check for finding in findings if finding.state == "problem"}
    if wrong - {"settings", "key", "base URL", "warm start"}:
        return SessionError.exit_code
    return ConfigError.exit_code if wrong else 0
