"""A conversation as a Markdown document that stays whole whatever was said in it.

Questions are quotations, changes are diffs in fences. An answer stands as it was given, unless it would swallow
what follows it (a fence or a comment that is never closed): then it is quoted, because nothing leaves a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gemchat.core.kinds import TITLES
from gemchat.core.model import Session
from gemchat.core.visible import one_line, visible
from gemchat.past import Entry
from gemchat.report import FileDiff, patch
from gemchat.turnview import exactly

_PROBE = "\n\n## end\n"


def markdown(session: Session, entries: Sequence[Entry], diffs: Mapping[str, Sequence[FileDiff]]) -> str:
    """The complete turns among `entries`; `diffs` are those of their proposals, by turn."""
    parts = [f"# {session.name}"]
    for entry in entries:
        if entry.turn.status == "complete":
            parts += _turn(entry, diffs[entry.turn.id])
    return "\n\n".join(parts) + "\n"


def _turn(entry: Entry, diffs: Sequence[FileDiff]) -> Iterator[str]:
    turn = entry.turn
    state = f", {entry.outcome}" if entry.outcome else ""
    yield f"## Turn {turn.id}: {turn.mode}{state}"
    files = "".join(f", {_code(file.path)}" for file in turn.sent.files)
    media = "".join(f", with {_code(ref.path)} ({TITLES[ref.mime_type]})" for ref in turn.sent.media)
    yield f"{exactly(turn.at)}, {_code(turn.model)}{files}{media}"
    yield _quoted(_clean(turn.prompt))
    if answer := _clean(turn.explanation):
        yield answer if _stays_within(answer) else _quoted(answer)
    if diffs:
        yield _fenced(visible(patch(diffs).replace("\r\n", "\n")), "diff")


def _clean(text: str) -> str:
    return visible(text.replace("\r\n", "\n")).strip("\n")


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    body = text.rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def _code(text: str) -> str:
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{one_line(text, 200)}{space}{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _stays_within(text: str) -> bool:
    """Whether a heading after the text would still be one."""
    from markdown_it import MarkdownIt

    opening, _, _ = MarkdownIt().parse(f"start\n\n{text}{_PROBE}")[-3:]
    return opening.type == "heading_open" and opening.level == 0
