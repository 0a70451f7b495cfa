"""The user's files: which project they belong to, what they hold now, and replacing them safely.

Paths inside gemchat are POSIX paths relative to the project root. Nothing outside the root is ever read or
written, whichever way a path or a symbolic link points there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from gemchat.atomic import flush_directory, write_atomically
from gemchat.errors import FileMissing, OutsideProject, WorkspaceError

_ROOT_MARKERS = (".git", ".hg", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", ".gemchat.toml")


def find_root(directory: Path) -> Path:
    """The nearest directory upwards that looks like a project, else `directory` itself."""
    start = directory.resolve()
    for candidate in (start, *start.parents):
        if any((candidate / marker).exists() for marker in _ROOT_MARKERS):
            return candidate
    return start


class Workspace:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise WorkspaceError(f"there is no directory {root}", "Check --project.")

    def relative(self, argument: str, directory: Path) -> str:
        """The project path of a file as the user named it in `directory`."""
        if argument != argument.encode("utf-8", "replace").decode():
            raise WorkspaceError("the name of a file is not UTF-8, so the model could not be told of it")
        named = directory / argument
        location = named.parent.resolve() / named.name if named.name not in ("", "..") else named.resolve()
        try:
            path = location.relative_to(self.root).as_posix()
        except ValueError:
            raise self._outside(argument) from None
        self._locate(path)
        return path

    def read(self, path: str) -> bytes | None:
        """The file's bytes, None when there is no such file."""
        location = self._locate(path)
        try:
            if not stat.S_ISREG(location.stat().st_mode):
                raise WorkspaceError(f"{path} is not a regular file", "Name a file, not a directory or device.")
            return location.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error

    def write(self, path: str, data: bytes) -> None:
        """Replaces or creates the file. An existing one keeps mode, owner and attributes; a link stays a link."""
        location = self._locate(path)
        try:
            if location.exists():
                if not os.access(location, os.W_OK):
                    raise WorkspaceError(f"{path} is write-protected", "Change its mode first.")
                write_atomically(location, data, like=location)
            else:
                write_atomically(location, data, mode=0o666 & ~_umask())
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from error

    def delete(self, path: str) -> None:
        location = self._locate(path)
        try:
            location.unlink()
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be deleted: {error.strerror}") from error
        flush_directory(location.parent)

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
            if (directory / ".git").exists():
                return location.relative_to(directory).as_posix()
        return location.relative_to(self.root).as_posix()

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
        if pure.is_absolute() or ".." in pure.parts or not location.is_relative_to(self.root):
            raise self._outside(path)
        return location

    def _outside(self, path: str) -> OutsideProject:
        return OutsideProject(
            f"{path} is outside the project {self.root}", "Name the project directory with --project."
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
