"""Files as they are saved, and the remarks to gemchat that appear in them.

Owns what is known of each watched file, so that only what is new counts. A file is taken by its bytes, not by
what an editor does to save it: replaced, renamed or written twice, it is the same file with the same text.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

from gemchat.blobs import sha256
from gemchat.comments import commented
from gemchat.core.remarks import Commented, Remark, Seen, fresh, seen, without
from gemchat.core.textfile import UTF_8, TextFile, decode
from gemchat.errors import WorkspaceError
from gemchat.ignoring import is_ignored, rules_of
from gemchat.selection import REPOSITORIES, walk
from gemchat.workspace import Workspace

Put: TypeAlias = Callable[[Collection[str] | Exception], None]
FileKey: TypeAlias = tuple[int, int]  # device and inode
SavedFiles: TypeAlias = Callable[[Sequence[Path]], Generator[Collection[str], None, None]]

_LARGEST = 4_000_000  # bytes; nobody writes comments in a larger file
_MOST = 20  # new remarks at once; more are not somebody's wishes
_BEFORE_STARTED = 200  # milliseconds without a change, after which watching is said to have begun
_LEFTOVER = re.compile(r"^#.*#$|^\.#|~$|\.sw[a-p]x?$|___jb_(?:tmp|old)___$|\.kate-swp$|\.(?:tmp|bak|orig|rej)$")


def saved_files(paths: Sequence[Path]) -> Generator[Collection[str], None, None]:
    """The names of what changes below the directories and beside the files.

    Beside, because editors replace files: one alone would be lost sight of. The first bunch is empty: from then on
    nothing is missed. Other threads wait for them, so that a signal ends this one as it ends any other command.
    """
    found: SimpleQueue[Collection[str] | Exception] = SimpleQueue()
    stop = threading.Event()
    threads = [
        threading.Thread(target=_feed, args=(found.put, places, recursive, stop), daemon=True)
        for recursive, places in _places(paths).items()
    ]
    for thread in threads:
        thread.start()
    try:
        begun = 0
        while True:
            bunch = found.get()
            if isinstance(bunch, Exception):
                raise WorkspaceError(
                    f"the files cannot be watched: {bunch}", "Name fewer, or a smaller directory."
                )
            begun += not bunch
            if begun == len(threads):
                yield bunch
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _places(paths: Sequence[Path]) -> dict[bool, list[Path]]:
    """The directories to watch, by whether all below them is watched."""
    whole = sorted({path for path in paths if path.is_dir()})
    parents = {path.parent for path in paths if not path.is_dir()}
    alone = sorted(parent for parent in parents if not any(parent.is_relative_to(path) for path in whole))
    return {recursive: places for recursive, places in ((True, whole), (False, alone)) if places}


def _feed(put: Put, paths: Sequence[Path], recursive: bool, stop: threading.Event) -> None:
    try:
        watch = partial(_watch, put, paths, stop, recursive=recursive)
        try:
            watch(tolerant=False)
        except PermissionError:
            watch(tolerant=True)
    except Exception as error:  # noqa: BLE001  the other thread tells the user
        put(error)


def _watch(put: Put, paths: Sequence[Path], stop: threading.Event, *, recursive: bool, tolerant: bool) -> None:
    """`tolerant` goes past directories that may not be read, and past other errors too, so it comes second."""
    from watchfiles import watch

    begun = False
    for changes in watch(
        *paths,
        watch_filter=None,
        stop_event=stop,
        rust_timeout=_BEFORE_STARTED,
        yield_on_timeout=True,
        recursive=recursive,
        ignore_permission_denied=tolerant,
    ):
        if not begun:
            put(())
        begun = True
        if changes:
            put({name for _, name in changes})


class Saved(NamedTuple):
    """A file with new remarks, as it was when they were found; `version` is the hash of its bytes."""

    path: str
    version: str
    file: TextFile
    remarks: tuple[Remark, ...]


class _Known(NamedTuple):
    """What is kept of a file: the hash of its bytes, and what tells new remarks from those it has."""

    version: str
    seen: Seen


@dataclass
class Watched:
    """The files named, and those below the directories named that no rule leaves out.

    `encodings` are those of files that are not UTF-8, by project path. `is_own` says whether a version is one that
    gemchat wrote or replaced, `is_stored` whether a file's bytes are in the repository's history. `outputs` are
    the files that this process itself writes to, so that nothing it says comes back to it.
    """

    workspace: Workspace
    named: Collection[Path]
    encodings: Mapping[str, str]
    is_own: Callable[[str], bool]
    is_stored: Callable[[Path], bool]
    note: Callable[[str], None]
    outputs: Collection[FileKey] = ()
    _known: dict[str, _Known] = field(default_factory=dict)
    _brought: set[str] = field(default_factory=set)
    _forgotten: dict[str, list[Remark]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """What changes is told by the names of the files themselves, not of links to them."""
        self.named = frozenset(path.resolve() for path in self.named)

    def begin(self) -> int:
        """Takes in what is there, none of which will count as new. Returns the number of text files."""
        for path in self._paths(map(str, self.named)):
            if read := self._read(path):
                data, file = read
                self._known[path] = known = _Known(sha256(data), seen(self._commented(path, file.text)))
                self._brought.update(known.seen.said)
        return len(self._known)

    def appeared(self, names: Iterable[str]) -> Iterator[Saved]:
        """The remarks that are new in files that changed."""
        for path in self._paths(names):
            read = self._read(path)
            before = self._known.get(path)
            if read is None or (before and sha256(read[0]) == before.version):
                continue
            data, file = read
            version, now = sha256(data), self._commented(path, file.text)
            new = self._new(before, now)
            self._known[path] = _Known(version, seen(now))
            self._forgotten.pop(path, None)
            reason = self._why_not(path, version, new) if new else ""
            if reason:
                self.note(f"{path}: {reason}, so its comments are left alone")
            elif new:
                yield Saved(path, version, file, tuple(new))

    def forget(self, saved: Saved, forgotten: Sequence[Remark]) -> None:
        """Lets some of its remarks, besides those forgotten before, count as new when the file is saved again."""
        path = saved.path
        gone = self._forgotten.setdefault(path, [])
        gone += forgotten
        rest = decode(without(saved.file, gone), saved.file.encoding).text
        self._known[path] = _Known("", seen(self._commented(path, rest)))

    def _commented(self, path: str, text: str) -> Commented:
        """Only in a file that is named itself a line may be a remark as it is: logs are full of `gemchat: …`."""
        return commented(path, text, bare=self.workspace.root / path in self.named)

    def _new(self, before: _Known | None, now: Commented) -> list[Remark]:
        if before is not None:
            return fresh(before.seen, now)
        elsewhere = self._brought | self._vanished() if now.comments else ()
        return fresh(seen(Commented("")), now, elsewhere)

    def _vanished(self) -> set[str]:
        """What was said in files that are gone: one that appears may be one of them under another name."""
        gone = [path for path in self._known if not (self.workspace.root / path).exists()]
        return {said for path in gone for said in self._known[path].seen.said}

    def _why_not(self, path: str, version: str, new: Sequence[Remark]) -> str:
        if self.is_own(version):
            return "gemchat itself wrote or replaced this version"
        if self.is_stored(self.workspace.root / path):
            return "this version comes from the repository"
        if len(new) > _MOST:
            return f"{len(new)} new ones at once are more than {_MOST}"
        return ""

    def _paths(self, names: Iterable[str]) -> list[str]:
        """The project paths of watched files, also of those in directories."""
        root, found = self.workspace.root, set()
        for file in self._files(map(Path, names)):
            with suppress(WorkspaceError):
                found.add(self.workspace.relative(str(file), root))
        return sorted(found)

    def _files(self, locations: Iterable[Path]) -> Iterator[Path]:
        """What is left out is dropped first: a build may write thousands of files at once."""
        root = self.workspace.root
        rules = cache(partial(rules_of, root))
        for location in locations:
            if location in self.named and not location.is_dir():
                yield location
            elif self._is_below(location) and (held := rules(location.parent)) is not None:
                if location.is_dir():
                    yield from (file for file in self._walk(location) if not _LEFTOVER.search(file.name))
                elif not _LEFTOVER.search(location.name) and not is_ignored(location, held, is_directory=False):
                    yield location

    def _walk(self, directory: Path) -> Iterator[Path]:
        return iter(()) if directory.is_symlink() else walk(self.workspace.root, directory)

    def _is_below(self, location: Path) -> bool:
        below = not {location, *location.parents}.isdisjoint(self.named)
        return below and not set(REPOSITORIES) & set(location.relative_to(self.workspace.root).parts)

    def _read(self, path: str) -> tuple[bytes, TextFile] | None:
        """None for what is not there, is no text of a size for gemchat, or is its own output."""
        try:
            if file_key(self.workspace.root / path) in self.outputs:
                return None
            data = self.workspace.read(path, limit=_LARGEST)
            return None if data is None else (data, decode(data, self.encodings.get(path, UTF_8)))
        except (WorkspaceError, OSError):
            return None


def file_key(file: Path | int) -> FileKey:
    status = os.stat(file)  # noqa: PTH116  of a descriptor, too
    return status.st_dev, status.st_ino


def output_files() -> frozenset[FileKey]:
    """The files, if any, that the standard output and the standard error of this process go to."""
    found = set()
    for descriptor in (1, 2):
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                found.add(file_key(descriptor))
    return frozenset(found)


def in_repository(file: Path) -> bool:
    """Whether git knows exactly these bytes: then a checkout, a merge or a pull put them there, not an editor."""
    try:
        name = _git(file, "hash-object", "--", file.name)
        return bool(name) and _git(file, "cat-file", "-t", name) == "blob"
    except OSError:
        return False


def _git(file: Path, *arguments: str) -> str:
    """The answer, or the empty string where there is none, as outside of a repository. It never asks a server."""
    import subprocess

    environ = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=file.parent, env=environ, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else ""
