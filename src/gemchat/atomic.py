"""Replacing a file's bytes so that a reader, or a crash, sees the old ones or the new ones and nothing else."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, mode: int | None = None, like: Path | None = None) -> None:
    """Writes beside `path`, flushes to the disk, then renames over it.

    The new file gets `mode` if given, else mode, owner and extended attributes of `like` as far as the system
    allows. Raises OSError with the old file untouched.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".gemchat-", suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  a descriptor, not a path
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            elif like is not None:
                _copy_metadata(like, file.fileno())
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    flush_directory(path.parent)


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
