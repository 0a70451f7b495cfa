"""pick: goes through what is pending hunk by hunk and writes those that the user takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from gemchat import changes, editor, report
from gemchat.changes import PickedFile
from gemchat.cli import options
from gemchat.cli.surroundings import opened, paths_of
from gemchat.core.model import Change, FileChange
from gemchat.core.picking import Selection, editable, split
from gemchat.dialog import Dialog
from gemchat.errors import EditConflict, UsageError
from gemchat.project import Project
from gemchat.view import View, interactive

_KEYS = {
    "y": "take this hunk",
    "n": "leave it out",
    "a": "take it and all further ones of this file",
    "d": "leave it out and all further ones of this file",
    "q": "leave it out and all further ones, and write what was taken",
    "s": "split it",
    "e": "edit it in $VISUAL or $EDITOR, and take it",
    "?": "explain the keys",
}


def pick(
    ctx: typer.Context,
    files: options.Pending = None,
    session: options.SessionName = None,
    as_json: options.AsJson = False,
    project: options.ProjectRoot = None,
) -> None:
    """Go through what is pending hunk by hunk and write what you take, like git add -p."""
    if not interactive():
        raise UsageError("pick asks on a terminal, and there is none", "Use: gemchat apply --hunks 1,3-4")
    view, place = opened(ctx, session=session, root=project, as_json=as_json)
    pending = changes.select(place.load(), paths_of(ctx, place, files))
    change = pick_from(view, place, Dialog(), pending, ctx.obj.environ)
    if change is not None:
        view.change(change)


def pick_from(
    view: View, place: Project, dialog: Dialog, files: Sequence[FileChange], environ: Mapping[str, str]
) -> Change | None:
    """What was done: hunks applied, or all discarded; None when all stays pending."""
    for file in files:
        if place.version(file.path) != file.before:
            raise EditConflict(f"{file.path} has changed since the proposal was made", "See: gemchat diff")
    picking = _Picking(view, dialog, environ)
    picked = [picking.file(place, file) for file in files]
    taken = any(any(file.hunks.taken) for file in picked)
    drop = not picking.quit and not all(file.hunks.complete for file in picked) and _drops_rest(dialog)
    if taken:
        return changes.apply_picked(place, picked, drop_rest=drop)
    if drop:
        return changes.discard(place, [file.path for file in files])
    view.note("no hunk was taken; all stays pending")
    return None


def _drops_rest(dialog: Dialog) -> bool:
    dialog.say("The hunks left out: ")
    return dialog.choose({"k": "keep pending", "d": "discard"}, default="k") == "discard"


class _Picking:
    """The questions about one hunk after the other. `quit` is set when the user wants to hear no more of them."""

    def __init__(self, view: View, dialog: Dialog, environ: Mapping[str, str]) -> None:
        self.quit = False
        self._view = view
        self._dialog = dialog
        self._environ = environ

    def file(self, place: Project, file: FileChange) -> PickedFile:
        (diff,) = report.file_diffs(place, [file])
        asked = changes.hunks_of(place, file)
        while (index := asked.current) is not None and not self.quit:
            hunk = asked.hunks[index]
            self._view.hunk(diff, hunk, f"hunk {index + 1} of {len(asked.hunks)}")
            asked = self._answered(asked, file.path, diff.before or "")
        return PickedFile(file, asked.decide_rest(False))

    def _answered(self, asked: Selection, path: str, old: str) -> Selection:
        hunk = asked.hunks[asked.current or 0]
        keys = [key for key in _KEYS if key != "s" or len(split(hunk)) > 1]
        while True:
            self._dialog.say(f"Take this hunk of {path} [{','.join(keys)}]? ")
            key = self._dialog.key().lower() or "q"
            self._dialog.say(f"{key if key in keys else ''}\n")
            if key == "e":
                return self._edited(asked, path, old)
            if key in keys and key != "?":
                return self._decided(asked, key)
            for known in keys:
                self._dialog.say(f"  {known}  {_KEYS[known]}\n")

    def _decided(self, asked: Selection, key: str) -> Selection:
        if key == "s":
            return asked.split()
        if key in ("y", "n"):
            return asked.decide(key == "y")
        self.quit = key == "q"
        return asked.decide_rest(key == "a")

    def _edited(self, asked: Selection, path: str, old: str) -> Selection:
        """An edit that does not fit is explained, and goes on from where it was unless the user gives it up."""
        text = editable(asked.hunks[asked.current or 0]).encode()
        while True:
            try:
                (text,) = editor.edit([(f"{path}.diff", text)], self._environ)
                return asked.edit(_text(text), old)
            except UsageError as error:
                self._view.error(error)
                return asked
            except ValueError as error:
                self._view.note(f"the edited hunk does not fit: {error}")
            if self._dialog.choose({"e": "edit again", "l": "leave it as it was"}, "e") != "edit again":
                return asked


def _text(data: bytes) -> str:
    """Raises ValueError for what is no text."""
    if b"\0" in data:
        raise ValueError("it is binary")
    return data.decode()
