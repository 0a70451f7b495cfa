"""The application, and the one place where failures become messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gemchat import __version__, output
from gemchat.cli.surroundings import Surroundings
from gemchat.cli.table import with_commands
from gemchat.errors import ConfigError, Ended, GemchatError, UsageError, WorkspaceError

INTERRUPTED = 130

app = typer.Typer(
    name="gemchat",
    help="Talk to Gemini about your files without sending them twice; review, apply and undo its edits.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gemchat {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str], here: Surroundings) -> int:
    """Runs one command line and returns its exit code. Nothing but the exit code leaves this function."""
    try:
        return attempt(arguments, here)
    except GemchatError as error:
        return failed(error, arguments, here)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Ended as ended:
        return ended.exit_code


def attempt(arguments: Sequence[str], here: Surroundings) -> int:
    """Runs one command line and returns the exit code it chose.

    Nothing leaves this function but what is in the error tree, KeyboardInterrupt and Ended.
    """
    try:
        code = with_commands(app)(args=list(arguments), obj=here, prog_name="gemchat", standalone_mode=False)
    except (GemchatError, Ended):
        raise
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message())
            return 0
        at = getattr(error, "ctx", None)
        raise UsageError(error.format_message(), f"See: {at.command_path if at else 'gemchat'} --help") from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:  # how typer and rich leave when nobody reads any more
        return 0
    except OSError as error:
        raise (output.lost(error) or _bug(error, here)) from None
    except Exception as error:  # noqa: BLE001  the edge: a bug is logged and named, not thrown at the user
        raise _bug(error, here) from None
    return code if isinstance(code, int) else 0


def failed(error: GemchatError, arguments: Sequence[str], here: Surroundings | None = None) -> int:
    """Says what went wrong and returns the exit code."""
    from gemchat.apikey import own_keys
    from gemchat.core.secrets import redacted
    from gemchat.view import View

    keys = own_keys(here.environ, here.user_file.parent) if here else ()
    error.message, error.hint = redacted(error.message, keys), redacted(error.hint, keys)
    options = list(arguments)[: list(arguments).index("--") if "--" in arguments else None]
    View(as_json="--json" in options).error(error)
    return error.exit_code


def _bug(error: Exception, here: Surroundings) -> GemchatError:
    import traceback

    from gemchat.apikey import own_keys
    from gemchat.core.secrets import redacted
    from gemchat.core.visible import visible

    said = f"this is a bug in gemchat: {type(error).__name__}"
    try:
        log = here.log()
    except ConfigError as unusable:
        return unusable
    try:
        trace = redacted("".join(traceback.format_exception(error)), own_keys(here.environ, here.user_file.parent))
        log.write(visible(trace))
    except OSError:
        return GemchatError(said, f"{log.path} could not be written.")
    return GemchatError(said, f"Please report it with: {log.path}")


def main() -> int:
    """One command line of this process."""
    prepare_signals()
    prepare_streams()
    try:
        here = Surroundings()
    except FileNotFoundError:
        return failed(WorkspaceError("the current directory does not exist any more"), sys.argv[1:])
    return run(sys.argv[1:], here)


def prepare_signals() -> None:
    """To be ended is like Ctrl-C: what was received is kept, the terminal as it was, nothing half done."""
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, signal.SIGTERM)
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup wants SIGHUP to be ignored
            signal.signal(number, _end)


def _end(number: int, _: object) -> None:
    raise Ended(number)


def prepare_streams() -> None:
    """A stream that is closed leads nowhere; what cannot be encoded is written as an escape instead of failing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  open until the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
