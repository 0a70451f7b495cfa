"""Diffs as a terminal shows them: numbered lines, changed words, visible blanks, nothing that acts on the screen.

Only the sixteen colours of the terminal's own palette are used, and the signs + and - say the same without them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from gemchat import report
from gemchat.core.diff import NO_NEWLINE, Hunk, count
from gemchat.core.emphasis import Span, changed_spans
from gemchat.core.textfile import UTF_8
from gemchat.core.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from gemchat.highlight import Highlighter

MATCHED = {
    "exact": "",
    "blanks": " (placed ignoring blanks at line ends)",
    "indent": " (placed after shifting the indentation)",
}
SIDE_BY_SIDE_FROM = 120  # columns; below it, halves are too narrow for code
_STYLES = {"+": "green", "-": "red", " ": "none"}
_BLANKS = str.maketrans({" ": "·", "\t": "→"})
_TAB = 4


class _Row(NamedTuple):
    """One line of a hunk: its numbers, counted from 1, on the sides that have it."""

    tag: str
    old: int | None
    new: int | None
    text: Text


class DiffPrinter:
    """Side by side is drawn only where the console is wide enough."""

    def __init__(self, console: Console, *, side_by_side: bool = False) -> None:
        self._console = console
        self._wide = side_by_side and console.width >= SIDE_BY_SIDE_FROM

    def print(self, diffs: Sequence[report.FileDiff]) -> None:
        numbers = itertools.count(1)
        for diff in diffs:
            rows = self._rows_of(diff)
            self._say(_title(diff), "bold")
            for hunk in diff.hunks:
                self._print(hunk, f"hunk {next(numbers)}", rows.of(hunk))
            self._console.print()
        self._say(summary(diffs), "dim")

    def print_hunk(self, diff: report.FileDiff, hunk: Hunk, title: str) -> None:
        self._print(hunk, title, self._rows_of(diff).of(hunk))

    def _say(self, text: str, style: str) -> None:
        from rich.text import Text

        self._console.print(Text(text, style=style), soft_wrap=True)

    def _rows_of(self, diff: report.FileDiff) -> _Rows:
        if self._console.color_system is None or self._console.no_color:
            return _Rows(diff, None)
        from gemchat.highlight import Highlighter

        return _Rows(diff, Highlighter(diff.path, diff.before or "", diff.after or ""))

    def _print(self, hunk: Hunk, title: str, rows: list[_Row]) -> None:
        self._say(f"{hunk.header} {title}", "cyan")
        last = max(hunk.old_start + len(hunk.old), hunk.new_start + len(hunk.new))
        if self._wide:
            self._print_wide(rows, len(str(last)))
            return
        for row in rows:
            self._console.print(_line(row, len(str(last))), soft_wrap=True)

    def _print_wide(self, rows: list[_Row], digits: int) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1), expand=True)
        for _ in range(2):
            table.add_column(width=digits, justify="right", style="dim")
            table.add_column(ratio=1, overflow="fold")
        for left, right in _paired(rows):
            table.add_row(
                str(left.old or "") if left else "",
                _signed(left) if left else Text(),
                str(right.new or "") if right else "",
                _signed(right) if right else Text(),
            )
        self._console.print(table)


class _Rows:
    """The lines of a file's hunks, made ready to be drawn."""

    def __init__(self, diff: report.FileDiff, highlighter: Highlighter | None) -> None:
        self._highlighter = highlighter
        texts = [text for text in (diff.before, diff.after) if text]
        with_cr = sum(text.count("\r\n") for text in texts if "\r" in text)
        self._mixed = 0 < with_cr < sum(text.count("\n") for text in texts)

    def of(self, hunk: Hunk) -> list[_Row]:
        rows: list[_Row] = []
        old, new = hunk.old_start, hunk.new_start
        for (tag, line), spans in zip(hunk.lines, _emphasis(hunk), strict=True):
            old, new = old + (tag != "+"), new + (tag != "-")
            text = self._text(tag, line, old if tag == "-" else new, spans)
            rows.append(_Row(tag, old if tag != "+" else None, new if tag != "-" else None, text))
        return rows

    def _text(self, tag: str, line: str, number: int, spans: list[Span]) -> Text:
        from rich.text import Text

        shown = _shown(line)
        styles = self._highlighter.line(number, shown, old=tag == "-") if self._highlighter else []
        text = Text(shown if tag == " " else _with_blanks(shown, spans), style=_STYLES[tag])
        for start, end, style in styles:
            text.stylize(style, start, end)
        for start, end in spans:
            text.stylize(f"{_STYLES[tag]} reverse", start, end)
        if tag != " " and self._mixed and line.endswith("\r\n"):
            text.append("␍", style="reverse")
        text.expand_tabs(_TAB)
        if not line.endswith("\n"):
            text.append(f"\n{NO_NEWLINE}", style="dim")
        return text


def _title(diff: report.FileDiff) -> str:
    kind = " (new file)" if diff.before is None else " (deleted)" if diff.after is None else ""
    return f"{visible(diff.path)}{kind}{MATCHED[diff.tier]}"


def _shown(line: str) -> str:
    return visible(
        line.removesuffix("\n").removesuffix("\r") if line.endswith("\r\n") else line.removesuffix("\n")
    )


def _with_blanks(shown: str, spans: list[Span]) -> str:
    """Blanks that changed, or stand at the end of a changed line, can be seen."""
    end = len(shown.rstrip(" \t"))
    for start, stop in (*spans, (end, len(shown))):
        shown = shown[:start] + shown[start:stop].translate(_BLANKS) + shown[stop:]
    return shown


def _emphasis(hunk: Hunk) -> Iterator[list[Span]]:
    """For each line of a hunk, what changed in it against the line it is the other version of."""
    for unchanged, run in groupby(hunk.lines, lambda line: line[0] == " "):
        lines = list(run)
        if unchanged:
            yield from ([] for _ in lines)
            continue
        gone, come = ([_shown(line) for tag, line in lines if tag == wanted] for wanted in "-+")
        pairs = [changed_spans(one, other) for one, other in zip(gone, come, strict=False)]
        spans = {"-": iter([old for old, _ in pairs]), "+": iter([new for _, new in pairs])}
        yield from (next(spans[tag], []) for tag, _ in lines)


def _paired(rows: list[_Row]) -> Iterable[tuple[_Row | None, _Row | None]]:
    for unchanged, run in groupby(rows, lambda row: row.tag == " "):
        lines = list(run)
        if unchanged:
            yield from ((row, row) for row in lines)
        else:
            yield from zip_longest(*([row for row in lines if row.tag == tag] for tag in "-+"))


def _line(row: _Row, digits: int) -> Text:
    from rich.text import Text

    text = Text(f"{row.old or '':>{digits}} {row.new or '':>{digits}} ", style="dim")
    return Text().append_text(text).append_text(_signed(row))


def _signed(row: _Row) -> Text:
    from rich.text import Text

    return Text().append(row.tag, style=f"bold {_STYLES[row.tag]}").append_text(row.text)


def patch_bytes(diffs: Iterable[report.FileDiff]) -> bytes:
    """The patch with the bytes of the files, where ASCII is ASCII in their encoding; git takes no others."""
    return b"".join(diff.patch.encode(diff.encoding if _has_ascii(diff.encoding) else UTF_8) for diff in diffs)


def _has_ascii(encoding: str) -> bool:
    return bytes(range(0x20, 0x7F)).decode("ascii").encode(encoding) == bytes(range(0x20, 0x7F))


def summary(diffs: Sequence[report.FileDiff]) -> str:
    added, removed = count(hunk for diff in diffs for hunk in diff.hunks)
    return f"+{added} −{removed} in {counted(len(diffs), 'file')}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
