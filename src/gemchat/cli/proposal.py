"""What happens to a fresh proposal: it is shown and, on a terminal, the user is asked what to do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gemchat import changes, editor, report
from gemchat.cli.picking import pick_from
from gemchat.core.model import FileChange, Turn
from gemchat.dialog import Dialog
from gemchat.diffview import MATCHED
from gemchat.errors import GemchatError
from gemchat.project import Project
from gemchat.view import View, interactive

_AFTERWARDS = {
    "apply": "applied; take it back with: gemchat undo",
    "discard": "discarded; no file was touched",
    "check": "the check passes; the change is applied, take it back with: gemchat undo",
    "nothing": "this leads back to the file as it is; nothing is pending any more",
    "keep": "pending; write it with: gemchat apply, drop it with: gemchat discard",
    "applied": "the hunks taken are applied; take them back with: gemchat undo",
}
_CHOICES = {
    "a": "apply",
    "d": "discard",
    "k": "keep",
    "p": "pick",
    "r": "refine",
    "o": "open",
}


class Review(NamedTuple):
    """`refine` takes a follow-up and returns the turn that answers it."""

    view: View
    place: Project
    refine: Callable[[str], Turn]
    environ: Mapping[str, str]
    side_by_side: bool = False
    pager: bool = False

    def settle(self, turn: Turn, *, apply_it: bool = False, applied: bool = False) -> None:
        """Shows the proposal of a turn and does with it what was asked for beforehand, or what the user says."""
        self._show(turn)
        files = [change for change in turn.proposal if change.after != change.before]
        if not files:
            self._end(turn, "nothing")
        elif applied:
            self._end(turn, "check")
        elif apply_it:
            changes.apply(self.place, [file.path for file in files])
            self._end(turn, "apply")
        elif self.view.as_json or not interactive():
            self._end(turn, "keep")
        else:
            self._ask(turn, files)

    def _ask(self, turn: Turn, files: Sequence[FileChange]) -> None:
        """Until the proposal is dealt with; a key that is no answer keeps it."""
        dialog = Dialog()
        dialog.forget()
        while True:
            choice = dialog.choose(_CHOICES, default="k")
            try:
                if choice == "refine":
                    turn = self._refined(dialog, turn)
                    files = [change for change in turn.proposal if change.after != change.before]
                elif choice == "open":
                    files = self._opened(files)
                else:
                    return self._end(turn, self._done(dialog, choice, files))
            except GemchatError as error:
                self.view.error(error)
            if not files:
                return self._end(turn, "nothing")

    def _done(self, dialog: Dialog, choice: str, files: Sequence[FileChange]) -> str:
        paths = [file.path for file in files]
        if choice == "apply":
            changes.apply(self.place, paths)
        elif choice == "discard":
            changes.discard(self.place, paths)
        elif choice == "pick":
            change = pick_from(self.view, self.place, dialog, files, self.environ)
            return "keep" if change is None else "discard" if change.kind == "discarded" else "applied"
        return choice

    def _refined(self, dialog: Dialog, turn: Turn) -> Turn:
        follow_up = dialog.line("Follow-up: ")
        if follow_up:
            turn = self.refine(follow_up)
            self._show(turn)
            dialog.forget()
        return turn

    def _opened(self, files: Sequence[FileChange]) -> list[FileChange]:
        """What is pending after the user edited it."""
        texts = [changes.raw_text(self.place, file, file.after).encode() for file in files]
        named = [(file.path, text) for file, text in zip(files, texts, strict=True)]
        for file, old, new in zip(files, texts, editor.edit(named, self.environ), strict=True):
            if old != new:
                changes.revise(self.place, file, new)
        pending = self.place.pending()
        left = [pending[file.path] for file in files if file.path in pending]
        self._draw(left)
        return left

    def _show(self, turn: Turn) -> None:
        view = self.view
        if view.as_json:
            return
        view.explanation(turn.explanation)
        self._draw(turn.proposal)
        for change in turn.proposal:
            if change.tier != "exact":
                view.note(f"{change.path}{MATCHED[change.tier]}")
        for warning in turn.warnings:
            view.note(f"warning: {warning}")
        view.turn(turn, self.place.session)

    def _draw(self, files: Sequence[FileChange]) -> None:
        diffs = report.file_diffs(self.place, files)
        with self.view.paged(self.environ, wanted=self.pager):
            self.view.diff(diffs, side_by_side=self.side_by_side)

    def _end(self, turn: Turn, choice: str) -> None:
        if self.view.as_json:
            status = "applied" if choice in ("apply", "check") else "proposed"
            self.view.json(report.turn_json(self.place, turn, status=status))
        else:
            self.view.note(_AFTERWARDS[choice])
