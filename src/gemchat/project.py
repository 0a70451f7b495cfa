"""One session of one project: the store, the user's files and the clock, and what is read from them together.

`load` and `record` are the only way from and to disk. Turns and changes get their ids when they are recorded,
under the lock, so that they count up whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from msgspec.structs import replace

from gemchat.blobs import sha256
from gemchat.core import history
from gemchat.core.model import Change, ChangeKind, FileChange, NamedText, Session, Turn
from gemchat.core.textfile import UTF_8, decode
from gemchat.errors import NotText, WorkspaceError
from gemchat.store import DEFAULT_SESSION, Store, unknown
from gemchat.workspace import SIZE_LIMIT, Workspace


@dataclass(frozen=True)
class Project:
    store: Store
    workspace: Workspace
    session: str
    clock: Callable[[], float]
    note: Callable[[str], None]
    own_keys: tuple[str, ...] = field(default=(), repr=False)

    def load(self) -> Session:
        """The session as it is now. An interrupted change of files is finished or taken back first."""
        session = self._load()
        if session.intent is None:
            return session
        with self.store.lock():
            return self.recover(self._load())

    @contextmanager
    def locked(self) -> Iterator[Session]:
        """The session, not to be changed by anybody else until the block ends."""
        with self.store.lock():
            yield self.recover(self._load())

    def record(
        self,
        turn: Turn,
        *,
        stale: Sequence[FileChange] = (),
        context: Sequence[str] = (),
        encodings: Mapping[str, str] = MappingProxyType({}),
        outside: Sequence[str] = (),
    ) -> Turn:
        """Appends a turn that was planned on `turn.parent`, after dropping the proposals it found stale.

        `context`, `encodings` and `outside` are what the session has of that name from now on as well.

        If the conversation went on meanwhile, the turn joins its end and the next one starts a new epoch, because
        no chain on the server knows both.
        """
        with self.locked() as current:
            session = current
            dropped = [file for file in stale if history.pending_changes(current).get(file.path) == file]
            if dropped:
                session = self.with_change(session, "stale", dropped)
            if turn.status != "incomplete" and turn.parent != session.head:
                self.note("another terminal used this session meanwhile; both turns are kept")
                turn = replace(turn, parent=session.head, remote=replace(turn.remote, detached=True))
            turn = _numbered(turn, session)
            head = session.head if turn.status == "incomplete" else turn.id
            sticky = tuple(dict.fromkeys((*session.context, *context)))
            waiting = session.attached
            if turn.status != "incomplete":
                waiting = tuple(text for text in waiting if text.name not in turn.sent.attachments)
            recorded = replace(session, journal=(*session.journal, turn), head=head)
            self.store.save(
                replace(
                    recorded,
                    context=sticky,
                    attached=waiting,
                    encodings={**session.encodings, **encodings},
                    outside=tuple(dict.fromkeys((*session.outside, *outside))),
                )
            )
            return turn

    def rewind(self, choose: Callable[[Session], str | None]) -> Session:
        """Makes the chosen turn the newest of the conversation. Turns, proposals and files stay as they are."""
        with self.locked() as session:
            rewound = replace(session, head=choose(session))
            self.store.save(rewound)
            return rewound

    def pending(self) -> dict[str, FileChange]:
        """What is proposed now, by path."""
        return history.pending_changes(self.load())

    def change_context(
        self,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        encodings: Mapping[str, str] = MappingProxyType({}),
        outside: Sequence[str] = (),
        tree: bool | None = None,
    ) -> tuple[str, ...]:
        """Adds to and removes from the sticky context; returns what it is then. `tree`: with the overview."""
        with self.locked() as session:
            kept = tuple(path for path in dict.fromkeys((*session.context, *add)) if path not in remove)
            allowed = tuple(dict.fromkeys((*session.outside, *outside)))
            named = {**session.encodings, **encodings}
            with_tree = session.tree if tree is None else tree
            self.store.save(replace(session, context=kept, encodings=named, outside=allowed, tree=with_tree))
            return kept

    def attach(self, text: NamedText) -> None:
        """Lets a text go along with the next turn."""
        with self.locked() as session:
            others = tuple(other for other in session.attached if other.name != text.name)
            self.store.save(replace(session, attached=(*others, text)))

    def with_change(
        self, session: Session, kind: ChangeKind, files: Sequence[FileChange], *, dropped: bool = False
    ) -> Session:
        """The session with one more change in its journal."""
        number = sum(isinstance(entry, Change) for entry in session.journal) + 1
        change = Change(id=f"c{number}", at=self.clock(), kind=kind, files=tuple(files), dropped=dropped)
        return replace(session, journal=(*session.journal, change))

    def recover(self, session: Session) -> Session:
        """Completes a change of files that was interrupted, or forgets it if nothing was written yet.

        A file that is neither as it was nor as it should become was changed by somebody else since and is left
        alone; the change then counts as made for the files that have it.
        """
        intent = session.intent
        if intent is None:
            return session
        if self._has_begun(intent):
            try:
                self._move(intent, backwards=intent.kind == "undone")
                session = replace(session, journal=(*session.journal, intent))
                self.note("an interrupted change of files was completed")
            except WorkspaceError as error:
                self._move(intent, backwards=intent.kind != "undone")
                self.note(f"an interrupted change of files was taken back: {error.message}")
        session = replace(session, intent=None)
        self.store.save(session)
        return session

    def _has_begun(self, intent: Change) -> bool:
        backwards = intent.kind == "undone"
        return any(self.version(file.path) == (file.before if backwards else file.after) for file in intent.files)

    def _move(self, change: Change, *, backwards: bool) -> None:
        """Moves each file that still is at the one end of the change to the other."""
        for file in change.files:
            start, end = (file.after, file.before) if backwards else (file.before, file.after)
            if self.version(file.path) == start:
                self.put_version(file.path, end)

    def version(self, path: str) -> str | None:
        """The hash of the file on disk."""
        data = self.workspace.read(path)
        return None if data is None else sha256(data)

    def remember(self, path: str, encoding: str = UTF_8) -> str | None:
        """The hash of the file on disk, after storing its bytes; refuses what is not text in that encoding."""
        data = self.workspace.read(path, limit=SIZE_LIMIT)
        if data is None:
            return None
        try:
            decode(data, encoding)
        except NotText as error:
            raise NotText(f"{path} {error.message}", error.hint) from None
        return self.store.blobs.put(data)

    def put_version(self, path: str, version: str | None) -> None:
        """Makes the file on disk be that version; None deletes it."""
        if version is None:
            self.workspace.delete(path)
            return
        self.workspace.write(path, self.bytes_of(path, version))

    def bytes_of(self, path: str, version: str) -> bytes:
        data = self.store.blobs.get(version)
        if data is None:
            raise WorkspaceError(
                f"the stored version {version[:12]} of {path} is missing or damaged", "Nothing was changed."
            )
        return data

    def text_of(self, encodings: Mapping[str, str]) -> Callable[[str], str | None]:
        """A lookup of texts by hash, each read once; `encodings` has those that are not UTF-8, by hash as well."""

        @cache
        def text(version: str) -> str | None:
            data = self.store.blobs.get(version)
            try:
                return None if data is None else decode(data, encodings.get(version, UTF_8)).text
            except NotText:
                return None

        return text

    def _load(self) -> Session:
        session = self.store.load(self.session)
        if session is not None:
            self.workspace.allow(session.outside)
            return session
        if self.session != DEFAULT_SESSION:
            raise unknown(self.session)
        return Session(name=self.session, created=self.clock())


def _numbered(turn: Turn, session: Session) -> Turn:
    number = sum(isinstance(entry, Turn) for entry in session.journal) + 1
    proposal = tuple(replace(change, turn=str(number)) for change in turn.proposal)
    return replace(turn, id=str(number), proposal=proposal)
