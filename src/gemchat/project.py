"""One session of one project: the store, the user's files and the clock, and what is read from them together.

`load` and `record` are the only way from and to disk. Turns and changes get their ids when they are recorded,
under the lock, so that they count up whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.kinds import HEAD, TITLES, kind_of
from gemchat.core.model import Change, ChangeKind, FileChange, NamedText, Session, Turn
from gemchat.core.textfile import UTF_8, TextFile, decode
from gemchat.errors import Ended, NotText, SessionError, TooLarge, WorkspaceError
from gemchat.moving import HalfMoved, files_moved, recover, steps, version_of
from gemchat.store import DEFAULT_SESSION, Store, unknown
from gemchat.workspace import TARGET_LIMIT, Workspace


class Taken(NamedTuple):
    """A file that was read and stored: the hash of its bytes, and what they decode to."""

    version: str
    file: TextFile


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
        if session.intent is None and not self._interrupted({self.store.record().changed} - {self.session}):
            return session
        with self.locked() as session:
            return session

    @contextmanager
    def locked(self) -> Iterator[Session]:
        """The session, not to be changed by anybody else until the block ends."""
        with self.at_rest():
            yield self._load()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Until the block ends nobody else changes anything, and no change of files is half made."""
        with self.store.lock():
            for session in self._interrupted({self.session, self.store.record().changed}):
                self.store.save(recover(session, self.workspace, self.bytes_of, self.note))
            yield

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
                remote, sent = replace(turn.remote, detached=True), replace(turn.sent, kept=None)
                turn = replace(turn, parent=session.head, remote=remote, sent=sent)
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

    def move(self, session: Session, change: Change) -> Session:
        """Changes the files and records it, or neither. Call with the lock held; returns the session after it."""
        store = self.store
        store.set_changed(session.name)
        store.save(replace(session, intent=change))
        after = replace(session, journal=(*session.journal, change))
        try:
            with files_moved(self.workspace, steps(change), self.bytes_of):
                store.save(after)
        except HalfMoved:
            raise
        except (WorkspaceError, SessionError, KeyboardInterrupt, Ended):
            with suppress(SessionError, WorkspaceError):  # an intent that stays does no harm
                if self._is_at_start(change):
                    store.save(session)
            raise
        return after

    def _is_at_start(self, change: Change) -> bool:
        """Not so if moving files back was interrupted as well."""
        return all(self.version(step.path) == step.start for step in steps(change))

    def _interrupted(self, names: Collection[str]) -> list[Session]:
        """Those in which a change of files was begun and not recorded; a damaged one does not stop the others."""
        found = []
        for name in filter(None, names):
            with suppress(SessionError):
                session = self.store.load(name)
                if session is not None and session.intent is not None:
                    found.append(session)
        return found

    def version(self, path: str) -> str | None:
        """The hash of the file on disk."""
        return version_of(self.workspace, path)

    def remember(self, path: str, encoding: str = UTF_8) -> str | None:
        """The hash of the file on disk, after storing its bytes; refuses what is not text in that encoding."""
        taken = self.take(path, encoding)
        return None if taken is None else taken.version

    def take(self, path: str, encoding: str = UTF_8, limit: int = TARGET_LIMIT) -> Taken | None:
        """The same, with the file as it was decoded to see that it is text; of up to `limit` bytes."""
        try:
            data = self.workspace.read(path, limit=limit)
            if data is None:
                return None
            file = decode(data, encoding)
        except (NotText, TooLarge) as error:
            kind = kind_of(self.workspace.beginning(path, HEAD))
            if kind is not None:
                hint = f"An image or PDF goes along as context: --context {path}"
                raise NotText(f"{path} is a {TITLES[kind]}, not text", hint) from None
            if isinstance(error, TooLarge):
                raise
            raise NotText(f"{path} {error.message}", error.hint) from None
        return Taken(self.store.blobs.put(data), file)

    def bytes_of(self, path: str, version: str) -> bytes:
        data = self.store.blobs.get(version)
        if data is None:
            raise WorkspaceError(
                f"the stored version {version[:12]} of {path} is missing or damaged", "Nothing was changed."
            )
        return data

    def text_of(
        self, encodings: Mapping[str, str], known: Mapping[str, str] = MappingProxyType({})
    ) -> Callable[[str], str | None]:
        """A lookup of texts by hash, each read once; `encodings` has those that are not UTF-8, by hash as well.

        `known` are texts that need not be read again.
        """

        @cache
        def text(version: str) -> str | None:
            if version in known:
                return known[version]
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
