"""Turns in words: the lines of log and the head of show. Only text, nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gemchat.core.graph import graph
from gemchat.core.kinds import TITLES
from gemchat.core.model import FIRST_TURN, Comparison, MediaRef, Sent, SentFile, Session, Turn, Usage
from gemchat.core.turns import all_turns
from gemchat.core.visible import one_line
from gemchat.past import Entry

if TYPE_CHECKING:
    from gemchat.core.planner import Plan

_AGES = ((365 * 86400, "y"), (7 * 86400, "wk"), (86400, "d"), (3600, "h"), (60, "min"))  # seconds, unit
_PROMPT_WIDTH = 60
_WIDTH = 1_000  # a line that names very many files is cut


def log_lines(session: Session, shown: Sequence[Entry], now: float, *, verbose: bool) -> Iterator[str]:
    """`now` is the time that ages count from. Verbose says when exactly, and each file in a line of its own."""
    path = {entry.turn.id for entry in shown if entry.in_conversation}
    rows = graph([entry.turn for entry in shown], all_turns(session), path)
    number = max((len(entry.turn.id) for entry in shown), default=0)
    state = max((len(entry.state) for entry in shown), default=0)
    for row, entry in zip(rows, shown, strict=True):
        turn = entry.turn
        when = exactly(turn.at) if verbose else f"{age(now - turn.at):>6}"
        words = f"{turn.id:>{number}}  {when}  {turn.mode:4}  {entry.state:{state}}"
        yield f"{row.first} {words}  {one_line(turn.prompt, _PROMPT_WIDTH)}"
        for line in details(turn) if verbose else _detail(turn):
            yield f"{row.further} {'':{number}}  {line}"


def head_lines(entry: Entry) -> Iterator[str]:
    """What show says before the question."""
    turn = entry.turn
    aside = "" if entry.in_conversation else ", not part of the conversation"
    yield f"turn {turn.id}, {turn.mode}, {entry.state}{aside}, {exactly(turn.at)}"
    yield from details(turn)


def details(turn: Turn) -> Iterator[str]:
    """All there is to say about how a turn was sent and what it cost, harmless, one line each."""
    sent = turn.sent
    said = [
        f"{turn.model} ({turn.backend}), {describe_usage(turn.usage)}",
        f"{sent.route}: {sent.reason}; {sent.bytes:,} bytes, about {sent.tokens:,} tokens",
        *(["beside the conversation"] if sent.side else []),
        *([describe_comparison(sent.comparison)] if sent.comparison else []),
        *map(describe_file, sent.files),
        *(["the read-only context went along"] if sent.context else []),
        *(f"sent: {describe_media(ref)}" for ref in sent.media),
        *(f"told: {told.path} was {told.outcome}" for told in sent.outcomes),
        *(f"attached: {name}" for name in sent.attachments),
        turn.problem,
    ]
    return (one_line(text, _WIDTH) for text in said if text)


def decision_lines(plan: Plan, size: int, tokens: int) -> Iterator[str]:
    """What would be sent and why; `size` in bytes."""
    yield f"{plan.route}: {plan.reason}"
    yield from (f"  {file.path}: {file.source}, {file.reason}" for file in plan.files)
    if plan.context:
        yield "  the read-only context goes along"
    yield from (f"  {describe_media(ref)}" for ref in plan.media)
    if plan.side:
        yield "  beside the conversation: the attachments are heavy, and later turns do without them"
    if plan.comparison:
        yield f"  {describe_comparison(plan.comparison)}"
    yield from (f"  told: {outcome.path} was {outcome.outcome}" for outcome in plan.outcomes)
    yield f"  {size:,} bytes, about {tokens:,} tokens; nothing was sent"


def _detail(turn: Turn) -> Iterator[str]:
    said = (f"{describe_sent(turn.sent)}, {describe_usage(turn.usage)}", turn.problem)
    return (one_line(text, _WIDTH) for text in said if text)


def describe_sent(sent: Sent) -> str:
    files = ", ".join(describe_file(file) for file in sent.files) or "no file"
    context = ", with the read-only context" if sent.context else ""
    media = "".join(f", with {ref.path}" for ref in sent.media)
    return f"{_shortened(sent)}{files}{context}{media}; {sent.bytes:,} bytes"


def _shortened(sent: Sent) -> str:
    if sent.kept is not None:
        return f"{sent.reason}; "
    return "" if sent.route == "continue" or sent.reason == FIRST_TURN else f"restarted ({sent.reason}); "


def describe_comparison(compared: Comparison) -> str:
    """Costs are in fresh input tokens, so that they hold at any price."""
    state = "cached" if compared.warm else "not cached"
    trimming = "" if compared.trimming is None else f", summing up the newest turns {compared.trimming:,}"
    return (
        f"the conversation holds {compared.chain:,} tokens, {state}; over {compared.horizon} turns continuing "
        f"costs as much as {compared.continuing:,} fresh tokens, rewriting {compared.restarting:,}{trimming}"
    )


def describe_file(file: SentFile) -> str:
    words = {"synchronized": "not sent", "full": "sent in full", "delta": "sent as a diff", "absent": "new file"}
    return f"{file.path} {words[file.source]} ({file.reason})"


def describe_media(ref: MediaRef) -> str:
    return f"{ref.path}, {describe_size(ref.mime_type, ref.bytes, ref.tokens)}"


def describe_size(mime_type: str | None, size: int, tokens: int) -> str:
    """The kind of an image or PDF, and how large a file of any kind is."""
    kind = f"{TITLES[mime_type]}, " if mime_type else ""
    return f"{kind}{size:,} bytes, about {tokens:,} tokens"


def describe_usage(usage: Usage) -> str:
    return f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output + usage.thought:,} out"


def exactly(at: float) -> str:
    """The local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def age(seconds: float) -> str:
    """One number and its unit, rounded down; what lies in the future is now."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
