"""Diffs as a terminal shows them: numbered lines and hunks, colours, nothing that could act on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gemchat import report
from gemchat.core.diff import Hunk, count
from gemchat.core.textfile import UTF_8
from gemchat.core.visible import visible

if TYPE_CHECKING:
    from rich.text import Text

MATCHED = {
    "exact": "",
    "blanks": " (placed ignoring blanks at line ends)",
    "indent": " (placed after shifting the indentation)",
}
_STYLES = {"+": "green", "-": "red", " ": "none"}


def patch_bytes(diffs: Iterable[report.FileDiff]) -> bytes:
    """The patch with the bytes of the files, where ASCII is ASCII in their encoding; git takes no others."""
    return b"".join(diff.patch.encode(diff.encoding if _has_ascii(diff.encoding) else UTF_8) for diff in diffs)


def _has_ascii(encoding: str) -> bool:
    return bytes(range(0x20, 0x7F)).decode("ascii").encode(encoding) == bytes(range(0x20, 0x7F))


def drawn(diff: report.FileDiff, number: int) -> Text:
    from rich.text import Text

    kind = " (new file)" if diff.before is None else " (deleted)" if diff.after is None else ""
    text = Text()
    text.append(f"{visible(diff.path)}{kind}{MATCHED[diff.tier]}\n", style="bold")
    for shown_number, hunk in enumerate(diff.hunks, number):
        text.append(f"{hunk.header} hunk {shown_number}\n", style="cyan")
        for row, tag, line in _numbered(hunk):
            shown = visible(line.removesuffix("\n"))
            text.append(f"{row:>5} ", style="dim")
            text.append(f"{tag}{shown}\n", style=_STYLES[tag])
            if not line.endswith("\n"):
                text.append("      \\ No newline at end of file\n", style="dim")
    return text


def _numbered(hunk: Hunk) -> Iterable[tuple[int, str, str]]:
    """The lines of a hunk with their numbers: of the old file for removed lines, else of the new one."""
    old, new = hunk.old_start, hunk.new_start
    for tag, line in hunk.lines:
        old += tag != "+"
        new += tag != "-"
        yield old if tag == "-" else new, tag, line


def summary(diffs: Sequence[report.FileDiff]) -> str:
    added, removed = count(hunk for diff in diffs for hunk in diff.hunks)
    return f"+{added} −{removed} in {counted(len(diffs), 'file')}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
