"""What Ctrl-Z must not take with it: a terminal that was changed is put back before the process stops.

Nothing can be done about a process that is stopped or killed without being asked.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def suspending(leave: Callable[[], object], back: Callable[[], object]) -> Iterator[None]:
    """Until the block ends, `leave` is called before Ctrl-Z stops the process, and `back` when it goes on."""
    stop = getattr(signal, "SIGTSTP", None)
    alone = threading.current_thread() is not threading.main_thread()
    if stop is None or alone or signal.getsignal(stop) is not signal.SIG_DFL:
        yield
        return

    def suspend(number: int, _: FrameType | None) -> None:
        leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, suspend)
        back()

    signal.signal(stop, suspend)
    try:
        yield
    finally:
        signal.signal(stop, signal.SIG_DFL)
