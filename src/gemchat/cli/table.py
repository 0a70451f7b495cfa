"""The table of commands, and the one place where they are loaded: each when the command line names it.

What `--help` and a tab list is in the table, so that neither has to load every command; a test compares it with
what the commands say of themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# name: (module and what it has of that name, the first line of its help)
COMMANDS = {
    "ask": ("talk:ask", "Answer a question about files."),
    "edit": ("talk:edit", "Propose a change of files, show it as a diff and keep it pending."),
    "chat": (
        "chat:chat",
        "Ask, edit and review at a prompt: a line is a question, /edit, /apply and so on are commands.",
    ),
    "diff": ("review:diff", "Show what is pending; in a pipe as a patch for git apply."),
    "apply": ("review:apply", "Write what is pending, all files or none."),
    "pick": ("picking:pick", "Go through what is pending hunk by hunk and write what you take, like git add -p."),
    "discard": ("review:discard", "Drop what is pending; no file is touched."),
    "undo": ("review:undo", "Take back the newest apply."),
    "redo": ("review:redo", "Repeat the apply that was taken back last."),
    "status": ("inspect:status", "Show the conversation, its files and what the model knows of them."),
    "log": ("history:log", "Draw the turns, newest last: what was sent and what became of the proposals."),
    "show": ("history:show", "Show one turn: what was asked, what came back, and the change it proposed."),
    "export": ("history:export", "Write the conversation as Markdown: questions, answers and changes."),
    "rewind": (
        "history:rewind",
        "Drop the last N turns from the conversation; files and what is pending stay as they are.",
    ),
    "usage": ("usage:usage", "Show tokens and costs by turn, and what sending the files again would have cost."),
    "run": ("commands:run", "Run a command and attach what it prints, and its exit code, to the next turn."),
    "watch": (
        "watch:watch",
        "Act on new comments `gemchat: …` (edit) and `gemchat? …` (ask) in files as they are saved.",
    ),
    "new": ("sessions:new", "Start a new conversation in this project and use it from now on."),
    "demo": (
        "demo:demo",
        "Show the whole loop without a key or network: ask, edit, diff, apply, undo, and what is sent for it.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check key, stored conversations, permissions and completions; say what is wrong and what to do.",
    ),
    "sessions": ("sessions:app", "List, use, rename and remove sessions."),
    "local": ("local:app", "See, stop and remove the model on this machine."),
    "warm": ("warm:app", "See and end the processes that let the next turn start at once."),
    "config": ("config:app", "Show and change settings; store the API key."),
    "context": ("context:app", "Show what the model holds and what comes next; add and remove read-only files."),
}


class Deferred(TyperCommand):
    """Stands for a command in lists; whoever wants to run or complete it gets the context of the real one."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.loaded().make_context(info_name, args, parent, **extra)

    def loaded(self) -> Any:
        return loaded(self.name or "")


def loaded(command: str) -> Any:
    """The command or group of commands itself."""
    module, _, name = COMMANDS[command][0].partition(":")
    found = getattr(import_module(f"gemchat.cli.{module}"), name)
    holder = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=command)
    else:
        holder.command(command)(found)
    return typer.main.get_group(holder).commands[command]


def with_commands(app: typer.Typer) -> TyperGroup:
    """The program of an application whose commands are those of the table."""
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    for name, (_, summary) in COMMANDS.items():
        program.add_command(Deferred(name, help=summary, rich_markup_mode=None))
    return program
