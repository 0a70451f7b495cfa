"""A project at a glance, as text: its directories and files with sizes, and the names that the files define.

Sizes are rounded to two digits, so that a small edit leaves the text as it is and nothing has to be sent again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemchat.core.economics import estimate_tokens
from gemchat.core.model import Value

OVERVIEW = "(project overview)"  # what it is called among the context; no file's path begins so in practice
OVERVIEW_LIMIT = 20_000  # estimated tokens


class Listed(Value, frozen=True):
    """A file of the overview, its size in bytes, and the names it defines."""

    path: str
    bytes: int
    symbols: tuple[str, ...] = ()


def overview(files: Sequence[Listed], limit: int = OVERVIEW_LIMIT) -> str:
    """The tree of files. Beyond `limit` tokens names are left out, then files, and it says so."""
    text = "\n".join(_lines(files, with_symbols=True))
    if estimate_tokens(text) <= limit:
        return text
    lines = list(_lines(files, with_symbols=False))
    said = "(names are left out: the project is too large)"
    while estimate_tokens("\n".join(lines)) > limit:
        lines = lines[: len(lines) // 2]
        said = "(names and many files are left out: the project is too large)"
    return "\n".join([*lines, said])


def _lines(files: Sequence[Listed], *, with_symbols: bool) -> Iterator[str]:
    above: tuple[str, ...] = ()
    for file in sorted(files, key=lambda file: file.path.split("/")):
        *directories, name = file.path.split("/")
        common = next(
            (i for i, pair in enumerate(zip(above, directories, strict=False)) if len(set(pair)) > 1), None
        )
        start = min(len(above), len(directories)) if common is None else common
        for depth in range(start, len(directories)):
            yield f"{'  ' * depth}{directories[depth]}/"
        above = tuple(directories)
        names = f": {', '.join(file.symbols)}" if with_symbols and file.symbols else ""
        yield f"{'  ' * len(directories)}{name} {_size(file.bytes)}{names}"


def _size(count: int) -> str:
    """Two digits that count: 17 B, 1.2 kB, 34 kB, 5.6 MB."""
    size = float(f"{count:.2g}")
    if size < 1000:
        return f"{size:g} B"
    return f"{size / 1000:g} kB" if size < 1_000_000 else f"{size / 1_000_000:g} MB"
