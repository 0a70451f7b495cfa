"""The two streams of a terminal program: results on stdout, everything else on stderr.

Owns both. Text of models and files is always made harmless before a terminal sees it and is never markup; in a
pipe results go out as they are. Rich is loaded when something is drawn on a terminal, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gemchat import report
from gemchat.core.diff import Hunk
from gemchat.core.model import Change, Turn
from gemchat.core.visible import harmless_json, indented, visible, visible_line
from gemchat.diffview import DiffPrinter, counted, patch_bytes, summary
from gemchat.errors import GemchatError, OutputLost
from gemchat.output import write, write_bytes
from gemchat.pager import through_pager
from gemchat.turnview import decision_lines, describe_sent, describe_usage, details

if TYPE_CHECKING:
    from rich.console import Console

    from gemchat.explaining import Explaining
    from gemchat.markdown import MarkdownStream
    from gemchat.prepare import Prepared
    from gemchat.waiting import Waiting

_PAST = {"applied": "applied", "discarded": "discarded", "undone": "undone", "redone": "applied again"}


class View:
    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, color: str = "auto", verbose: bool = False
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.as_json = as_json
        self._color = color
        self._markdown: MarkdownStream | None = None
        self._waiting: Waiting | None = None
        self._model = ""
        self._mid_line = False
        self._paging = False
        self._lost: OutputLost | None = None
        self._explaining: Explaining | None = None

    def note(self, text: str) -> None:
        """A line about what happens, unless the user wants none."""
        self._end_explaining()
        if not self.quiet:
            write(sys.stderr, f"gemchat: {visible_line(text)}\n")

    def error(self, error: GemchatError) -> None:
        if self.as_json:
            write(sys.stderr, f"{_safe_json(report.error_json(error))}\n")
            return
        write(sys.stderr, f"gemchat: {indented(error.message)}\n")
        if error.hint:
            write(sys.stderr, f"{indented(error.hint)}\n")

    def json(self, value: dict[str, Any]) -> None:
        """UTF-8 whatever the locale, and nothing in it that could act on a terminal."""
        write_bytes(f"{_safe_json(value)}\n".encode())

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

    def explain(self, piece: str) -> None:
        """A piece of an edit's reply as it arrives: what it explains is shown at once, on a terminal."""
        if self._shows_progress:
            if self._explaining is None:
                from gemchat.explaining import Explaining

                self._explaining = Explaining(self.progress)
            self._explaining.feed(piece)

    def _end_explaining(self) -> None:
        if self._explaining is not None:
            self._explaining.end()

    @contextmanager
    def answer(self, model: str) -> Iterator[None]:
        """Around a turn: shows that something is waited for, and leaves both streams tidy whatever happens.

        An answer that cannot be written is an error afterwards: by then it is in the session and can be shown.
        """
        self._model = model
        self.progress("connecting")
        try:
            yield
            if self._lost is not None:
                raise self._lost
        finally:
            self._stop_waiting()
            self._end_explaining()
            if self._markdown is not None:
                self._markdown.close()
                self._markdown = None
            if self._mid_line:
                write(sys.stdout, "\n")
                self._mid_line = False

    def progress(self, words: str) -> None:
        """Shows on a terminal what the turn waits for; no words take it away again."""
        if not words:
            self._stop_waiting()
        elif self._shows_progress:
            if self._waiting is None:
                from gemchat.waiting import Waiting

                self._waiting = Waiting()
            self._waiting.say(f"{self._model}: {words} …")

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleeps; where a terminal shows that something is waited for, it counts down."""
        if self._waiting is None:
            sleep(seconds)
        else:
            self._waiting.pause(seconds, sleep)

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
            shown = "" if self._explaining and text == self._explaining.last else f"{visible(text.strip())}\n"
            write(sys.stderr, f"{shown}\n")

    def turn(self, turn: Turn, session: str) -> None:
        """One line on what was sent and what it cost, or all there is to say."""
        if self.as_json:
            return
        self.note(f"{session}, turn {turn.id}: {describe_sent(turn.sent)}, {describe_usage(turn.usage)}")
        for line in details(turn) if self.verbose else ():
            self.note(f"  {line}")

    def decision(self, prepared: Prepared) -> None:
        self.lines(decision_lines(prepared.plan, prepared.bytes, prepared.tokens))

    def diff(self, diffs: Sequence[report.FileDiff], *, patch: bool = False, side_by_side: bool = False) -> None:
        """Numbered hunks on a terminal, elsewhere a patch with the exact bytes of the files."""
        terminal = self._on_terminal()
        if patch and terminal:
            write(sys.stdout, visible(report.patch(diffs)))
        elif patch or not (terminal or self._color == "always"):
            write_bytes(patch_bytes(diffs))
        else:
            DiffPrinter(self._console(), side_by_side=side_by_side).print(diffs)

    def hunk(self, diff: report.FileDiff, hunk: Hunk, title: str) -> None:
        """One hunk that the user is asked about."""
        from rich.console import Console

        DiffPrinter(Console(stderr=True, markup=False, emoji=False, highlight=False)).print_hunk(diff, hunk, title)

    def markdown(self, text: str) -> None:
        """A whole answer on a terminal."""
        from rich.markdown import Markdown

        self._console().print(Markdown(visible(text), hyperlinks=False))

    @property
    def pages(self) -> bool:
        """Whether results can go through a pager."""
        return sys.stdout.isatty() and not self.as_json

    @contextmanager
    def paged(self, environ: Mapping[str, str], *, wanted: bool = True) -> Iterator[None]:
        """Results printed meanwhile go through the user's pager, if that is wanted and they go to a terminal."""
        if not (wanted and self.pages):
            yield
            return
        with through_pager(environ):
            self._paging = True
            try:
                yield
            finally:
                self._paging = False

    def stat(self, diffs: Sequence[report.FileDiff]) -> None:
        for diff in diffs:
            added, removed = diff.counts
            write(sys.stdout, f"{visible_line(diff.path)} +{added} -{removed}\n")
        write(sys.stdout, f"{summary(diffs)}\n")

    def change(self, change: Change) -> None:
        if self.as_json:
            self.json(report.change_json(change))
            return
        for file in change.files:
            write(sys.stdout, f"{_PAST[change.kind]} {visible_line(file.path)}\n")

    def overview(self, state: report.Overview) -> None:
        lines = [f"session   {state.session}, {counted(state.turns, 'turn')}"]
        if state.model:
            lines.append(f"model     {state.model} ({state.backend}), {state.epoch_turns} held word for word")
        lines += [f"file      {target.path}: {_state(target)}" for target in state.targets]
        lines.append(f"pending   {', '.join(state.pending) or 'nothing'}")
        lines.append(f"changes   {state.undo} to undo, {state.redo} to redo")
        if state.context:
            lines.append(f"context   {', '.join(state.context)}")
        lines.append(f"tokens    {describe_usage(state.usage)}")
        self.lines(lines)

    def lines(self, lines: Iterable[str]) -> None:
        """A result that is a list."""
        write(sys.stdout, "".join(f"{visible_line(line)}\n" for line in lines))

    def document(self, text: str) -> None:
        """A text that is the result: harmless on a terminal, itself in a pipe."""
        if sys.stdout.isatty():
            write(sys.stdout, visible(text))
        else:
            write_bytes(text.encode("utf-8", "replace"))

    def exchange(self, turn: Turn, head: Iterable[str], diffs: Sequence[report.FileDiff]) -> None:
        """One turn as it was: the question, the answer or the raw reply that could not be used, the change."""
        self.lines((*head, ""))
        complete = turn.status == "complete"
        prompt, reply = turn.prompt.rstrip("\n"), turn.explanation if complete else turn.reply
        self.document("".join(f"> {line}\n" for line in prompt.split("\n")) + "\n")
        if complete and self._on_terminal():
            from gemchat.markdown import MarkdownStream

            markdown = MarkdownStream(self._console())
            markdown.feed(reply)
            markdown.close()
        elif reply:
            self.document(reply if reply.endswith("\n") else f"{reply}\n")
        if diffs:
            write(sys.stdout, "\n")
            self.diff(diffs)

    def sessions(self, names: Sequence[str], current: str) -> None:
        self.lines(f"{'*' if name == current else ' '} {name}" for name in names)

    @property
    def _shows_progress(self) -> bool:
        return not (self.quiet or self.as_json) and sys.stderr.isatty()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()

    def _on_terminal(self) -> bool:
        return self._paging or sys.stdout.isatty()

    def _console(self) -> Console:
        from rich.console import Console

        return Console(
            file=sys.stdout,
            markup=False,
            emoji=False,
            highlight=False,
            force_terminal=True if self._color == "always" or self._paging else None,
            color_system=None if self._color == "never" else "auto",
        )


def interactive() -> bool:
    """Whether questions may be asked: only when both ends of the conversation are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _safe_json(value: dict[str, Any]) -> str:
    from gemchat.core.contents import to_json

    return harmless_json(to_json(value))


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
