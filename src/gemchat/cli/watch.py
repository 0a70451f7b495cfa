"""watch: a comment to gemchat in a file that is saved becomes a turn about that file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Annotated, NamedTuple

import typer
from msgspec.structs import replace

from gemchat import changes
from gemchat.apikey import api_key
from gemchat.chat import Chat
from gemchat.cli import options
from gemchat.cli.commands import Check, edit_until
from gemchat.cli.connections import KeptConnections
from gemchat.cli.proposal import Review
from gemchat.cli.surroundings import Surroundings
from gemchat.config import LOCAL_MODEL, Settings
from gemchat.core import history
from gemchat.core.model import FileChange, Mode, Turn
from gemchat.core.remarks import Remark, line_at, without, wording
from gemchat.core.visible import one_line
from gemchat.diffview import counted
from gemchat.errors import EditConflict, FileMissing, GemchatError, Unavailable
from gemchat.prepare import Ask
from gemchat.project import Project
from gemchat.view import View
from gemchat.watching import Saved, Watched, in_repository, output_files

_GOES_ON = range(5, 9)  # exit codes of what goes wrong with one turn only


def watch(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Files, directories; none means this one.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Apply changes at once.")] = False,
    session: options.SessionName = None,
    model: options.Model = None,
    backend: options.BackendName = None,
    thinking: options.Thinking = None,
    side_by_side: options.SideBySide = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    insecure: options.Insecure = False,
    project: options.ProjectRoot = None,
) -> None:
    """Act on new comments `gemchat: …` (edit) and `gemchat? …` (ask) in files as they are saved."""
    view = View(quiet=quiet, verbose=verbose)
    here: Surroundings = ctx.obj
    place = here.project(view, session=session, root=project)
    given = {"model": model, "backend": backend, "thinking": thinking, "insecure": "true" if insecure else None}
    chosen = here.settings(place.workspace.root, **given)
    watched = _watched(here, place, paths or ["."])
    with _ready(here, chosen) as ready:
        turns = _Turns(view, ready, place, chosen, yes=yes, side_by_side=side_by_side)
        with closing(here.saved_files(sorted(watched.named))) as bunches:
            next(bunches)
            files = counted(watched.begin(), "file")
            view.note(f"watching {files} for new comments gemchat: … and gemchat? …; Ctrl-C ends it")
            for names in bunches:
                for saved in watched.appeared(names):
                    turns.take(saved, watched.forget)


def _watched(here: Surroundings, place: Project, names: Sequence[str]) -> Watched:
    root = place.workspace.root
    named = [root / place.workspace.relative(name, here.directory) for name in names]
    for name, path in zip(names, named, strict=True):
        if not path.exists():
            raise FileMissing(f"there is no file or directory {name}", "Name what exists; new files are noticed.")
    return Watched(
        place.workspace,
        named,
        encodings=place.load().encodings,
        is_own=lambda version: version in history.moved_versions(place.load()),
        is_stored=in_repository,
        note=place.note,
        outputs=output_files(),
    )


@contextmanager
def _ready(here: Surroundings, chosen: Settings) -> Iterator[Surroundings]:
    """One connection for all turns, and the SDK imported while nothing is asked yet."""
    with closing(KeptConnections()) as connections:
        if chosen.model != LOCAL_MODEL:
            if not chosen.vertex:
                api_key(here.environ, here.user_file.parent)
            connections.load()
        yield dataclasses.replace(here, connections=connections)


class _Turns(NamedTuple):
    """What remarks lead to, all in one session."""

    view: View
    here: Surroundings
    place: Project
    chosen: Settings
    yes: bool
    side_by_side: bool

    def take(self, saved: Saved, forget: Callable[[Saved, Sequence[Remark]], None]) -> None:
        """Answers the questions and proposes what the rest asks for. One that fails does not stop the others."""
        wanted = [[remark] for remark in saved.remarks if remark.mode == "ask"]
        wanted += [edits] if (edits := [remark for remark in saved.remarks if remark.mode == "edit"]) else []
        for remarks in wanted:
            try:
                self._take(saved, remarks)
            except GemchatError as error:
                if error.exit_code not in _GOES_ON:
                    raise
                self.view.error(error)
                if isinstance(error, Unavailable | EditConflict):
                    forget(saved, remarks)
                    self.place.note(f"the comment is tried again when {saved.path} is saved again")

    def _take(self, saved: Saved, remarks: Sequence[Remark]) -> None:
        for remark in remarks:
            line = line_at(saved.file.text, remark.start)
            self.place.note(f"{saved.path}, line {line}: {one_line(remark.prompt, 100)}")
        question = self._question(saved, remarks)
        if question.mode == "ask":
            self.view.turn(self._send(question, on_text=self.view.stream), self.place.session)
        else:
            self._propose(saved, question)

    def _propose(self, saved: Saved, question: Ask) -> None:
        review = Review(
            self.view,
            self.place,
            lambda prompt: self._send(replace(question, prompt=prompt, drafts=())),
            self.here.environ,
            side_by_side=self.side_by_side or self.chosen.side_by_side,
        )
        send = partial(self._propose_for, saved)
        if self.yes and self.chosen.check:
            check = Check(self.chosen.check, self.chosen.check_timeout)
            review.settle(edit_until(check, send, question, self.view, self.place), applied=True)
        else:
            review.settle(send(question), apply_it=self.yes)

    def _propose_for(self, saved: Saved, question: Ask) -> Turn:
        turn = self._send(question)
        if any(change.before != saved.version for change in turn.proposal):
            changes.discard(self.place, [saved.path])
            raise EditConflict(f"{saved.path} was saved again before it was read; its proposal is dropped")
        return turn

    def _question(self, saved: Saved, remarks: Sequence[Remark]) -> Ask:
        """It is about the file without these remarks, so that a proposal never has them."""
        mode: Mode = remarks[0].mode
        bare = self.place.store.blobs.put(without(saved.file, remarks))
        encoding = saved.file.encoding
        return Ask(
            mode=mode,
            prompt=wording(saved.path, saved.file.text, remarks),
            model=self.chosen.model,
            backend=self.chosen.backend,
            paths=(saved.path,),
            policy=self.here.policy(self.chosen),
            service=self.here.service(self.chosen),
            thinking=self.chosen.thinking,
            attach_limit=self.chosen.attachments_limit,
            drafts=(FileChange(path=saved.path, before=saved.version, after=bare, turn="", encoding=encoding),),
        )

    def _send(self, question: Ask, on_text: Callable[[str], None] = lambda _: None) -> Turn:
        with self.view.answer(self.chosen.model):
            chat = Chat(
                self.place,
                lambda: self.here.connect(self.chosen, self.view),
                on_text=on_text,
                progress=self.view.progress,
            )
            return chat.send(question)
