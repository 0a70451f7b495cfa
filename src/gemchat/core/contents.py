"""What gemchat writes into a conversation: payloads, the rewritten history, and the raw parts that carry texts.

A user message is a JSON object that names its texts. `user_payload` builds it for the newest turn and
`build_multi_turn_contents` for a whole rewritten conversation. `lift` moves the long texts out of the JSON into
parts of their own, `inline` puts them back: `inline(lift(m)) == m`. JSON is written without spaces and with
non-ASCII characters kept. Deciding *what* to send is the planner's business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypedDict

from msgspec.structs import replace

from gemchat.core.model import Message, Mode, Value

Payload: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["user", "model"]


class Part(TypedDict):
    text: str


class Content(TypedDict):
    role: Role
    parts: list[Part]


class HistoryFile(Value, frozen=True):
    """One target of an earlier turn: the text it had then, what was proposed for it and what became of that."""

    path: str | None = None
    base_source: str | None = None
    base_sha256: str | None = None
    proposal_source: str | None = None
    proposal_sha256: str | None = None
    outcome_status: str | None = None


class HistoryTurn(HistoryFile, frozen=True, kw_only=True):
    """An earlier turn. Its targets stand in `files`; a turn without them is its own one, nameless target."""

    prompt: str
    response: str
    mode: Mode
    files: tuple[HistoryFile, ...] = ()

    @property
    def targets(self) -> tuple[HistoryFile, ...]:
        return self.files or (self,)


class Delta(Value, frozen=True):
    """A unified diff from the text the model holds to the text now."""

    before: str
    after: str
    diff: str


class Target(Value, frozen=True):
    """One target of the newest turn, in exactly one form: synchronized, a delta, absent, or its full text."""

    path: str | None = None
    text: str | None = None
    synchronized: bool = False
    delta: Delta | None = None
    absent: bool = False
    sha256: str | None = None


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LONG = ('"currentSource"', '"proposedSource"', '"diff"', '"text"')  # the names of all fields that `lift` moves


def to_json(value: object) -> str:
    return _JSON.encode(value)


def user_payload(
    mode: Mode, prompt: str, targets: Sequence[Target], extra: Mapping[str, Any] = MappingProxyType({})
) -> Payload:
    """The newest user turn; `extra` holds what goes with it: context, outcomes, attachments, carryover."""
    sources = [_with_path(target.path, _source_fields(target)) for target in targets]
    return {"mode": mode, "prompt": prompt, **_side(sources), **extra}


def build_multi_turn_contents(
    history: Sequence[HistoryTurn],
    *,
    mode: Mode,
    prompt: str,
    current_source: str | None = None,
    source_synchronized: bool = False,
    files: Sequence[Target] = (),
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> list[Content]:
    """A conversation rewritten so that each file's text appears in it exactly once.

    The text of a file stays in the latest turn that introduced it and did not lose it again; older copies become
    hashes. `files` are the newest turn's targets; without them there is one nameless target, `current_source`.
    A synchronized target whose text no turn holds is sent in full after all.
    """
    targets = files or (Target(text=current_source, synchronized=source_synchronized),)
    payloads = multi_turn_payloads(history, mode=mode, prompt=prompt, targets=targets, extra=extra)
    return [_content(role, payload) for role, payload in payloads]


def multi_turn_payloads(
    history: Sequence[HistoryTurn], *, mode: Mode, prompt: str, targets: Sequence[Target], extra: Mapping[str, Any]
) -> list[tuple[Role, Payload]]:
    """The same, before it becomes JSON."""
    carriers = active_turns(history)
    for target in targets:
        if not target.synchronized and (target.text is not None or target.absent):
            carriers.pop(target.path, None)
    payloads: list[tuple[Role, Payload]] = []
    for index, turn in enumerate(history):
        carried = {path for path, carrier in carriers.items() if carrier == index}
        payloads.append(("user", _history_user(turn, carried)))
        payloads.append(("model", _history_model(turn, carried)))
    newest = [_unless_carried(target, carriers) for target in targets]
    return [*payloads, ("user", user_payload(mode, prompt, newest, extra))]


def active_turns(history: Sequence[HistoryTurn]) -> dict[str | None, int]:
    """For each file, the index of the latest turn that shows its active text."""
    return {
        file.path: index
        for index, turn in enumerate(history)
        for file in turn.targets
        if file.base_source or proposal_is_active(turn, file)
    }


def proposal_is_active(turn: HistoryTurn, file: HistoryFile) -> bool:
    return (
        turn.mode == "edit" and bool(file.proposal_source) and file.outcome_status not in ("discarded", "undone")
    )


def message(content: Content) -> Message:
    return Message(role=content["role"], parts=tuple(part["text"] for part in content["parts"]))


def lift(inlined: Message) -> Message:
    """Moves every long text of a one-part message into a raw part; the JSON header then says which."""
    if not any(name in inlined.parts[0] for name in _LONG):
        return inlined
    return replace(lifted(inlined.role, json.loads(inlined.parts[0])), media=inlined.media)


def lifted(role: Role, payload: Payload) -> Message:
    """The message that a payload becomes, its long texts in raw parts. The payload loses them."""
    raw: list[str] = []

    def out(text: Any, name: str) -> Any:
        if not isinstance(text, str) or not text:
            return text
        raw.append(f"{_marker(len(raw) + 1, name)}{text}")
        return {"part": len(raw)}

    _rewrite_texts(payload, out)
    return Message(role=role, parts=(to_json(payload), *raw))


def inline(lifted: Message) -> Message:
    """The inverse of `lift`. Raises ValueError when the parts are not those the header names."""
    return replace(lifted, parts=(to_json(payload_of(lifted)),))


def payload_of(lifted: Message) -> Payload:
    """The object a message stands for, every text in its place. Raises ValueError when it is not one."""
    payload = json.loads(lifted.parts[0]) if lifted.parts else None
    if not isinstance(payload, dict):
        raise ValueError("the message is not a JSON object")
    used: list[int] = []

    def back(value: Any, name: str) -> Any:
        if not isinstance(value, dict):
            return value
        number = value.get("part")
        if number != len(used) + 1 or number >= len(lifted.parts):
            raise ValueError(f"the header names part {number}, which is not there or not next")
        used.append(number)
        part, marker = lifted.parts[number], _marker(number, name)
        if not part.startswith(marker):
            raise ValueError(f"part {number} does not begin with its marker line")
        return part[len(marker) :]

    _rewrite_texts(payload, back)
    if len(used) != len(lifted.parts) - 1:
        raise ValueError("the message has parts that its header does not name")
    return payload


def _marker(number: int, name: str) -> str:
    return f"--- part {number}: {json.dumps(name, ensure_ascii=False)[1:-1]} ---\n"


def _rewrite_texts(payload: Payload, change: Callable[[Any, str], Any]) -> None:
    """Calls `change(value, name)` on each field that may carry a long text, in the order of the JSON."""
    for holder, key, name in _text_fields(payload):
        holder[key] = change(holder[key], name)


def _text_fields(payload: Payload) -> Iterator[tuple[Payload, str, str]]:
    for holder in (payload, *_objects(payload.get("files"))):
        name = str(holder.get("path", "source"))
        delta = holder.get("sourceDelta")
        for key in ("currentSource", "proposedSource"):
            if key in holder:
                yield holder, key, name
        if isinstance(delta, dict) and "diff" in delta:
            yield delta, "diff", f"{name}.diff"
    for key, label in (("secondaryContext", "path"), ("attachments", "name")):
        for item in _objects(payload.get(key)):
            if "text" in item:
                yield item, "text", str(item.get(label, key))


def _objects(value: Any) -> list[Payload]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _content(role: Role, payload: Payload) -> Content:
    return {"role": role, "parts": [{"text": to_json(payload)}]}


def _history_user(turn: HistoryTurn, carried: set[str | None]) -> Payload:
    def fields(file: HistoryFile) -> Payload:
        if file.path in carried and file.base_source and not proposal_is_active(turn, file):
            return {"currentSource": file.base_source}
        return {"supersededSourceSha256": file.base_sha256} if file.base_sha256 else {}

    sources = [_with_path(file.path, fields(file)) for file in turn.targets]
    return {"mode": turn.mode, "prompt": turn.prompt, **_side(sources)}


def _history_model(turn: HistoryTurn, carried: set[str | None]) -> Payload:
    def fields(file: HistoryFile) -> Payload:
        if file.path in carried and proposal_is_active(turn, file):
            return {"proposedSource": file.proposal_source}
        return {"supersededProposalSha256": file.proposal_sha256} if file.proposal_sha256 else {}

    kind = "code_proposal" if turn.mode == "edit" else "answer"
    head = {"kind": kind, "explanation": turn.response}
    if len(turn.targets) == 1:
        return {**head, **fields(turn.targets[0])}
    return {**head, "files": [_with_path(file.path, fields(file)) for file in turn.targets]}


def _unless_carried(target: Target, carriers: Mapping[str | None, int]) -> Target:
    if target.synchronized and target.path not in carriers:
        return Target(path=target.path, text=target.text, sha256=target.sha256)
    return target


def _source_fields(target: Target) -> Payload:
    fields: Payload
    if target.synchronized:
        fields = {"sourceSynchronized": True}
    elif target.delta is not None:
        delta = target.delta
        fields = {"sourceDelta": {"fromSha256": delta.before, "toSha256": delta.after, "diff": delta.diff}}
    elif target.absent:
        fields = {"sourceAbsent": True}
    else:
        fields = {"currentSource": target.text}
    return fields if target.sha256 is None else {**fields, "sourceSha256": target.sha256}


def _with_path(path: str | None, fields: Payload) -> Payload:
    return fields if path is None else {"path": path, **fields}


def _side(sources: Sequence[Payload]) -> Payload:
    """One target's fields stand in the message itself, those of several in a list."""
    return sources[0] if len(sources) == 1 else {"files": list(sources)}
