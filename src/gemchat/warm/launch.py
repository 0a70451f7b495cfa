"""The launcher: hands a command line over to a worker of the terminal's parent, if that can take it.

For everything unexpected it returns None, and nothing was done.
"""

from __future__ import annotations

import os
import signal
import sys
from select import select
from socket import AF_UNIX, SO_PEERCRED, SOL_SOCKET, send_fds, socket
from types import FrameType

from gemchat.warm.meeting import directory_of, entered, program, socket_name, through

PATIENCE = 1.0  # seconds for an answer that takes 10 ms on an idle machine; a start without it takes as long
DESCRIPTORS = 250  # the kernel passes on 253
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what gemchat does something about


def launched() -> int | None:
    """Has this process's command line carried out, and returns the exit code."""
    directory = entered(directory_of(os.environ))
    if directory is None or (sys.orig_argv[1] != "-m" and sys.orig_argv[1].startswith("-")):
        return None  # an option of Python, which the parent was not started with
    try:
        return _handed_over(through(directory, socket_name()))
    except OSError:
        return None


def _handed_over(path: str) -> int | None:
    """Raises OSError as long as nothing was done."""
    numbers = _inherited()
    if len(numbers) > DESCRIPTORS:
        return None
    said = "\0".join([program(), ",".join(map(str, numbers)), *sys.argv]).encode("utf-8", "surrogateescape")
    with socket(AF_UNIX) as parent:
        parent.settimeout(PATIENCE)
        parent.connect(path)
        who = parent.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
        if int.from_bytes(who[4:8], sys.byteorder) != os.geteuid():
            return None
        send_fds(parent, [len(said).to_bytes(8)], numbers)
        parent.sendall(said)
        if parent.recv(1) != b"+":
            return None
        _agree(parent)
        code = _outcome(parent)
        signal.set_wakeup_fd(-1)
    return _ended_as(code)


def _inherited() -> list[int]:
    """The open descriptors that Python has not opened for itself."""
    return [number for number in map(int, os.listdir("/proc/self/fd")) if _is_inherited(number)]


def _is_inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:  # that of the listing
        return False


def _agree(parent: socket) -> None:
    """From here on the worker works. Signals that this process gets go into the socket, as their numbers."""
    heard = {
        number: signal.signal(number, _go_on)
        for number in PASSED_ON
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    signal.set_wakeup_fd(parent.fileno())
    try:
        parent.sendall(b"!")
    except OSError:
        signal.set_wakeup_fd(-1)
        for number, handler in heard.items():
            signal.signal(number, handler)
        raise


def _go_on(_: int, __: FrameType | None) -> None:
    pass


def _outcome(parent: socket) -> int | None:
    """The worker's exit code, negative for a signal, or None if nobody is left who knows it."""
    said = b""
    while True:
        select([parent], [], [])
        try:
            piece = parent.recv(16)
        except ConnectionError:
            piece = b""
        if not piece:
            return int(said) if said else None
        said += piece


def _ended_as(code: int | None) -> int:
    """The exit code. A worker that died of a signal is followed."""
    if code is None:
        sys.stderr.write("gemchat: the process that did this is gone; see how far it came: gemchat log\n")
        return 1
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core is enough
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code
