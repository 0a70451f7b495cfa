"""What the project's ignore files leave out: `.gitignore`, `.geminiignore` and `.aiexclude`.

Their rules hold in each directory from the repository down; a file is left out as soon as one of the three
excludes it. They come with the project and are not trusted: whatever is in one, reading and matching it ends soon.
"""

from __future__ import annotations

import re
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

IGNORE_FILES = (".gitignore", ".geminiignore", ".aiexclude")
_LARGEST = 256 * 1024  # bytes; nobody writes that many rules by hand
_STAR, _STARS = r"\[\^/\]\*", r"\(\?:/\.\+\)\?"  # how pathspec translates * and /**
_STAR_AND_MORE = re.compile(rf"{_STAR}((?:\[\^/\](?!\*)|(?!{_STAR})[^/])+)(?={_STAR})")
_STARS_AND_MORE = re.compile(rf"{_STARS}((?:(?!{_STARS}).)+)(?={_STARS})", re.DOTALL)


class Rules(NamedTuple):
    """The ignore files of one directory, by name."""

    directory: Path
    specs: Mapping[str, GitIgnoreSpec]


def rules_of(root: Path, start: Path) -> list[Rules] | None:
    """The rules that hold in a directory, None if they exclude all of it."""
    rules: list[Rules] = []
    for directory in _from_repository(root, start):
        if is_ignored(directory, rules, is_directory=True):
            return None
        rules = with_rules(rules, directory)
    return rules


def with_rules(rules: list[Rules], directory: Path) -> list[Rules]:
    """Those that hold in a directory, if `rules` hold in the one above."""
    specs = {kind: spec for kind in IGNORE_FILES if (spec := _spec_in(directory / kind))}
    return [*rules, Rules(directory, specs)] if specs else rules


def is_ignored(path: Path, rules: Sequence[Rules], *, is_directory: bool) -> bool:
    """In each kind of file the deepest rule that says something decides."""
    return any(_excluded_by(kind, path, rules, is_directory=is_directory) for kind in IGNORE_FILES)


def _excluded_by(kind: str, path: Path, rules: Sequence[Rules], *, is_directory: bool) -> bool:
    for directory, specs in reversed(rules):
        if kind in specs:
            name = path.relative_to(directory).as_posix()
            include = specs[kind].check_file(f"{name}/" if is_directory else name).include
            if include is not None:
                return include
    return False


def _from_repository(root: Path, start: Path) -> list[Path]:
    """The directories whose rules hold: from the repository, or the project, down to `start`."""
    above = [root, *root.parents]
    top = next((directory for directory in above if (directory / ".git").exists()), root)
    return [directory for directory in (*reversed(start.parents), start) if directory.is_relative_to(top)]


def _spec_in(file: Path) -> GitIgnoreSpec | None:
    """Of regular files only, and not through links, as git does it."""
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return _read(file, (status.st_ino, status.st_size, status.st_mtime_ns))
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _read(file: Path, _version: tuple[int, int, int]) -> GitIgnoreSpec:
    """Kept, because whoever watches files asks for it with each one that is saved."""
    return spec(file.read_text("utf-8", errors="replace"))


def spec(text: str) -> GitIgnoreSpec:
    """The rules of an ignore file. A line that is no pattern says nothing, as in git."""
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`, about brackets
        return GitIgnoreSpec(list(_patterns(text.splitlines())), backend="simple")


def _patterns(lines: Sequence[str]) -> Iterator[GitIgnoreSpecPattern]:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    for line in lines:
        with suppress(ValueError, re.error):
            regex, include = GitIgnoreSpecPattern.pattern_to_regex(line)
            if regex is not None:
                yield GitIgnoreSpecPattern(re.compile(linear(regex)), include)


def linear(regex: str) -> str:
    """The same pattern, for which `re` does not try all ways to divide a name among several stars.

    What stands between two stars is of a fixed length, so where it is found first leaves most for what follows:
    there is no need to go back behind it. The same holds for the directories between two `**`. The atomic groups
    say so.
    """
    regex = re.sub(rf"(?:{_STAR})+", lambda _: "[^/]*", regex)
    regex = _STAR_AND_MORE.sub(lambda found: rf"(?>[^/]*?{found[1]})", regex)
    return _STARS_AND_MORE.sub(lambda found: rf"(?>(?:/.+?)??{found[1]}(?=/))", regex)
