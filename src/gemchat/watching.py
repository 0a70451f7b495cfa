"""Files as they are saved, and the remarks to gemchat that appear in them.

Owns what was in each watched file before, so that only what is new counts. A file is taken by its bytes, not by
what an editor does to save it: replaced, renamed or written twice, it is the same file with the same text.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

from gemchat.blobs import sha256
from gemchat.comments import commented
from gemchat.core.remarks import Commented, Remark, fresh, remarks, without
from gemchat.core.textfile import UTF_8, TextFile, decode
from gemchat.errors import WorkspaceError
from gemchat.selection import is_left_out, walk
from gemchat.workspace import SIZE_LIMIT, Workspace

Put: TypeAlias = Callable[[Collection[str] | Exception], None]
SavedFiles: TypeAlias = Callable[[Sequence[Path]], Generator[Collection[str], None, None]]

_BEFORE_STARTED = 200  # milliseconds without a change, after which watching is said to have begun
_LEFTOVER = re.compile(r"^#.*#$|^\.#|~$|\.sw[a-p]x?$|___jb_(?:tmp|old)___$|\.kate-swp$|\.(?:tmp|bak|orig|rej)$")


def saved_files(paths: Sequence[Path]) -> Generator[Collection[str], None, None]:
    """The names of what changes below `paths`. The first bunch is empty: from then on nothing is missed.

    Another thread waits for them, so that a signal ends this one as it ends any other command.
    """
    found: SimpleQueue[Collection[str] | Exception] = SimpleQueue()
    stop = threading.Event()
    thread = threading.Thread(target=_feed, args=(found.put, paths, stop), daemon=True)
    thread.start()
    try:
        while True:
            bunch = found.get()
            if isinstance(bunch, Exception):
                raise WorkspaceError(
                    f"the files cannot be watched: {bunch}", "Name fewer, or a smaller directory."
                )
            yield bunch
    finally:
        stop.set()
        thread.join()


def _feed(put: Put, paths: Sequence[Path], stop: threading.Event) -> None:
    try:
        try:
            _watch(put, paths, stop, tolerant=False)
        except PermissionError:
            _watch(put, paths, stop, tolerant=True)
    except Exception as error:  # noqa: BLE001  the other thread tells the user
        put(error)


def _watch(put: Put, paths: Sequence[Path], stop: threading.Event, *, tolerant: bool) -> None:
    """`tolerant` goes past directories that may not be read, and past other errors too, so it comes second."""
    from watchfiles import watch

    begun = False
    for changes in watch(
        *paths,
        watch_filter=None,
        stop_event=stop,
        rust_timeout=_BEFORE_STARTED,
        yield_on_timeout=True,
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


@dataclass
class Watched:
    """The files named, and those below the directories named that no rule leaves out.

    `encodings` are those of files that are not UTF-8, by project path. `is_own` says whether a version is one that
    gemchat wrote or replaced, `is_stored` whether a file's bytes are in the repository's history.
    """

    workspace: Workspace
    named: Sequence[Path]
    encodings: Mapping[str, str]
    is_own: Callable[[str], bool]
    is_stored: Callable[[Path], bool]
    note: Callable[[str], None]
    _texts: dict[str, str] = field(default_factory=dict)
    _brought: set[str] = field(default_factory=set)

    @property
    def roots(self) -> list[Path]:
        """The directories to watch: editors replace files, so a file alone would be lost sight of."""
        return sorted({path if path.is_dir() else path.parent for path in self.named})

    def begin(self) -> int:
        """Takes in what is there, none of which will count as new. Returns the number of text files."""
        for path in self._paths(map(str, self.named)):
            if read := self._read(path):
                self._texts[path] = read[1].text
                self._brought.update(remark.said for remark in remarks(commented(path, read[1].text)))
        return len(self._texts)

    def appeared(self, names: Iterable[str]) -> Iterator[Saved]:
        """The remarks that are new in files that changed."""
        for path in self._paths(names):
            read = self._read(path)
            before = self._texts.get(path)
            if read is None or read[1].text == before:
                continue
            data, file = read
            self._texts[path] = file.text
            new = self._new(path, before, commented(path, file.text))
            reason = self._why_not(path, sha256(data)) if new else ""
            if reason:
                self.note(f"{path}: {reason}, so its comments are left alone")
            elif new:
                yield Saved(path, sha256(data), file, tuple(new))

    def forget(self, saved: Saved, forgotten: Sequence[Remark]) -> None:
        """Lets some of its remarks count as new when the file is saved again."""
        self._texts[saved.path] = decode(without(saved.file, forgotten), saved.file.encoding).text

    def _new(self, path: str, before: str | None, now: Commented) -> list[Remark]:
        if before is not None:
            return fresh(commented(path, before), now)
        return fresh(Commented(""), now, self._brought | self._vanished())

    def _vanished(self) -> set[str]:
        """What was said in files that are gone: one that appears may be one of them under another name."""
        gone = [path for path in self._texts if not (self.workspace.root / path).exists()]
        return {remark.said for path in gone for remark in remarks(commented(path, self._texts[path]))}

    def _why_not(self, path: str, version: str) -> str:
        if self.is_own(version):
            return "gemchat itself wrote or replaced this version"
        if self.is_stored(self.workspace.root / path):
            return "this version comes from the repository"
        return ""

    def _paths(self, names: Iterable[str]) -> list[str]:
        """The project paths of watched files, also of those in directories."""
        root, found = self.workspace.root, set()
        for name in names:
            location = Path(name)
            for file in walk(root, location) if location.is_dir() else [location]:
                with suppress(WorkspaceError):
                    path = self.workspace.relative(str(file), root)
                    if self._is_watched(root / path):
                        found.add(path)
        return sorted(found)

    def _is_watched(self, file: Path) -> bool:
        if file in self.named:
            return True
        below = any(file.is_relative_to(path) for path in self.named)
        return below and not _LEFTOVER.search(file.name) and not is_left_out(self.workspace.root, file)

    def _read(self, path: str) -> tuple[bytes, TextFile] | None:
        """None for what is not there, or is no text of a size for gemchat."""
        try:
            data = self.workspace.read(path, limit=SIZE_LIMIT)
            return None if data is None else (data, decode(data, self.encodings.get(path, UTF_8)))
        except WorkspaceError:
            return None


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
