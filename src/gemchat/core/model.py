"""The values gemchat is made of: what is stored in a session, sent to a model and received from it.

Everything here is frozen. A session is a journal of turns and changes that only ever grows, plus a head;
what the model holds, what is pending and what can be undone are folds over it (`history`), never fields.
Hashes are lower-case hex SHA-256 of raw file bytes; `None` in place of a hash means "no such file".
Times are Unix seconds; token counts are those of the service unless a name says estimate.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterator
from math import inf
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Mode: TypeAlias = Literal["ask", "edit"]
Route: TypeAlias = Literal["continue", "restart"]
Source: TypeAlias = Literal["synchronized", "full", "delta", "absent"]
Backend: TypeAlias = Literal["interactions", "contents"]
ReplyFormat: TypeAlias = Literal["text", "edits", "whole"]
OutcomeKind: TypeAlias = Literal["applied", "discarded", "undone", "partially_applied", "stale"]
ChangeKind: TypeAlias = Literal["applied", "discarded", "undone", "redone", "stale", "revised"]
Tier: TypeAlias = Literal["exact", "blanks", "indent"]
Choice: TypeAlias = Literal["continue", "trim", "restart"]
TurnStatus: TypeAlias = Literal["complete", "unusable", "incomplete"]


FIRST_TURN = "first turn"  # the reason of a restart that rewrites nothing
MARGIN = 2000  # fresh tokens that must be saved by whatever keeps less of what was said


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all values: immutable, compared by content, defaults left out of the JSON."""


class MediaRef(Value, frozen=True):
    """One version of an image or PDF that goes along. Its bytes are stored once, under their hash.

    `bytes` is their number; `tokens` is an estimate for the model they are meant for.
    """

    path: str
    mime_type: str
    sha256: str
    bytes: int
    tokens: int


class Message(Value, frozen=True):
    """One side's contribution to a conversation: the text parts, in order, exactly as sent or received.

    `media` are the images and PDFs that follow the texts.
    """

    role: Literal["user", "model"]
    parts: tuple[str, ...]
    media: tuple[MediaRef, ...] = ()


class Usage(Value, frozen=True):
    """Tokens of one request. `input` includes `cached`; `thought` is billed as output but not part of it."""

    input: int = 0
    cached: int = 0
    output: int = 0
    thought: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            thought=self.thought + other.thought,
        )


class FileRef(Value, frozen=True):
    """One version of one file, and the encoding in which its bytes are text."""

    path: str
    sha256: str | None
    encoding: str = "utf-8"


class FileChange(Value, frozen=True):
    """A file's way from one version to another, and the turn that proposed it.

    `tier` is the loosest way in which an edit was matched; unless exact, the model may believe another text.
    `partial` says that it is not just what was proposed: some hunks are left out, or the user edited it.
    """

    path: str
    before: str | None
    after: str | None
    turn: str
    tier: Tier = "exact"
    partial: bool = False
    encoding: str = "utf-8"


class SentFile(Value, frozen=True):
    """How a turn told the model about a target: the version it then holds, in which form, and why so."""

    path: str
    sha256: str | None
    source: Source
    reason: str
    encoding: str = "utf-8"


class Outcome(Value, frozen=True):
    """What became of one file of an earlier proposal."""

    turn: str
    path: str
    proposal: str | None
    outcome: OutcomeKind


class Comparison(Value, frozen=True):
    """The decision and its numbers, all in tokens: `continuing` and `restarting` in those of fresh input.

    `chain` is what the conversation holds, `payload` what this turn adds to it, `rewritten` what a restart sends;
    trimmed, the conversation would hold `kept` and this turn add `summary`; `trimming` is None if nothing can go.
    """

    chain: int
    payload: int
    rewritten: int
    warm: bool
    horizon: int
    continuing: int
    restarting: int
    kept: int = 0
    summary: int = 0
    trimming: int | None = None

    def _cost(self, way: Choice) -> float:
        trimming = inf if self.trimming is None else self.trimming
        return {"continue": self.continuing, "trim": trimming, "restart": self.restarting}[way]

    @property
    def choice(self) -> Choice:
        """The cheapest, where it is clearly cheaper than what keeps every word."""
        shorter: Choice = "trim" if self._cost("trim") <= self.restarting else "restart"
        return shorter if self._cost(shorter) + MARGIN < self.continuing else "continue"

    @property
    def saved(self) -> int:
        """By what was chosen in place of continuing, as a percentage."""
        return round(100 * (1 - self._cost(self.choice) / self.continuing)) if self.continuing else 0


class Sent(Value, frozen=True):
    """What one turn added to the conversation, and why in that way.

    `messages` names the blob that holds those messages word for word: for a continued turn the user message,
    for a restarted one the whole rewritten history before it as well. `carried` lists the file versions that
    appear in that rewritten history. A trimmed turn goes on from the turn `kept`, not from the one before it.
    `context` is the hash of the secondary context if it was part of it, `media` are the images and PDFs that went.
    `added` are the estimated tokens of what the turn added, `attached` those of its attachments. A turn on a
    `side` branch is followed by turns that continue from before it; `carryover` names those this turn sums up.
    """

    route: Route
    reason: str
    files: tuple[SentFile, ...]
    messages: str
    bytes: int
    tokens: int
    carried: tuple[FileRef, ...] = ()
    context: str | None = None
    media: tuple[MediaRef, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    attachments: tuple[str, ...] = ()
    added: int = 0
    attached: int = 0
    side: bool = False
    carryover: tuple[str, ...] = ()
    kept: str | None = None
    comparison: Comparison | None = None


class Remote(Value, frozen=True):
    """How a turn is continued: by its interaction id, or by the blob with the model's own content.

    `service` stands for the address and the key under which that works; None in turns from before it was recorded.
    `detached` says that the turn does not follow its parent on the service, so it cannot be continued.
    """

    interaction: str | None = None
    content: str | None = None
    service: str | None = None
    detached: bool = False


class Turn(Value, frozen=True, tag="turn"):
    """One exchange with the model. Only `complete` and `unusable` turns are ever part of the conversation."""

    id: str
    parent: str | None
    at: float
    mode: Mode
    prompt: str
    model: str
    backend: Backend
    sent: Sent
    reply: str
    explanation: str
    status: TurnStatus = "complete"
    problem: str = ""
    proposal: tuple[FileChange, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: Usage = Usage()
    remote: Remote = Remote()


class Change(Value, frozen=True, tag="change"):
    """What the user did with proposals: `files` always read forward, also when they were undone.

    `revised` puts the user's own text in the place of what was pending; no file is touched.
    What a partial file change leaves stays pending unless it was `dropped`.
    """

    id: str
    at: float
    kind: ChangeKind
    files: tuple[FileChange, ...]
    dropped: bool = False


Entry: TypeAlias = Turn | Change


class NamedText(Value, frozen=True):
    """A text that goes along: a context file, piped input, the output of a command."""

    name: str
    text: str


class Session(Value, frozen=True):
    """A conversation: its journal, the newest turn on the current path, and the sticky read-only context.

    `intent` is a change that was begun and not yet recorded; it is set only while files are being written.
    `attached` are texts that go along with the next turn; with `tree` an overview of the project is part of the
    context. `encodings` are those of files that the user named one
    for, by path; `outside` are the paths outside the project that the user allowed.
    """

    name: str
    created: float
    journal: tuple[Entry, ...] = ()
    head: str | None = None
    context: tuple[str, ...] = ()
    intent: Change | None = None
    attached: tuple[NamedText, ...] = ()
    encodings: dict[str, str] = msgspec.field(default_factory=dict)
    outside: tuple[str, ...] = ()
    tree: bool = False


class Request(Value, frozen=True):
    """One call of the model, free of any SDK's types.

    `messages` are all that the service needs to be sent: everything so far for a backend without memory or a
    restart, the newest message alone when `previous` names the interaction it follows. `contents` is empty or as
    long as `messages`: where it is not None it is what `Reply.content` held, and goes out in the message's place.
    `media` has the bytes that the messages refer to, by hash.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    contents: tuple[str | None, ...] = ()
    previous: str | None = None
    schema: dict[str, Any] | None = None
    thinking: str | None = None
    stream: bool = True
    media: dict[str, bytes] = msgspec.field(default_factory=dict)

    def base64(self, ref: MediaRef) -> str:
        return b2a_base64(self.media[ref.sha256], newline=False).decode()


class Reply(Value, frozen=True):
    """A complete answer. `content` is the model's message in the service's own JSON where it must come back so."""

    text: str
    usage: Usage
    interaction: str | None = None
    content: str | None = None


class Thought(Value, frozen=True):
    """A sign that the model thinks: nothing of the answer yet."""


Event: TypeAlias = str | Thought | Reply


class Transport(Protocol):
    """Sends a request; yields signs of thought, the text as it comes and, once and last, the complete reply.

    Anything but a complete, unblocked answer raises from the error tree, after the text that did arrive.
    """

    def send(self, request: Request) -> Iterator[Event]: ...
