"""log, show, export, rewind: the turns of a session. Local, and none of them touches a file it did not create."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemchat.cli import complete, options
from gemchat.cli.surroundings import Surroundings, opened, settings_of
from gemchat.errors import UsageError, WorkspaceError

if TYPE_CHECKING:
    from gemchat.core.model import Session


def log(
    ctx: typer.Context,
    number: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many of the newest turns.")] = 20,
    search: Annotated[
        str | None, typer.Option("-S", "--search", metavar="TEXT", help="Only turns in which this text was said.")
    ] = None,
    verbose: options.Verbose = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Draw the turns, newest last: what was sent and what became of the proposals.

    * is part of the conversation, o was rewound, x is incomplete.
    """
    from gemchat import past, turnview
    from gemchat.core import turns

    if search == "":
        raise UsageError("there is nothing to search for", 'For example: gemchat log -S "timeout"')
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    conversation = place.load()
    shown = past.entries(conversation)
    if search is not None:
        found = set(turns.containing([entry.turn for entry in shown], search))
        shown = [entry for entry in shown if entry.turn in found]
    shown = shown[-number:]
    if as_json:
        view.json(past.log_json(conversation, shown))
    elif shown:
        view.lines(turnview.log_lines(conversation, shown, place.clock(), verbose=verbose))
    else:
        view.note("there are no turns yet" if search is None else f"nobody said {search}")


def show(
    ctx: typer.Context,
    turn: Annotated[
        str,
        typer.Argument(
            metavar="TURN", help="The number of a turn, as log has it.", autocompletion=complete.turn_numbers
        ),
    ],
    pager: options.Pager = False,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Show one turn: what was asked, what came back, and the change it proposed."""
    from gemchat import past, report, turnview

    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    found = next((entry for entry in past.entries(place.load()) if entry.turn.id == turn), None)
    if found is None:
        raise _unknown(turn)
    if as_json:
        view.json(past.show_json(place, found))
    else:
        diffs = report.file_diffs(place, found.turn.proposal)
        with view.paged(ctx.obj.environ, wanted=pager or settings_of(ctx, place).pager):
            view.exchange(found.turn, turnview.head_lines(found), diffs)


def export(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE.md]", help="A file to create; none means stdout.")
    ] = None,
    session: options.SessionName = None,
    project: options.ProjectRoot = None,
) -> None:
    """Write the conversation as Markdown: questions, answers and changes."""
    from gemchat import exporting, past, report

    view, place = opened(ctx, session=session, root=project)
    conversation = place.load()
    shown = [entry for entry in past.entries(conversation) if entry.in_conversation]
    diffs = {entry.turn.id: report.file_diffs(place, entry.turn.proposal) for entry in shown}
    text = exporting.markdown(conversation, shown, diffs)
    if file is None:
        view.document(text)
        return
    here: Surroundings = ctx.obj
    _create(here.directory / file, text)
    view.note(f"wrote {file}")


def rewind(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", min=1, help="How many turns to drop; none means one.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TURN",
            help="Go on after this turn instead, be it an earlier or a rewound one.",
            autocompletion=complete.turn_numbers,
        ),
    ] = None,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Drop the last N turns from the conversation; files and what is pending stay as they are.

    The turns stay in log, and --to goes back to them.
    """
    from gemchat import past
    from gemchat.core.history import current_path, pending_changes

    if number is not None and to is not None:
        raise UsageError("say how many turns to drop, or the turn to go --to, not both")
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    before: list[Session] = []

    def choose(conversation: Session) -> str | None:
        before.append(conversation)
        return _head(conversation, number, to)

    rewound = place.rewind(choose)
    path = current_path(rewound)
    dropped = [turn for turn in current_path(before[0]) if turn not in path]
    if as_json:
        view.json(past.rewind_json(rewound, dropped))
        return
    view.note(f"the conversation goes on after turn {rewound.head}" if path else "the conversation starts anew")
    if pending := pending_changes(rewound):
        view.note(f"still pending: {', '.join(pending)}; drop it with: gemchat discard")


def _head(session: Session, number: int | None, to: str | None) -> str | None:
    from gemchat.core import turns

    if to is None:
        try:
            return turns.head_before(session, number or 1)
        except ValueError as error:
            raise UsageError(str(error), "See: gemchat log") from None
    turn = turns.find(session, to)
    if turn is None:
        raise _unknown(to)
    if turn.status == "incomplete":
        raise UsageError(f"turn {to} is incomplete; a conversation cannot go on after it", "See: gemchat log")
    return turn.id


def _unknown(turn: str) -> UsageError:
    return UsageError(f"there is no turn {turn}", "See: gemchat log")


def _create(path: Path, text: str) -> None:
    """A new file; one that is there already is somebody's and stays."""
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise WorkspaceError(f"{path} exists already", "Name another file, or remove it first.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a file name"
        raise WorkspaceError(f"{path} cannot be written: {reason}") from None
