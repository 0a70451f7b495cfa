"""Comments that are addressed to gemchat: `gemchat: …` asks for a change, `gemchat? …` for an answer.

Owns which of a text's comments are such remarks, which of them are new against the text before, and the text
without them. Where the comments of a text are is an argument; `likely_comments` is for texts whose language nobody
knows. A remark that is put into a text and taken out again leaves the text as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from gemchat.core.diff import split_lines
from gemchat.core.model import Mode, Value
from gemchat.core.textfile import Replacement, TextFile, replace, splice

Span: TypeAlias = tuple[int, int]

MARK = "gemchat"
_BLOCKS = (
    *(("<!--", "-->"), ("<%--", "--%>"), ("--[[", "]]"), ("{/*", "*/}"), ("/*", "*/"), ("{-", "-}"), ("(*", "*)")),
    *(("#|", "|#"), ("#=", "=#"), ("<#", "#>"), ("{#", "#}"), ("%{", "%}"), ("@*", "*@"), ('"""', '"""')),
)
_TRAILING = r"#+!?|//+!?|--+|;+|%+"
_LINE = rf"{_TRAILING}|\"|'|!|\*|\.\.|::|@?rem\b|dnl\b"
_OPENER = re.compile(rf"[ \t]*({_LINE})?[ \t]*", re.IGNORECASE)
_DECORATION = re.compile(r"[ \t]*[*!#|]*[ \t]*")
_SAID = re.compile(rf"{MARK}([:?])\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_STARTS = "|".join(re.escape(start) for start, _ in _BLOCKS)
_MARKED = re.compile(rf"{MARK}[:?]", re.IGNORECASE)
_BARE = re.compile(rf"[ \t]*{MARK}[:?]", re.IGNORECASE)
_OPENED = re.compile(
    rf"(?:^[ \t]*(?:{_STARTS}|{_LINE})|(?<=[ \t])(?:{_STARTS}|{_TRAILING}))[ \t]*{MARK}[:?]", re.IGNORECASE
)
_OPENED_ABOVE = re.compile(rf"(?<![^ \t])(?:{_STARTS})[ \t]*$")
_COMMENT_LINE = re.compile(rf"^[ \t]*(?:{_LINE}).*", re.IGNORECASE | re.MULTILINE)
_NEAR = 1000  # characters before and behind a remark; only what a program writes has longer lines


class Remark(Value, frozen=True):
    """What somebody wants. `said` is what tells it from others, `spans` are its comments, in characters."""

    mode: Mode
    prompt: str
    said: str
    spans: tuple[Span, ...]

    @property
    def start(self) -> int:
        return self.spans[0][0]


class Commented(NamedTuple):
    """A text and its comments, in order and without overlap."""

    text: str
    comments: Sequence[Span] = ()


class Seen(NamedTuple):
    """What of a text is needed to tell new remarks from its own: what they said, and where; lines of comments.

    The lines are hashed, because most of a text is never asked for and many texts are watched.
    """

    said: Counter[str]
    surroundings: frozenset[str]
    lines: frozenset[int]


class _Comment(NamedTuple):
    """A comment to the end of its line, or a block; `column` is None behind other text."""

    span: Span
    said: str
    opener: str
    line: int
    column: int | None


def remarks(source: Commented, may_continue: Callable[[str], bool] = lambda _: True) -> list[Remark]:
    """All remarks of a text. Line comments right below one, in the same column, are part of it.

    They are as long as `may_continue` says so of the line, without the blanks around it.
    """
    found: list[Remark] = []
    comments = list(_comments(source))
    for number, comment in enumerate(comments):
        said = _SAID.fullmatch(comment.said)
        if said is None:
            continue
        below = list(_continued(source.text, comments, number, may_continue))
        found.append(
            Remark(
                mode="edit" if said[1] == ":" else "ask",
                prompt="\n".join([said[2], *(other.said for other in below)]).rstrip(),
                said=f"{said[1]} {said[2].rstrip()}",
                spans=(comment.span, *(other.span for other in below)),
            )
        )
    return found


def seen(source: Commented) -> Seen:
    """What `fresh` asks of a text when it has become another one."""
    there = remarks(source)
    return Seen(
        Counter(remark.said for remark in there),
        frozenset(_surroundings(source.text, remark) for remark in there),
        frozenset(hash(line[0].strip()) for line in _COMMENT_LINE.finditer(source.text)),
    )


def fresh(before: Seen, now: Commented, known: Iterable[str] = ()) -> list[Remark]:
    """The remarks that were not in the text before, nor are `known`; lines that were there are no part of them."""
    old = Counter(before.said)
    found = remarks(now, lambda line: hash(line) not in before.lines)
    new = []
    for remark in sorted(found, key=lambda remark: _surroundings(now.text, remark) not in before.surroundings):
        if old[remark.said]:
            old[remark.said] -= 1
        elif remark.said not in known:
            new.append(remark)
    return sorted(new, key=lambda remark: remark.start)


def without(file: TextFile, taken: Iterable[Remark]) -> bytes:
    """The file's bytes without these remarks, and without the lines that held nothing else."""
    return splice(file, _cuts(file.text, taken))


def wording(path: str, text: str, taken: Sequence[Remark]) -> str:
    """A prompt for remarks, which says where in the text without them they stood."""
    cuts = _cuts(text, taken)
    rest = replace(text, cuts)
    parts = []
    for remark in taken:
        gone = sum(cut.end - cut.start for cut in cuts if cut.end <= remark.start)
        start = next(cut.start for cut in cuts if cut.start <= remark.start < cut.end)
        parts.append(f"{remark.prompt}\n\nThis is about {_place(path, rest, start - gone)}")
    return "\n\n".join(parts)


def line_at(text: str, position: int) -> int:
    """The line of a character, counted from 1."""
    return text.count("\n", 0, position) + 1


def marks(text: str) -> int:
    """How often a text addresses gemchat, in comments or not."""
    return sum(1 for _ in _MARKED.finditer(text))


def likely_comments(text: str, *, bare: bool = False) -> list[Span]:
    """What looks like comments to gemchat in a text of no known language; if `bare`, also a line as it is.

    Nothing is matched beyond a line, so that the time grows with the length of the text and no faster.
    """
    found: list[Span] = []
    done = 0
    for mark in _MARKED.finditer(text):
        if mark.start() < done:
            continue
        line = text.rfind("\n", 0, mark.start()) + 1
        done = _line_end(text, line)
        for start, behind in _openings(text, line, done, bare=bare):
            if not found or start >= found[-1][1]:
                found += _opened(text, start, behind)
    return found


def _openings(text: str, start: int, end: int, *, bare: bool) -> Iterator[Span]:
    """Where comments to gemchat begin that have their mark in this line, and where the marks end."""
    line = text[start:end]
    if marked := _BARE.match(line):
        above = text.rfind("\n", 0, max(start - 1, 0)) + 1
        if block := _OPENED_ABOVE.search(text[above : max(start - 1, 0)]):
            yield above + block.start(), start + marked.end()
        elif bare:
            yield start + len(line) - len(line.lstrip()), start + marked.end()
    for opened in _OPENED.finditer(line):
        blanks = len(opened[0]) - len(opened[0].lstrip())
        yield start + opened.start() + blanks, start + opened.end()


def _opened(text: str, start: int, behind: int) -> Iterator[Span]:
    """A comment that begins here, and lines of the same kind below it."""
    close = next((close for opener, close in _BLOCKS if text.startswith(opener, start)), None)
    if close is None:
        end = _line_end(text, behind)
        yield start, end
        yield from _lines_below(text, end)
    else:
        at = text.find(close, behind)
        yield start, len(text) if at < 0 else at + len(close)


def _lines_below(text: str, end: int) -> Iterator[Span]:
    """Lines of the same kind below a line comment; whether they belong to it is seen later."""
    while end < len(text):
        start, end = end + 1, _line_end(text, end + 1)
        line = text[start:end]
        opener = _OPENER.match(line)
        if opener is None or not opener[1] or MARK in line.lower():
            return
        yield start + len(line) - len(line.lstrip()), end


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _comments(source: Commented) -> Iterator[_Comment]:
    counted, number = 0, 1
    for start, end in source.comments:
        text = source.text[start:end]
        counted, number = start, number + source.text.count("\n", counted, start)
        block = next(((a, z) for a, z in _BLOCKS if text.startswith(a) and text.rstrip().endswith(z)), None)
        if block:
            inner = text[len(block[0]) : text.rindex(block[1])].split("\n")
            said = "\n".join(line[_end_of(_DECORATION, line) :].rstrip() for line in inner).strip()
            yield _Comment((start, start + len(text.rstrip())), said, "", number, None)
            continue
        lines = split_lines(text)
        for below, (at, line) in enumerate(zip(accumulate(map(len, lines), initial=start), lines, strict=False)):
            if line.strip():
                yield _line_comment(source.text, at, line, number + below)


def _line_comment(text: str, start: int, line: str, number: int) -> _Comment:
    start, line = start + len(line) - len(line.lstrip()), line.strip()
    before = text[text.rfind("\n", 0, start) + 1 : start]
    opener = _OPENER.match(line)
    assert opener is not None, "it matches nothing at all as well"
    column = None if before.strip() else len(before)
    return _Comment((start, start + len(line)), line[opener.end() :], opener[1] or "", number, column)


def _continued(
    text: str, comments: Sequence[_Comment], first: int, may_continue: Callable[[str], bool]
) -> Iterator[_Comment]:
    """The comments that go on with the one of this number."""
    last = comments[first]
    for number in range(first + 1, len(comments)):
        comment = comments[number]
        alike = (comment.opener, comment.column, comment.line) == (last.opener, last.column, last.line + 1)
        if not alike or comment.column is None or not comment.opener or not comment.said:
            return
        if comment.said.lower().startswith(MARK) or not may_continue(text[slice(*comment.span)].strip()):
            return
        yield comment
        last = comment


def _surroundings(text: str, remark: Remark) -> str:
    """Its line and the next one, as far as they are near: what tells it from others that say the same."""
    start = max(0, remark.start - _NEAR)
    first = text.rfind("\n", start, remark.start) + 1 or start
    return " ".join(text[first : remark.start + _NEAR].split("\n", 2)[:2]).strip()


def _cuts(text: str, taken: Iterable[Remark]) -> list[Replacement]:
    cuts: list[Replacement] = []
    for span in sorted(span for remark in taken for span in remark.spans):
        start, end = _cut(text, *span)
        cuts.append(Replacement(start=max(start, cuts[-1].end) if cuts else start, end=end, text=""))
    return cuts


def _cut(text: str, start: int, end: int) -> Span:
    """A comment with the blanks that only it needed: its line, or those before or behind it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    before, behind = text[first:start], text[end:last]
    if before.strip():
        return first + len(before.rstrip()), last if not behind.strip() else end
    if behind.strip():
        return start, end + len(behind) - len(behind.lstrip())
    return first, min(last + 1, len(text))


def _place(path: str, text: str, position: int) -> str:
    """The line at a position, or the next one that is not empty."""
    line = line_at(text, position)
    for number, words in enumerate(text.split("\n")[line - 1 :], line):
        if words.strip():
            return f"line {number} of {path}: {words.strip()}"
    return f"the end of {path}."


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0
