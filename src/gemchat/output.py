"""Writing to stdout and stderr when they may lead nowhere: a closed pipe, a full disk, a terminal that is gone.

Whoever stops reading wants no more, and is not told so. Results that cannot be written are an error, remarks that
cannot be are not. A stream that failed once leads to the null device from then on, so the work itself goes on and
the interpreter has nothing left to complain about when it ends.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

from gemchat.errors import OutputLost

_OF_WRITING = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}


def write(stream: TextIO, text: str) -> None:
    """Writes at once. Raises OutputLost if it is stdout that fails."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        _give_up(stream, error)


def write_bytes(data: bytes) -> None:
    """Writes to stdout, after what was written to it as text. Raises OutputLost."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        _give_up(sys.stdout, error)


def lost(error: OSError) -> OutputLost | None:
    """What others who print ran into, if that was it; an error about a file of ours would name it."""
    if error.filename is not None or error.errno not in _OF_WRITING:
        return None
    _drain(sys.stdout)
    return _lost(error)


def _give_up(stream: TextIO, error: OSError) -> None:
    _drain(stream)
    if stream is sys.stdout and not isinstance(error, BrokenPipeError):
        raise _lost(error) from None


def _lost(error: OSError) -> OutputLost:
    return OutputLost(f"the output cannot be written: {error.strerror}", "Check where it is redirected to.")


def _drain(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
