"""Texts and files as they occur, and as they should not: every line end, odd characters, missing last newlines."""

from __future__ import annotations

from hypothesis import strategies as st

from gemchat.core.textfile import Replacement

CHARACTERS = st.sampled_from(
    ["a", "b", " ", "\t", "é", "日", "🙂", "\u2028", "\x85", "\x0c", "\\", '"', "-", "+", "@", "<"]
)
LINES = st.text(CHARACTERS, max_size=6)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn, max_lines: int = 12) -> str:
    """LF texts, with and without a last newline."""
    return "\n".join(draw(st.lists(LINES, max_size=max_lines)))


@st.composite
def raw_files(draw: st.DrawFn) -> bytes:
    """UTF-8 files with any mixture of line ends."""
    one_kind = draw(st.none() | LINE_ENDS)
    lines = draw(st.lists(st.tuples(LINES, LINE_ENDS), max_size=10))
    body = "".join(line + (one_kind or end) for line, end in lines) + draw(LINES)
    return (draw(st.sampled_from(["", "\ufeff"])) + body).encode()


@st.composite
def replacements(draw: st.DrawFn, text: str) -> list[Replacement]:
    """Sorted and without overlap."""
    bounds = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return [Replacement(start=start, end=end, text=draw(texts(max_lines=4))) for start, end in pairs]
