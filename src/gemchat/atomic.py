"""Replacing a file's bytes so that a reader, or a crash, sees the old ones or the new ones and nothing else."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PREFIX, _SUFFIX = ".gemchat-", ".tmp"


class Staged(NamedTuple):
    """New bytes that are on the disk beside the file they are for, and not yet in its place."""

    temporary: Path
    target: Path

    def publish(self) -> None:
        """Takes no space, so a full disk cannot stop it. Raises OSError with the old file untouched."""
        self.temporary.replace(self.target)
        flush_directory(self.target.parent)

    def abandon(self) -> None:
        with suppress(OSError):
            self.temporary.unlink()


def stage(path: Path, data: bytes, *, mode: int | None = None, like: Path | None = None) -> Staged:
    """Writes beside `path` and flushes to the disk.

    The new file gets `mode` if given, else mode, owner and extended attributes of `like` as far as the system
    allows. Raises OSError and leaves nothing behind.
    """
    import tempfile

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=_SUFFIX)
    staged = Staged(Path(name), path)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  a descriptor, not a path
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            elif like is not None:
                _copy_metadata(like, file.fileno())
            os.fsync(file.fileno())
    except BaseException:
        staged.abandon()
        raise
    return staged


def write_atomically(path: Path, data: bytes, *, mode: int | None = None, like: Path | None = None) -> None:
    """Replaces or creates the file, as `stage` says. Raises OSError with the old file untouched."""
    staged = stage(path, data, mode=mode, like=like)
    try:
        staged.publish()
    except BaseException:
        staged.abandon()
        raise


def remove_leftovers(path: Path) -> None:
    """Removes what a killed process had staged for `path`. Nobody else may be writing it."""
    with suppress(OSError):
        for leftover in path.parent.glob(f"{_prefix(path)}*{_SUFFIX}"):
            leftover.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether the name is that of a staged file."""
    return path.name.startswith(_PREFIX) and path.name.endswith(_SUFFIX)


def _prefix(path: Path) -> str:
    """Names the file that is being replaced, without its characters and length."""
    return f"{_PREFIX}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:8]}-"


def flush_directory(directory: Path) -> None:
    """Makes renames and removals in a directory durable where the file system can."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def private_directory(path: Path) -> Path:
    """Creates a directory that only its owner can enter, whatever the umask."""
    if not path.is_dir():
        private_directory(path.parent) if not path.parent.exists() else None
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)
    return path


def _copy_metadata(source: Path, descriptor: int) -> None:
    status = source.stat()
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o7777)
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(source, name))
