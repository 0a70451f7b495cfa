"""What a model that knows only what it was sent believes of each file.

`read` folds over a conversation as the service sees it. It finds no fault where a reader could not know better:
a contradiction is something that no correct sender says, so there are no false alarms. Edits count only as they
were written: one exact place, all or none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from gemchat.core.contents import payload_of
from gemchat.core.diff import apply_patch
from gemchat.core.model import Message, Value
from gemchat.core.proposals import Edit, EditReply, parse
from gemchat.errors import ProposalRejected

Payload: TypeAlias = dict[str, Any]
Texts: TypeAlias = Mapping[str, str | None]


class Belief(Value, frozen=True):
    """`files` has None for a file that does not exist and no entry for one whose text is unknown.

    `newest` is the newest user payload with all texts in place, `targets` the paths it is about ("" if it names
    none), `context` the read-only files held.
    """

    files: dict[str, str | None]
    contradictions: tuple[str, ...]
    newest: Payload
    targets: tuple[str, ...]
    context: tuple[Payload, ...]


class DoesNotFit(ValueError):
    """A reply that cannot be applied to what is believed."""


def read(messages: Sequence[Message]) -> Belief:
    reader = _Reader()
    for message in messages:
        if message.role == "user":
            reader.hear(message)
        else:
            reader.speak(message)
    return Belief(
        files=reader.files,
        contradictions=tuple(reader.contradictions),
        newest=reader.newest,
        targets=tuple(reader.targets),
        context=tuple(reader.context),
    )


def apply_reply(reply: EditReply, files: Texts, targets: Sequence[str]) -> dict[str, str]:
    """The new text of each file a reply changes. Raises DoesNotFit when any part of it has no exact place."""
    changes: dict[str, list[tuple[int, int, str]]] = {}
    for path, change in _changes(reply, files, targets):
        changes.setdefault(path, []).append(change)
    return {path: _spliced(files.get(path) or "", found) for path, found in changes.items()}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class _Reader:
    """The state of the fold. `names` has, per file, the hash by which the sender last called the believed text.

    `seen` are the hashes of images and PDFs that came.
    """

    files: dict[str, str | None] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    newest: Payload = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)
    context: list[Payload] = field(default_factory=list)
    context_hash: str | None = None
    seen: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)

    def hear(self, message: Message) -> None:
        try:
            self.newest = payload_of(message)
        except ValueError as error:
            self.newest = {"mode": "ask", "prompt": "".join(message.parts)}
            self._object(f"not a payload: {error}")
        files = self.newest.get("files")
        sources = files if isinstance(files, list) else [self.newest]
        self.targets = [source.get("path", "") for source in sources]
        for path, source in zip(self.targets, sources, strict=True):
            self._hear_source(path, source)
        self._hear_context()
        self._hear_media(message)

    def speak(self, message: Message) -> None:
        history = _history(message)
        if history is not None:
            for path, text in _carried(history, self.targets):
                self._believe(path, text)
        elif self.newest.get("mode") == "edit":
            self._apply("".join(message.parts))

    def _hear_source(self, path: str, source: Payload) -> None:
        delta = source.get("sourceDelta")
        if "currentSource" in source:
            self._hear_text(path, source["currentSource"])
        elif source.get("sourceAbsent"):
            self._believe(path, None)
        elif source.get("sourceSynchronized"):
            self._expect_text(path, "sourceSynchronized")
        elif delta is not None:
            self._hear_delta(path, delta, source.get("sourceSha256"))
        self._hear_name(path, source.get("sourceSha256"))

    def _hear_text(self, path: str, text: str | None) -> None:
        """A null text is how the reference builder says that a turn has no target."""
        if text is not None:
            self._believe(path, text)

    def _hear_delta(self, path: str, delta: Payload, now: str | None) -> None:
        text = self._expect_text(path, "sourceDelta")
        if text is None:
            return
        if self.names.get(path, delta["fromSha256"]) != delta["fromSha256"]:
            self._object(f"sourceDelta of {path!r} starts from another version than the one last named")
        if now is not None and delta["toSha256"] != now:
            self._object(f"sourceDelta of {path!r} leads to another version than sourceSha256 names")
        try:
            self._believe(path, apply_patch(text, delta["diff"]))
        except ValueError as error:
            self._object(f"sourceDelta of {path!r} does not apply: {error}")
            self._doubt(path)

    def _hear_name(self, path: str, name: str | None) -> None:
        text = self.files.get(path)
        if name is None or text is None:
            return
        if not _may_be_called(text, name) or self.known.get(name, text) != text:
            self._object(f"sourceSha256 of {path!r} names another text than the one held")
        self.names[path] = name
        self.known[name] = text

    def _hear_context(self) -> None:
        named = self.newest.get("secondaryContextHash")
        if "secondaryContext" in self.newest:
            self.context = self.newest["secondaryContext"]
            self.context_hash = named
        elif named is not None and named != self.context_hash:
            self._object("secondaryContextHash names a context that is not held")

    def _hear_media(self, message: Message) -> None:
        came = {number: ref.sha256 for number, ref in enumerate(message.media, 1)}
        self.seen.update(came.values())
        named = [item for item in self.newest.get("secondaryContext", ()) if "mimeType" in item]
        for item in named:
            if "inline" in item and came.get(item["inline"]) != item["sha256"]:
                self._object(f"inline of {item['path']!r} is another file")
            if item["sha256"] not in self.seen:
                self._object(f"{item['path']!r} was never shown")
        if came.keys() - {item.get("inline") for item in named}:
            self._object("an image or PDF came that the header does not name")

    def _apply(self, reply: str) -> None:
        try:
            changed = apply_reply(parse(reply), self.files, self.targets)
        except (DoesNotFit, ProposalRejected):
            return
        for path, text in changed.items():
            self._believe(path, text)

    def _expect_text(self, path: str, what: str) -> str | None:
        text = self.files.get(path)
        if text is None:
            state = "does not exist" if path in self.files else "was never shown"
            self._object(f"{what} of {path!r}, which {state}")
        return text

    def _believe(self, path: str, text: str | None) -> None:
        self.files[path] = text
        self.names.pop(path, None)

    def _doubt(self, path: str) -> None:
        self.files.pop(path, None)
        self.names.pop(path, None)

    def _object(self, what: str) -> None:
        self.contradictions.append(what)


def _history(message: Message) -> Payload | None:
    """The object of a rewritten model turn, None for a reply in the model's own words."""
    try:
        payload = payload_of(message)
    except ValueError:
        return None
    return payload if payload.get("kind") in ("answer", "code_proposal") else None


def _carried(history: Payload, targets: Sequence[str]) -> Iterator[tuple[str, str]]:
    for source in history.get("files", [history]):
        if "proposedSource" in source:
            yield source.get("path", targets[0] if targets else ""), source["proposedSource"]


def _may_be_called(text: str, name: str) -> bool:
    """Whether raw bytes of this hash can decode to the text. Texts of several lines may mix line ends: always."""
    raw = [f"{mark}{text.replace(chr(10), end)}" for mark in ("", "\ufeff") for end in ("\n", "\r\n", "\r")]
    return text.count("\n") > 1 or name in map(sha256, raw)


def _changes(reply: EditReply, files: Texts, targets: Sequence[str]) -> Iterator[tuple[str, tuple[int, int, str]]]:
    whole = [(file.path, file.proposedSource) for file in reply.files]
    if reply.proposedSource is not None:
        whole.append((None, reply.proposedSource))
    for given, proposed in whole:
        path, text = _target(given, files, targets)
        yield path, (0, len(text), _in_line_ends_of(text, proposed))
    for edit in reply.edits:
        path, text = _target(edit.path, files, targets)
        yield path, _place(edit, text)


def _target(path: str | None, files: Texts, targets: Sequence[str]) -> tuple[str, str]:
    if path is None and len(targets) == 1:
        path = targets[0]
    if path is None or path not in targets or path not in files:
        raise DoesNotFit(f"{path!r} is not a file of this turn")
    return path, files[path] or ""


def _place(edit: Edit, text: str) -> tuple[int, int, str]:
    search = _in_line_ends_of(text, edit.search)
    if bool(search) != bool(text):
        raise DoesNotFit("an empty search text stands for an empty file, and only for that")
    start = text.find(search)
    if start < 0 or (search and text.find(search, start + 1) >= 0):
        raise DoesNotFit(f"the search text does not occur exactly once: {search!r}")
    return start, start + len(search), _in_line_ends_of(text, edit.replace)


def _spliced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    pieces, done = [], 0
    ordered = sorted(changes)
    if any(later[0] < earlier[1] or later[0] == earlier[0] for earlier, later in pairwise(ordered)):
        raise DoesNotFit("two changes of one place")
    for start, end, new in ordered:
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _in_line_ends_of(text: str, new: str) -> str:
    """Texts are shown with LF; a CRLF in a reply is a slip unless the text itself has carriage returns."""
    return new if "\r" in text else new.replace("\r\n", "\n")
