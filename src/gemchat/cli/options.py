"""The options that several commands share, each written down once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from gemchat.cli import complete

Files: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE...]", help="Files; none means those of the turn before.", show_default=False),
]
Pending: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE...]",
        help="Only these files.",
        show_default=False,
        autocompletion=complete.pending_files,
    ),
]
Prompt: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROMPT", help="What to ask for; - reads it from stdin.")
]
SessionName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--session",
        metavar="NAME",
        help="Use this session instead of the current one.",
        autocompletion=complete.session_names,
    ),
]
ProjectRoot: TypeAlias = Annotated[
    str | None,
    typer.Option("--project", metavar="DIR", help="The project's root, instead of the one found from here."),
]
ExistingSession: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="A session.", autocompletion=complete.session_names)
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Verbose: TypeAlias = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say everything about what was sent, and why.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="Print the result and errors only.")]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="NAME", help="The model to talk to.", autocompletion=complete.models),
]
BackendName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="auto|interactions|contents",
        help="The API that carries the conversation.",
        autocompletion=complete.among("auto", "interactions", "contents"),
    ),
]
Context: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-c",
        "--context",
        metavar="PATH",
        help="Read-only files that go along from now on: a file (also an image or PDF), directory or glob.",
        show_default=False,
    ),
]
Thinking: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--thinking",
        metavar="LEVEL",
        help="How long the model may think: low, medium, high.",
        autocompletion=complete.among("low", "medium", "high"),
    ),
]
AttachLimit: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--attach-limit", metavar="TOKENS", min=1, help="Longer attachments are folded to head, tail and errors."
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be sent and why; send nothing.")
]
NoStream: TypeAlias = Annotated[bool, typer.Option("--no-stream", help="Show the answer when it is complete.")]
Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="How the named files are encoded, from now on; not UTF-8."),
]
AllowSecret: TypeAlias = Annotated[
    bool, typer.Option("--allow-secret", help="Send what looks like a credential all the same, this once.")
]
AllowOutside: TypeAlias = Annotated[
    bool, typer.Option("--allow-outside", help="Take the named files although they are outside the project.")
]
Restart: TypeAlias = Annotated[
    bool, typer.Option("--restart", help="Rewrite the history instead of continuing it.")
]
SideBySide: TypeAlias = Annotated[
    bool, typer.Option("--side-by-side", help="Old and new beside each other, where the terminal is wide.")
]
Pager: TypeAlias = Annotated[bool, typer.Option("--pager", help="Show long output in $PAGER, on a terminal.")]
Insecure: TypeAlias = Annotated[
    bool, typer.Option("--insecure", help="Allow a plain http base URL that is not on this machine.")
]
