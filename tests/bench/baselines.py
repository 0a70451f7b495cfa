"""What the same session costs without gemchat, by arithmetic: sent again every turn, and at the very least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gemchat.core.instruction import SYSTEM
from gemchat.core.model import Message, Usage
from gemchat.local.meter import Meter, tokens
from gemchat.local.mind import Prompt
from gemchat.local.replies import write
from tests.bench.bill import NOTHING, Bill
from tests.bench.events import Event, Files

EDITS: dict[str, Any] = {"properties": {"edits": {"items": {"properties": {"path": {}}}}}}
_WHOLE: dict[str, Any] = {"properties": {"files": {}}}


def naive(start: Files, events: Sequence[Event], *, whole: bool) -> Bill:
    """Each request holds the prompts and explanations so far, then the whole files and the new prompt.

    The answer to an edit is whole files, or edits. The prefix cache serves what it can.
    """
    bill, meter, now = NOTHING, Meter(), 0.0
    past: list[Message] = []
    for event, files in _turns(start, events):
        now += event.pause
        reply = _reply(files, event, _WHOLE if whole else EDITS)
        texts = "\n\n".join((event.prompt, *filter(None, files.values())))
        messages = (*past, Message(role="user", parts=(texts,)))
        used = meter.bill(Prompt(model="m", system=SYSTEM, messages=messages), reply, now)
        size = len(SYSTEM.encode()) + sum(len(part.encode()) for message in messages for part in message.parts)
        bill = bill.plus(used, size)
        past += [Message(role="user", parts=(event.prompt,)), Message(role="model", parts=(event.answer,))]
    return bill


def lower_bound(start: Files, events: Sequence[Event]) -> Bill:
    """The files are always held and cached, the prompt alone is fresh, and edits are as short as they can be."""
    bill = NOTHING
    for event, files in _turns(start, events):
        held, asked = tokens(sum(len(text or "") for text in files.values())), tokens(len(event.prompt))
        answered = tokens(len(_reply(files, event, EDITS)))
        bill = bill.plus(Usage(input=held + asked, cached=held, output=answered), len(event.prompt.encode()))
    return bill


def memory(start: Files, events: Sequence[Event]) -> Bill:
    """The least that remembering costs: a file is fresh once, then it and all that was said are cached."""
    bill, said = NOTHING, 0
    seen: set[str] = set()
    for event, files in _turns(start, events):
        new = tokens(sum(len(text or "") for path, text in files.items() if path not in seen))
        old = tokens(sum(len(text or "") for path, text in files.items() if path in seen))
        asked, answered = tokens(len(event.prompt)), tokens(len(_reply(files, event, EDITS)))
        used = Usage(input=new + old + said + asked, cached=old + said, output=answered)
        bill = bill.plus(used, len(event.prompt.encode()))
        seen |= files.keys()
        said += asked + answered
    return bill


def _turns(start: Files, events: Sequence[Event]) -> Iterator[tuple[Event, dict[str, str | None]]]:
    """The events that need the model, each with the texts of the files it is about; None for one to be made."""
    now, targets = dict(start), tuple(start)
    for event in events:
        if event.kind != "hand edit":
            targets = tuple(event.files) or targets
            yield event, {path: now.get(path) for path in targets}
        if event.kind in ("edit", "hand edit"):
            now |= event.files


def _reply(files: dict[str, str | None], event: Event, schema: dict[str, Any]) -> str:
    return event.answer if event.kind == "ask" else write(schema, event.answer, files, event.files)
