"""The two streams of a terminal program: results on stdout, everything else on stderr.

Owns both. Text of models and files is always made harmless before a terminal sees it and is never markup; in a
pipe results go out as they are. Rich is loaded when something is drawn on a terminal, not before.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gemchat import report
from gemchat.core.contents import to_json
from gemchat.core.model import Change, Sent, SentFile, Session, Turn, Usage
from gemchat.core.planner import FIRST_TURN
from gemchat.core.visible import one_line, visible
from gemchat.diffview import counted, drawn, summary
from gemchat.errors import GemchatError, OutputLost
from gemchat.output import write, write_bytes
from gemchat.prepare import Prepared

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from gemchat.markdown import MarkdownStream

_PAST = {"applied": "applied", "discarded": "discarded", "undone": "undone", "redone": "applied again"}


class View:
    def __init__(self, *, quiet: bool = False, as_json: bool = False, color: str = "auto") -> None:
        self.quiet = quiet
        self.as_json = as_json
        self._color = color
        self._markdown: MarkdownStream | None = None
        self._status: Status | None = None
        self._mid_line = False
        self._lost: OutputLost | None = None

    def note(self, text: str) -> None:
        """A line about what happens, unless the user wants none."""
        if not self.quiet:
            write(sys.stderr, f"gemchat: {visible(text)}\n")

    def error(self, error: GemchatError) -> None:
        if self.as_json:
            write(sys.stderr, f"{to_json(report.error_json(error))}\n")
            return
        write(sys.stderr, f"gemchat: {visible(error.message)}\n")
        if error.hint:
            write(sys.stderr, f"{visible(error.hint)}\n")

    def json(self, value: dict[str, Any]) -> None:
        """UTF-8 whatever the locale; on a terminal, where nothing may act, ASCII."""
        text = json.dumps(value) if sys.stdout.isatty() else to_json(value)
        write_bytes(f"{text}\n".encode("utf-8", "replace"))

    def stream(self, text: str) -> None:
        """A piece of an answer as it arrives: Markdown on a terminal, the text itself in a pipe."""
        self._stop_waiting()
        if self.as_json:
            return
        if not sys.stdout.isatty():
            self._mid_line = not text.endswith("\n")
            try:
                write(sys.stdout, text)
            except OutputLost as error:
                self._lost = error
            return
        if self._markdown is None:
            from gemchat.markdown import MarkdownStream

            self._markdown = MarkdownStream(self._console())
        self._markdown.feed(text)

    @contextmanager
    def answer(self, model: str) -> Iterator[None]:
        """Around a turn: shows that something is waited for, and leaves both streams tidy whatever happens.

        An answer that cannot be written is an error afterwards: by then it is in the session and can be shown.
        """
        self._wait(f"waiting for {model} …")
        try:
            yield
            if self._lost is not None:
                raise self._lost
        finally:
            self._stop_waiting()
            if self._markdown is not None:
                self._markdown.close()
                self._markdown = None
            if self._mid_line:
                write(sys.stdout, "\n")
                self._mid_line = False

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Waits; where a terminal shows that something is waited for, it counts down."""
        status = self._status
        if status is None:
            sleep(seconds)
            return
        waiting = status.status
        for left in range(math.ceil(seconds), 0, -1):
            status.update(f"trying again in {left} s …")
            step = min(1.0, seconds)
            sleep(step)
            seconds -= step
        status.update(waiting)

    def choose(self, choices: Mapping[str, str], default: str) -> str:
        """Asks for one key on the terminal; any other key, end of input included, is the default."""
        import typer

        write(sys.stderr, "  ".join(f"[{key}]{word[1:]}" for key, word in choices.items()) + " ")
        try:
            key = typer.getchar().lower()
        except EOFError:
            key = default
        word = choices.get(key, choices[default])
        write(sys.stderr, f"{word}\n")
        return word

    def output(self, data: bytes) -> None:
        """What a command of the user's prints, as it is: a result."""
        write_bytes(data)

    def beside(self, data: bytes) -> None:
        """What a command prints that only checks something: beside the result."""
        if not self.quiet:
            write(sys.stderr, data.decode("utf-8", "replace"))

    def explanation(self, text: str) -> None:
        """Why an edit is proposed: beside the result, not part of it."""
        if text and not self.quiet:
            write(sys.stderr, f"{visible(text.strip())}\n\n")

    def turn(self, turn: Turn, session: str) -> None:
        """One line on what a turn cost."""
        if self.as_json:
            return
        self.note(f"{session}, turn {turn.id}: {describe_sent(turn.sent)}, {describe_usage(turn.usage)}")

    def decision(self, prepared: Prepared) -> None:
        plan = prepared.plan
        lines = [f"{plan.route}: {plan.reason}"]
        lines += [f"  {file.path}: {file.source}, {file.reason}" for file in plan.files]
        if plan.context:
            lines.append("  the read-only context goes along")
        lines += [f"  told: {outcome.path} was {outcome.outcome}" for outcome in plan.outcomes]
        lines.append(f"  {prepared.bytes:,} bytes, about {prepared.tokens:,} tokens; nothing was sent")
        write(sys.stdout, visible("\n".join(lines)) + "\n")

    def diff(self, diffs: Sequence[report.FileDiff], *, patch: bool = False) -> None:
        """Coloured hunks on a terminal, elsewhere a patch with the exact bytes of the files."""
        if (patch or not self._colored()) and sys.stdout.isatty():
            write(sys.stdout, visible(report.patch(diffs)))
            return
        if patch or not self._colored():
            write_bytes(report.patch(diffs).encode())
            return
        console = self._console()
        number = 1
        for diff in diffs:
            console.print(drawn(diff, number), soft_wrap=True)
            number += len(diff.hunks)
        console.print(summary(diffs), style="dim", highlight=False)

    def stat(self, diffs: Sequence[report.FileDiff]) -> None:
        for diff in diffs:
            added, removed = diff.counts
            write(sys.stdout, f"{visible(diff.path)} +{added} -{removed}\n")
        write(sys.stdout, f"{summary(diffs)}\n")

    def change(self, change: Change) -> None:
        if self.as_json:
            self.json(report.change_json(change))
            return
        for file in change.files:
            write(sys.stdout, f"{_PAST[change.kind]} {visible(file.path)}\n")

    def overview(self, state: report.Overview) -> None:
        lines = [f"session   {state.session}, {counted(state.turns, 'turn')}"]
        if state.model:
            lines.append(f"model     {state.model} ({state.backend}), {state.epoch_turns} since the last restart")
        lines += [f"file      {target.path}: {_state(target)}" for target in state.targets]
        lines.append(f"pending   {', '.join(state.pending) or 'nothing'}")
        lines.append(f"changes   {state.undo} to undo, {state.redo} to redo")
        if state.context:
            lines.append(f"context   {', '.join(state.context)}")
        lines.append(f"tokens    {describe_usage(state.usage)}")
        write(sys.stdout, visible("\n".join(lines)) + "\n")

    def log(self, session: Session, turns: Iterable[Turn]) -> None:
        for turn in turns:
            when = datetime.fromtimestamp(turn.at).astimezone().strftime("%Y-%m-%d %H:%M")
            state = turn.status if turn.status != "complete" else report.turn_outcome(turn, session) or "answered"
            write(sys.stdout, f"{turn.id:>4}  {when}  {turn.mode:4}  {state:9}  {one_line(turn.prompt, 60)}\n")
            write(sys.stdout, f"      {visible(describe_sent(turn.sent))}, {describe_usage(turn.usage)}\n")

    def exchange(self, turn: Turn, diffs: Sequence[report.FileDiff]) -> None:
        """One turn as it was: the question, the answer or the raw reply that could not be used, the change."""
        write(
            sys.stdout,
            f"turn {turn.id}, {turn.mode}, {turn.status}, {turn.model}\n\n{self._shown(turn.prompt)}\n\n",
        )
        if turn.problem:
            write(sys.stdout, f"{visible(turn.problem)}\n\n")
        reply = turn.explanation if turn.status == "complete" else turn.reply
        write(sys.stdout, f"{self._shown(reply)}\n")
        if diffs:
            write(sys.stdout, "\n")
            self.diff(diffs)

    def sessions(self, names: Sequence[str], current: str) -> None:
        for name in names:
            write(sys.stdout, f"{'*' if name == current else ' '} {name}\n")

    def _shown(self, text: str) -> str:
        """Text of a model or a user: harmless on a terminal, itself in a pipe."""
        return visible(text) if sys.stdout.isatty() else text

    def _wait(self, text: str) -> None:
        if self.quiet or self.as_json or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        self._status = Status(Text(visible(text)), console=Console(stderr=True, markup=False, highlight=False))
        self._status.start()

    def _stop_waiting(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _colored(self) -> bool:
        if self._color == "auto":
            return sys.stdout.isatty()
        return self._color == "always"

    def _console(self) -> Console:
        from rich.console import Console

        return Console(
            file=sys.stdout,
            markup=False,
            emoji=False,
            highlight=False,
            force_terminal=True if self._color == "always" else None,
        )


def interactive() -> bool:
    """Whether questions may be asked: only when both ends of the conversation are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def describe_sent(sent: Sent) -> str:
    files = ", ".join(describe_file(file) for file in sent.files) or "no file"
    rewritten = "" if sent.route == "continue" or sent.reason == FIRST_TURN else f"restarted ({sent.reason}); "
    return f"{rewritten}{files}; {sent.bytes:,} bytes"


def describe_file(file: SentFile) -> str:
    words = {"synchronized": "not sent", "full": "sent in full", "delta": "sent as a diff", "absent": "new file"}
    return f"{file.path} {words[file.source]} ({file.reason})"


def describe_usage(usage: Usage) -> str:
    return f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output + usage.thought:,} out"


def _state(target: report.TargetState) -> str:
    if target.state == "changed":
        words = f"changed +{target.added} -{target.removed} since the model saw it"
    else:
        words = {
            "synchronized": "synchronized with the model",
            "unknown": "not known to the model",
            "absent": "does not exist",
        }[target.state]
    return words if target.proposal == "none" else f"{words}; proposal {target.proposal}"
