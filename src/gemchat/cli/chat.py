"""chat: one command line after the other in one process, typed at a prompt or read from a pipe.

Each line becomes a command line, and that is run as if it had been called; what is only here are the defaults that
last from line to line. The connection to the service stays open in between.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import typer
from typer.core import TyperOption

from gemchat.cli import options
from gemchat.cli.connections import KeptConnections
from gemchat.cli.surroundings import Surroundings
from gemchat.cli.table import COMMANDS, loaded
from gemchat.config import state_directory
from gemchat.core.chatline import TALKING, Line, joined, parse
from gemchat.errors import ConfigError, GemchatError, UsageError
from gemchat.view import View, interactive

if TYPE_CHECKING:
    from gemchat.cli.plain import PlainPrompt
    from gemchat.cli.prompt import Prompt

_OWN = {
    "file": "The next prompts are about these files.",
    "session": "Use another session; without a name, list them.",
    "model": "Talk to another model from now on; without a name, show which.",
    "help": "Show the commands, or the help of one.",
    "quit": "End, like Ctrl-D.",
}
_WITHOUT_A_TURN = frozenset({"--dry-run", "--help", "-h"})
_CANNOT_MOVE_THE_CURSOR = ("dumb", "unknown")  # what TERM says


def chat(
    ctx: typer.Context,
    files: options.Files = None,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    project: options.ProjectRoot = None,
) -> None:
    """Ask, edit and review at a prompt: a line is a question, /edit, /apply and so on are commands.

    From a pipe the lines are read without a prompt, and the first that fails ends it with its exit code.
    """
    outer: Surroundings = ctx.obj
    given = {"GEMCHAT_SESSION": session, "GEMCHAT_MODEL": model, "GEMCHAT_BACKEND": backend}
    environ = {**outer.environ, **{name: value for name, value in given.items() if value}}
    with closing(KeptConnections()) as connections:
        here = replace(outer, environ=environ, connections=connections, root=project)
        place = here.project(View())
        place.load()
        here.settings(place.workspace.root)
        here.paths(place, files)
        talk = Talk(here, files or [])
        if interactive():
            _at_prompt(talk, connections)
        else:
            _from_pipe(talk)


class _Language(NamedTuple):
    """The commands with what they do, and the options of prompts that take a value."""

    commands: Mapping[str, str]
    valued: frozenset[str]


class Talk:
    """What lasts from one line to the next. `files` are those the next prompt is about; `ended` says to stop."""

    def __init__(self, here: Surroundings, files: list[str]) -> None:
        self.here = here
        self.files = files
        self.ended = False
        self.language = _language()

    def do(self, text: str) -> int:
        """Does what a line says. Any exit code but 0 is a failure's. Raises KeyboardInterrupt and Ended."""
        from gemchat.cli.app import failed

        arguments: list[str] = []
        try:
            line = parse(text, self.language.commands, self.language.valued)
            if line is None:
                return 0
            arguments = line.arguments(self.files)
            code = self._own()[line.command](list(line.words)) if line.command in _OWN else self._run(arguments)
        except GemchatError as error:
            return failed(error, arguments, self.here)
        if code == 0:
            self._remember(line)
        return 0 if line.command == "run" else code  # a command that fails is what the next prompt is about

    @property
    def session(self) -> str:
        """The name of the session in use."""
        try:
            return self.here.project(View(quiet=True)).session
        except GemchatError:
            return "gemchat"  # the next command says what is wrong

    def _run(self, arguments: list[str]) -> int:
        from gemchat.cli.app import attempt

        return attempt(arguments, self.here)

    def _remember(self, line: Line) -> None:
        """From a turn on the conversation itself knows its files, and from a choice on the project its session."""
        if line.command in TALKING and not _WITHOUT_A_TURN.intersection(line.words):
            self.files = []
        if line.command == "new" or (line.command, *line.words[:1]) == ("sessions", "use"):
            self._use_current_session()

    def _use_current_session(self) -> None:
        environ = {name: value for name, value in self.here.environ.items() if name != "GEMCHAT_SESSION"}
        self.here = replace(self.here, environ=environ)

    def _own(self) -> dict[str, Callable[[list[str]], int]]:
        return {
            "file": self._file,
            "session": self._session,
            "model": self._model,
            "help": self._help,
            "quit": self._quit,
        }

    def _file(self, words: list[str]) -> int:
        if not words:
            return self._run(["status"])
        place = self.here.project(View())
        paths = self.here.paths(place, words)
        self.files = words
        named = (path if place.version(path) else f"{path} (not there yet, /edit can make it)" for path in paths)
        View().note(f"the next prompt is about {', '.join(named)}")
        return 0

    def _session(self, words: list[str]) -> int:
        if not words:
            return self._run(["sessions"])
        code = self._run(["sessions", "use", *words])
        if code == 0:
            self._use_current_session()
        return code

    def _model(self, words: list[str]) -> int:
        if not words:
            return self._run(["config", "get", "model"])
        name, *more = words
        if more:
            raise UsageError("a model has one name", "For example: /model gemini-3.8-flash")
        self.here = replace(self.here, environ={**self.here.environ, "GEMCHAT_MODEL": name})
        View().note(f"from now on the model is {name}")
        return 0

    def _help(self, words: list[str]) -> int:
        name = words[0].removeprefix("/") if words else "help"
        if name not in _OWN:
            return self._run([name, "--help"])
        width = max(map(len, self.language.commands)) + 3
        lines = [f"{f'/{name}':{width}}{about}" for name, about in self.language.commands.items()]
        prompt = "Any other line is a question. \\ at its end, or Alt-Enter, begins another line of it."
        View().lines([*lines, "", prompt])
        return 0

    def _quit(self, _: list[str]) -> int:
        self.ended = True
        return 0


def _language() -> _Language:
    about = {name: summary for name, (_, summary) in COMMANDS.items() if name != chat.__name__}
    valued = {
        name
        for command in TALKING
        for option in loaded(command).params
        if isinstance(option, TyperOption) and not option.is_flag
        for name in option.opts
    }
    return _Language(about | _OWN, frozenset(valued))


def _at_prompt(talk: Talk, connections: KeptConnections) -> None:
    prompt = _prompt(talk, connections.load)
    View().note("/help shows the commands, Ctrl-D ends")
    while not talk.ended:
        with suppress(KeyboardInterrupt):  # it ended a turn, not the conversation
            text = prompt.read(f"{talk.session}> ")
            if text is None:
                return
            talk.do(text)


def _prompt(talk: Talk, shown: Callable[[], None]) -> Prompt | PlainPrompt:
    if talk.here.environ.get("TERM", "").lower() in _CANNOT_MOVE_THE_CURSOR:
        from gemchat.cli.plain import PlainPrompt

        return PlainPrompt(shown)
    from gemchat.cli.prompt import Prompt
    from gemchat.cli.suggest import suggestions

    return Prompt(
        state_directory(talk.here.environ) / "chat-history",
        lambda text: _may_be_stored(talk.here, text),
        lambda text: suggestions(talk.here, talk.language.commands, text),
        shown,
    )


def _may_be_stored(here: Surroundings, text: str) -> bool:
    """As little as it may be sent: not with a credential in it."""
    from gemchat.apikey import own_keys
    from gemchat.core.secrets import find

    try:
        return not find(text, own_keys(here.environ, here.user_file.parent))
    except ConfigError:
        return False  # it may be the key that cannot be read


def _from_pipe(talk: Talk) -> None:
    with _own_stdin() as lines:
        for text in joined(line.removesuffix("\n") for line in lines):
            code = talk.do(text)
            if code:
                raise typer.Exit(code)
            if talk.ended:
                return


@contextmanager
def _own_stdin() -> Iterator[Iterable[str]]:
    """The lines of stdin, which meanwhile nobody else reads: to the commands it is the null device."""
    if sys.stdin is None:
        yield ()
        return
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        with open(kept, encoding="utf-8", errors="surrogateescape", closefd=False) as lines:
            yield lines
    finally:
        os.dup2(kept, 0)
        os.close(kept)
