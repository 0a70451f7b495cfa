"""Which files a name stands for: a file, a directory, a glob.

A file that is named is meant, whatever the rules say. For directories and globs those of the ignore files hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from gemchat.core.economics import estimate_tokens
from gemchat.core.globs import matches
from gemchat.core.kinds import TITLES
from gemchat.core.media import FILE_LIMIT
from gemchat.core.model import Value
from gemchat.core.textfile import UTF_8, decode, raw_text
from gemchat.core.tree import Listed, overview
from gemchat.errors import FileMissing, TooLarge, WorkspaceError
from gemchat.ignoring import Rules, is_ignored, rules_of, with_rules
from gemchat.media import read_media
from gemchat.symbols import has_symbols, symbols
from gemchat.workspace import SIZE_LIMIT, Workspace

REPOSITORIES = (".git", ".hg", ".svn")
_PARSED = 500_000  # bytes; larger files are listed without names
_GLOB = frozenset("*?[")


class Chosen(Value, frozen=True):
    """A file as context: its project path, its size in bytes, and an estimate of its tokens.

    `mime_type` is that of an image or PDF, None for text.
    """

    path: str
    bytes: int
    tokens: int
    mime_type: str | None = None


class Selection(Value, frozen=True):
    """The files that some names stand for, and those left out of a directory or glob, with the reason."""

    files: tuple[Chosen, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.files)


def project_overview(workspace: Workspace) -> str:
    """The project's files that no rule leaves out, with the names that those of text define."""
    listed = []
    for location in walk(workspace.root, workspace.root):
        try:
            path = workspace.relative(str(location), workspace.root)
            size = location.stat().st_size
        except (WorkspaceError, OSError):
            continue
        listed.append(Listed(path=path, bytes=size, symbols=_symbols(workspace, path) if size <= _PARSED else ()))
    return overview(listed)


def _symbols(workspace: Workspace, path: str) -> tuple[str, ...]:
    try:
        return symbols(path, decode(workspace.read(path) or b"").text) if has_symbols(path) else ()
    except WorkspaceError:
        return ()


def select(
    workspace: Workspace,
    directory: Path,
    names: Sequence[str],
    *,
    encoding: str | None = None,
    outside: bool = False,
    model: str = "",
) -> Selection:
    """Raises FileMissing for a name without any file, TooLarge when all together are more than a model reads.

    A directory stands for its texts: images and PDFs are dear, and mostly not what is meant. `model` is for whom
    they are weighed.
    """
    files: dict[str, Chosen] = {}
    left_out: dict[str, str] = {}
    for name in names:
        if not is_pattern(directory, name):
            path = workspace.relative(name, directory, outside=outside)
            files[path] = _chosen(workspace, path, encoding or UTF_8, model)
            continue
        matches = list(_matches(workspace, directory, name))
        if not matches:
            raise FileMissing(f"{name} has no file that is not ignored", "Name a file itself to take it anyway.")
        for path in matches:
            try:
                file = _chosen(workspace, path, encoding or UTF_8, model)
            except WorkspaceError as error:
                left_out[path] = error.message
                continue
            if file.mime_type and _is_directory(directory / name):
                left_out[path] = f"{path} is a {TITLES[file.mime_type]}; name it, or a glob, to take it"
            else:
                files[path] = file
    selection = Selection(files=tuple(files.values()), left_out=tuple(left_out.items()))
    _check_size([file for file in files.values() if not file.mime_type], SIZE_LIMIT, "a model can read")
    _check_size([file for file in files.values() if file.mime_type], FILE_LIMIT, "one request can hold")
    return selection


def _check_size(files: Sequence[Chosen], limit: int, bound: str) -> None:
    size = sum(file.bytes for file in files)
    if size > limit:
        raise TooLarge(
            f"{len(files)} files with {size:,} bytes are more than {bound}",
            f"Choose fewer; the limit is {limit:,} bytes.",
        )


def is_pattern(directory: Path, name: str) -> bool:
    """Whether a name stands for several files: a directory, or a glob that is no file's own name."""
    location = directory / name
    return _is_directory(location) or (bool(_GLOB & set(name)) and not os.path.lexists(location))


def _is_directory(location: Path) -> bool:
    return os.path.isdir(location)  # noqa: PTH112  Path.is_dir raises for a name that is too long


def walk(root: Path, start: Path) -> Iterator[Path]:
    """The files below `start` that no rule excludes, in order. Links to directories are not followed."""
    rules = rules_of(root, start)
    below = [] if rules is None else [(_entries(start, rules), rules)]  # no recursion: directories may be deep
    while below:
        entries, rules = below[-1]
        path, is_directory = next(entries, (None, False))
        if path is None:
            below.pop()
        elif is_directory:
            inner = with_rules(rules, path)
            below.append((_entries(path, inner), inner))
        elif os.path.isfile(path):  # noqa: PTH113  Path.is_file raises for a path that is too long
            yield path


def listing(root: Path, directory: Path) -> list[tuple[Path, bool]]:
    """The files and directories in one directory that no rule excludes, and whether each is a directory."""
    rules = rules_of(root, directory)
    return [] if rules is None else list(_entries(directory, rules))


def _entries(directory: Path, rules: list[Rules]) -> Iterator[tuple[Path, bool]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name not in REPOSITORIES and not is_ignored(path, rules, is_directory=is_directory):
            yield path, is_directory


def _matches(workspace: Workspace, directory: Path, name: str) -> Iterator[str]:
    """Project paths of what a directory or glob stands for, without what leads out of the project."""
    location = (directory / name).resolve()
    if _is_directory(location):
        found = walk(workspace.root, workspace.root / workspace.relative(name, directory))
    else:
        start, parts = _glob(workspace, directory, name)
        below = walk(workspace.root, start)
        found = (path for path in below if matches(parts, path.relative_to(start).parts))
    for path in found:
        try:
            yield workspace.relative(str(path), workspace.root)
        except WorkspaceError:
            continue


def _glob(workspace: Workspace, directory: Path, name: str) -> tuple[Path, list[str]]:
    """The directory that all matches are in, and what their paths in it match.

    No pattern is looked up on the disk: it would be followed through links, which may lead anywhere or in circles.
    """
    parts = list(PurePosixPath(os.path.normpath(name)).parts)
    fixed = next(place for place, part in enumerate(parts) if _GLOB & set(part))
    start = workspace.root / workspace.relative(str(Path(*parts[:fixed])), directory)
    return start, parts[fixed:] if not name.endswith("/") else []


def _chosen(workspace: Workspace, path: str, encoding: str, model: str) -> Chosen:
    media = read_media(workspace, path, model)
    if media is not None:
        ref = media.ref
        return Chosen(path=path, bytes=ref.bytes, tokens=ref.tokens, mime_type=ref.mime_type)
    data = workspace.read(path, limit=SIZE_LIMIT)
    if data is None:
        raise FileMissing(f"there is no file {path}", "Check the name; paths are relative to where you are.")
    try:
        text = raw_text(data, encoding)
    except WorkspaceError as error:
        raise type(error)(f"{path} {error.message}", error.hint) from None
    return Chosen(path=path, bytes=len(data), tokens=estimate_tokens(text))
