"""Files in Markdown fences: how a small model is shown a file, and how it writes one.

Code inside JSON strings is what such a model gets wrong; in a fence it only has to copy.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from gemchat.core.diff import split_lines
from gemchat.core.opcodes import opcodes

_TICKS = re.compile(r"^`{3,}", re.MULTILINE)
_TICKED = re.compile(r"^(?P<ticks>`{3,})[ \t]*(?P<said>[^`\n]*?)[ \t]*(?:\n|\Z)", re.MULTILINE)
_LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "sh": "bash",
    "bash": "bash", "rs": "rust", "rb": "ruby", "md": "markdown", "yml": "yaml", "cs": "csharp", "kt": "kotlin",
}  # fmt: skip


def fence_for(*texts: str) -> str:
    """Backticks that no line of the texts begins with."""
    longest = max((len(found) for text in texts for found in _TICKS.findall(text)), default=2)
    return "`" * max(longest + 1, 3)


def fenced(text: str, language: str = "") -> str:
    fence = fence_for(text)
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def language_of(path: str) -> str:
    suffix = PurePosixPath(path).suffix.removeprefix(".").lower()
    return _LANGUAGES.get(suffix, suffix)


def opening(path: str, text: str) -> str:
    """The line that begins a fence for the file's new text: Markdown may get fences that it had not."""
    language = language_of(path)
    return max(fence_for(text), "````" if language == "markdown" else "```", key=len) + language


def first_fence(reply: str, least: int = 3) -> str | None:
    """The text in the first fence of a reply, None until it is closed.

    Whoever uses less than the `least` backticks that were asked for may end the fence at a line of the file's own.
    Then it counts up to the last such line, if those between are fences with a language, each closed.
    """
    ticks = list(_TICKED.finditer(reply))
    closing = _closing(ticks, least) or _outermost(ticks)
    return reply[ticks[0].end() : closing.start()] if closing else None


def is_closed(reply: str, least: int = 3) -> bool:
    """Whether nothing that follows can change what the fence holds."""
    ends = reply.rstrip(" ").endswith(("```", "```\n"))
    return ends and _closing(list(_TICKED.finditer(reply)), least) is not None


def _closing(ticks: list[re.Match[str]], least: int) -> re.Match[str] | None:
    if not ticks or len(ticks[0]["ticks"]) < least:
        return None
    return next((line for line in ticks[1:] if line["ticks"] == ticks[0]["ticks"] and not line["said"]), None)


def _outermost(ticks: list[re.Match[str]]) -> re.Match[str] | None:
    nested = all(bool(line["said"]) is (number % 2 == 0) for number, line in enumerate(ticks[1:-1]))
    return ticks[-1] if ticks and len(ticks) % 2 == 0 and nested and not ticks[-1]["said"] else None


def settled(old: str, new: str) -> str:
    """The new text without what a copyist changes unasked: blank lines, blanks at line ends, the last newline."""
    text = _with_end_of(old, new)
    kept = "".join(_kept(old, text))
    return text if kept == old else kept


def _kept(old: str, new: str) -> list[str]:
    before, after = split_lines(old), split_lines(new)
    lines: list[str] = []
    for _, a, b, c, d in opcodes(before, after):
        same = _inked(before[a:b]) == _inked(after[c:d])
        lines += before[a:b] if same else after[c:d]
    return lines


def _inked(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


def _with_end_of(old: str, new: str) -> str:
    if old and not old.endswith("\n"):
        return new.removesuffix("\n")
    return new if new.endswith("\n") or not new else f"{new}\n"
