"""What a turn newly tells the service, and the credentials in it.

Only the newest message is looked at, and of a diff only the lines it adds: what the model holds already has left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gemchat.core.contents import Payload, payload_of
from gemchat.core.diff import Hunk, parsed
from gemchat.core.model import Message, Value
from gemchat.core.secrets import find, none_is_possible


class Leak(Value, frozen=True):
    """A credential that is about to leave: in which text, in which of its lines."""

    where: str
    line: int
    kind: str


def leaks(newest: Message, own: Collection[str] = ()) -> list[Leak]:
    """The credentials in a message as it is about to be sent; `own` are the user's own keys."""
    payload = payload_of(newest)
    found = [
        Leak(where=where, line=finding.line, kind=finding.kind)
        for where, text in _texts(payload)
        for finding in find(text, own)
    ]
    for holder in _sources(payload):
        if "sourceDelta" in holder and not none_is_possible(holder["sourceDelta"]["diff"], own):
            for hunk in parsed(holder["sourceDelta"]["diff"]):
                found += _added_leaks(str(holder["path"]), hunk, own)
    return found


def texts(message: Message) -> list[tuple[str, str]]:
    """The texts of a message that are sent whole, each with what it is called."""
    return list(_texts(payload_of(message)))


def _texts(payload: Payload) -> Iterator[tuple[str, str]]:
    yield "the prompt", payload["prompt"]
    for holder in _sources(payload):
        yield str(holder.get("path", "the source")), holder.get("currentSource") or ""
    for item in payload.get("secondaryContext", ()):
        yield item["path"], item.get("text", "")  # images and PDFs have none
    for item in payload.get("attachments", ()):
        named = not find(item["name"])
        yield "the name of an attachment", item["name"]
        yield item["name"] if named else "an attachment", item["text"]


def _sources(payload: Payload) -> list[Payload]:
    return payload.get("files") or [payload]


def _added_leaks(path: str, hunk: Hunk, own: Collection[str]) -> Iterator[Leak]:
    new = [(tag, line) for tag, line in hunk.lines if tag != "-"]
    for finding in find("".join(line for _, line in new), own):
        if any(tag == "+" for tag, _ in new[finding.line - 1 : finding.end]):
            yield Leak(where=path, line=hunk.new_start + finding.line, kind=finding.kind)
