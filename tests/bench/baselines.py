"""What the same session costs without gemchat, by arithmetic: sent again every turn, and at the very least."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from gemchat.core.diff import hunks
from gemchat.core.instruction import SYSTEM
from gemchat.core.model import Message, Usage
from gemchat.local.meter import Meter, tokens
from gemchat.local.mind import Prompt
from gemchat.local.replies import write
from tests.bench.bill import NOTHING, Bill
from tests.bench.events import Event, Files

EDITS: dict[str, Any] = {"properties": {"edits": {"items": {"properties": {"path": {}}}}}}
_ONE_FILE: tuple[dict[str, Any], ...] = ({"properties": {"edits": {}}}, {"properties": {"proposedSource": {}}})
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
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


def lower_bound(start: Files, events: Sequence[Event], *, known: bool = False, remembering: bool = False) -> Bill:
    """What is held is always cached, the prompt is fresh, and the reply as short as any of the formats allows.

    Not held, and fresh once, are a file's first text and the words that a change by hand brought to its lines;
    where it was `known` beforehand, not even these. `remembering` also reads, cached, all that was said.
    """
    bill, said = NOTHING, 0
    held: dict[str, list[str]] = {}
    for event, files in _turns(start, events):
        new = sum(_unknown(text, held.setdefault(path, [])) for path, text in files.items() if text and not known)
        size = sum(len(text or "") for text in files.values())
        formats = (EDITS, _WHOLE) if len(files) > 1 else _ONE_FILE
        answered = tokens(min(len(_reply(files, event, schema)) for schema in formats))
        asked = tokens(len(event.prompt))
        cached = tokens(size - new) + said
        used = Usage(input=tokens(new) + cached + asked, cached=cached, output=answered)
        bill = bill.plus(used, len(event.prompt.encode()) + new)
        for path, text in event.files.items():
            held.setdefault(path, []).append(text)
        said += asked + answered if remembering else 0
    return bill


def _unknown(text: str, held: list[str]) -> int:
    """The characters that the versions held so far do not tell; the text is one of them from now on."""
    new = 0 if text in held else min((_inserted(old, text) for old in held[-2:]), default=len(text))
    held.append(text)
    return new


def _inserted(old: str, new: str) -> int:
    """The characters of the words that are new, within the lines that are."""
    inserted = 0
    for hunk in hunks(old, new, context=0):
        before, after = (_WORD.findall("".join(lines)) for lines in (hunk.old, hunk.new))
        for kind, _, _, first, last in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
            inserted += sum(map(len, after[first:last])) if kind != "equal" else 0
    return inserted


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
