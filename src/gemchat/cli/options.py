"""The options that several commands share, each written down once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Files: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE...]", help="Files; none means those of the turn before.", show_default=False),
]
Pending: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[FILE...]", help="Only these files.", show_default=False)
]
Prompt: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROMPT", help="What to ask for; - reads it from stdin.")
]
SessionName: TypeAlias = Annotated[
    str | None,
    typer.Option("-s", "--session", metavar="NAME", help="Use this session instead of the current one."),
]
ProjectRoot: TypeAlias = Annotated[
    str | None,
    typer.Option("--project", metavar="DIR", help="The project's root, instead of the one found from here."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="Print the result and errors only.")]
Model: TypeAlias = Annotated[
    str | None, typer.Option("-m", "--model", metavar="NAME", help="The model to talk to.")
]
BackendName: TypeAlias = Annotated[
    str | None,
    typer.Option("--backend", metavar="auto|interactions|contents", help="The API that carries the conversation."),
]
Context: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-c", "--context", metavar="PATH", help="A read-only file that goes along from now on.", show_default=False
    ),
]
Thinking: TypeAlias = Annotated[
    str | None,
    typer.Option("--thinking", metavar="LEVEL", help="How long the model may think: low, medium, high."),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be sent and why; send nothing.")
]
NoStream: TypeAlias = Annotated[bool, typer.Option("--no-stream", help="Show the answer when it is complete.")]
Restart: TypeAlias = Annotated[
    bool, typer.Option("--restart", help="Rewrite the history instead of continuing it.")
]
Insecure: TypeAlias = Annotated[
    bool, typer.Option("--insecure", help="Allow a plain http base URL that is not on this machine.")
]
