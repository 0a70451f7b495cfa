"""Where launchers and their parent meet, and what they must have in common.

This is on the way of every command that needs the SDK, so it loads nothing that is not loaded anyway.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from gemchat import __version__

# Read when Python, the C library or an imported module starts, so that a fork cannot make up for another value.
_READ_ONCE = (
    "PYTHON", "_PYTHON", "HOME", "LANG", "LC_", "LOCPATH", "LD_", "GLIBC_", "MALLOC_",
    "OPENSSL_", "PYDANTIC_", "WEBSOCKETS_", "TYPER_", "RUST_", "ANDROID_",
)  # fmt: skip


def read_once(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment the parent must have as well. No key is among it."""
    return {name: value for name, value in environ.items() if name.startswith(_READ_ONCE)}


def directory_of(environ: Mapping[str, str]) -> str:
    """Where the sockets of this user are."""
    runtime = environ.get("XDG_RUNTIME_DIR") or "/tmp"  # noqa: S108  `entered` looks at whose it is
    return f"{runtime}/gemchat-{os.geteuid()}"


def entered(directory: str) -> int | None:
    """A descriptor of the directory, if it is the user's and nobody else may enter it.

    Whatever is reached through the descriptor is in the directory that was looked at.
    """
    try:
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return descriptor
    os.close(descriptor)
    return None


def has_parent() -> bool:
    """Whether it looks as if a parent waited in this session."""
    return sys.platform == "linux" and os.path.exists(f"{directory_of(os.environ)}/{socket_name()}")


def socket_name() -> str:
    return f"{os.getsid(0)}.sock"


def lock_name() -> str:
    return f"{os.getsid(0)}.lock"


def through(descriptor: int, name: str) -> str:
    """A path for the calls that know none relative to a descriptor; it is short, as those of sockets must be."""
    return f"/proc/self/fd/{descriptor}/{name}"


def program() -> str:
    """Which gemchat this is, which Python runs it, and where both look for modules."""
    places = sys.path if sys.flags.safe_path else sys.path[1:]  # the first is the directory of the script
    return repr((__version__, __file__, sys.executable, sys.version, places))
