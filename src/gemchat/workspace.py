"""The user's files: which project they belong to, what they hold now, and replacing them safely.

Paths inside gemchat are POSIX paths relative to the project root. Nothing outside the root is read or written,
whichever way a path or a symbolic link points there, but for the paths that the user allowed one by one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from gemchat.atomic import Staged, flush_directory, remove_leftovers, stage
from gemchat.errors import FileMissing, OutsideProject, TooLarge, WorkspaceError

SIZE_LIMIT = 4_000_000  # bytes of text that is sent whole; about a million tokens, more than models read
TARGET_LIMIT = 32_000_000  # bytes of a file of which a part may be sent; more take too much memory

_ROOT_MARKERS = (".git", ".hg", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", ".gemchat.toml")


def find_root(directory: Path) -> Path:
    """The nearest directory upwards that looks like a project, else `directory` itself."""
    start = directory.resolve()
    for candidate in (start, *start.parents):
        if any((candidate / marker).exists() for marker in _ROOT_MARKERS):
            return candidate
    return start


class Replacement(NamedTuple):
    """What a file will be replaced by, on the disk already; nothing if it will be deleted."""

    path: str
    location: Path
    staged: Staged | None

    def abandon(self) -> None:
        if self.staged is not None:
            self.staged.abandon()


class Workspace:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise WorkspaceError(f"there is no directory {root}", "Check --project.")
        self._allowed: set[str] = set()

    def allow(self, paths: Iterable[str]) -> None:
        """Lets these paths lead out of the project."""
        self._allowed.update(paths)

    def allowed(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of the paths that lead out of the project with the user's leave."""
        return tuple(path for path in paths if path in self._allowed)

    def relative(self, argument: str, directory: Path, *, outside: bool = False) -> str:
        """The project path of a file as the user named it in `directory`; `outside` allows any."""
        if argument != argument.encode("utf-8", "replace").decode():
            raise WorkspaceError("the name of a file is not UTF-8, so the model could not be told of it")
        named = directory / argument
        location = named.parent.resolve() / named.name if named.name not in ("", "..") else named.resolve()
        path = PurePath(os.path.relpath(location, self.root)).as_posix()
        if outside and not self._leads_inside(path):
            self.allow([path])
        if not location.is_relative_to(self.root) and path not in self._allowed:
            raise self._outside(argument)
        self._locate(path)
        return path

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """The file's bytes, None when there is no such file. Raises TooLarge beyond `limit` bytes."""
        location = self._locate(path)
        try:
            if not stat.S_ISREG(location.stat().st_mode):
                raise WorkspaceError(f"{path} is not a regular file", "Name a file, not a directory or device.")
            size = location.stat().st_size
            if limit is not None and size > limit:
                raise TooLarge(f"{path} is too large: it has {size:,} bytes", f"The limit is {limit:,}.")
            return location.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error

    def beginning(self, path: str, count: int) -> bytes:
        """The first bytes of a file, none of what is no regular file or cannot be read: `read` says why."""
        location = self._locate(path)
        try:
            if not location.is_file():
                return b""
            with location.open("rb") as file:
                return file.read(count)
        except OSError:
            return b""

    def write(self, path: str, data: bytes) -> None:
        """Replaces or creates the file, as `stage` says."""
        self.publish(self.stage(path, data))

    def delete(self, path: str) -> None:
        self.publish(self.stage(path, None))

    def stage(self, path: str, data: bytes | None) -> Replacement:
        """Makes ready all that can fail for want of space or permission; None is for a file that will be deleted.

        An existing file keeps mode, owner and attributes, and a link stays a link.
        """
        location = self._locate(path)
        try:
            if data is None:
                return Replacement(path, location, None)
            if not location.exists():
                return Replacement(path, location, stage(location, data, mode=0o666 & ~_umask()))
            if not os.access(location, os.W_OK):
                raise WorkspaceError(f"{path} is write-protected", "Change its mode first.")
            return Replacement(path, location, stage(location, data, like=location))
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from error

    def publish(self, replacement: Replacement) -> None:
        path, location, staged = replacement
        try:
            if staged is not None:
                staged.publish()
            else:
                location.unlink()
                flush_directory(location.parent)
        except OSError as error:
            replacement.abandon()
            done = "deleted" if staged is None else "written"
            raise WorkspaceError(f"{path} cannot be {done}: {error.strerror}") from error

    def remove_leftovers(self, path: str) -> None:
        """Removes what a killed process had made ready for a file."""
        remove_leftovers(self._locate(path))

    def check_creatable(self, path: str) -> None:
        """Raises FileMissing when the directory for a new file is not there: more likely a slip than a wish."""
        directory = self._locate(path).parent
        if not directory.is_dir():
            raise FileMissing(f"{path} cannot be created: there is no directory {directory}", "Create it first.")

    def check_distinct(self, paths: Iterable[str]) -> None:
        """Raises WorkspaceError when two of the paths lead to one file."""
        found: dict[Path, str] = {}
        for path in paths:
            other = found.setdefault(self._locate(path), path)
            if other != path:
                raise WorkspaceError(f"{other} and {path} are the same file", "Name it once.")

    def git_path(self, path: str) -> str:
        """The path as git has it: from the root of the repository around the project, if there is one.

        It is that of the file behind any links, because git patches no link.
        """
        location = self._locate(path)
        for directory in (self.root, *self.root.parents):
            if (directory / ".git").exists() and path not in self._allowed:
                return location.relative_to(directory).as_posix()
        return path if path in self._allowed else location.relative_to(self.root).as_posix()

    def mode(self, path: str) -> int:
        """The file's mode as git records it."""
        location = self._locate(path)
        return 0o100755 if location.exists() and location.stat().st_mode & 0o100 else 0o100644

    def _locate(self, path: str) -> Path:
        """Where the bytes of a project path really are, behind any links."""
        pure = PurePosixPath(path)
        try:
            location = (self.root / pure).resolve()
        except RuntimeError:
            raise WorkspaceError(f"{path} is a link that leads to itself") from None
        if path not in self._allowed and (
            pure.is_absolute() or ".." in pure.parts or not location.is_relative_to(self.root)
        ):
            raise self._outside(path)
        return location

    def _leads_inside(self, path: str) -> bool:
        try:
            self._locate(path)
        except OutsideProject:
            return False
        return True

    def _outside(self, path: str) -> OutsideProject:
        return OutsideProject(
            f"{path} is outside the project {self.root}",
            "Name the project directory with --project, or take this file all the same: --allow-outside",
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
