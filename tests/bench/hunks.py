"""How long diffs become, and how long they take: `python -m tests.bench.hunks [REPOSITORY] [--runs N]`.

For every change of a text file in a repository's history, the size of the diff as a model is sent it, against the
one of `difflib` with all lines compared, and the CPU time for all of them together.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path

from gemchat.core.diff import hunks, split_lines
from tests.bench.timing import interleaved, table

CHANGES = 3000
OURS, ALL_LINES = "gemchat", "difflib, all lines compared"


def changes(repository: str) -> Iterator[tuple[str, str]]:
    """Each text before and after one of the newest changes; what is no UTF-8 is left out."""
    raw = ("log", "--no-merges", "--raw", "--no-abbrev", "--diff-filter=M", "--no-renames", "--format=")
    listed = _git(repository, *raw).decode("utf-8", "replace").splitlines()
    pairs = dict.fromkeys(tuple(line.split()[2:4]) for line in listed if line)
    for before, after in list(pairs)[:CHANGES]:
        try:
            yield (
                _git(repository, "cat-file", "blob", before).decode(),
                _git(repository, "cat-file", "blob", after).decode(),
            )
        except UnicodeDecodeError:
            continue


def _git(repository: str, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout


def ours(old: str, new: str) -> int:
    return sum(len(hunk.header) + 1 + _printed(line for _, line in hunk.lines) for hunk in hunks(old, new))


def all_lines_compared(old: str, new: str) -> int:
    before, after = split_lines(old), split_lines(new)
    size = 0
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3):
        a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
        size += len(f"@@ -{a + 1},{b - a} +{c + 1},{d - c} @@\n")
        for tag, i, j, k, m in group:
            size += _printed(before[i:j]) + (_printed(after[k:m]) if tag != "equal" else 0)
    return size


def _printed(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def measured(repository: str, runs: int) -> str:
    pairs = list(changes(repository))
    sizes: dict[str, list[int]] = {}

    def spent(name: str, size: Callable[[str, str], int]) -> float:
        began = time.process_time()
        sizes[name] = [size(old, new) for old, new in pairs]
        return (time.process_time() - began) * 1000

    work = {ALL_LINES: partial(spent, ALL_LINES, all_lines_compared), OURS: partial(spent, OURS, ours)}
    found = table(interleaved(work, runs), ALL_LINES)
    one, other = sum(sizes[OURS]), sum(sizes[ALL_LINES])
    longer = sum(mine > 1.1 * least for mine, least in zip(sizes[OURS], sizes[ALL_LINES], strict=True))
    return (
        f"{found}\n\n{len(pairs)} changes: {one:,} characters of diffs against {other:,}, a ratio of "
        f"{one / other:.4f}; {longer} are longer by more than a tenth"
    )


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.hunks", description=__doc__)
    options.add_argument("repository", nargs="?", default=str(Path(__file__).parent.parent.parent))
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    print(measured(given.repository, given.runs))  # noqa: T201


if __name__ == "__main__":
    main()
