"""The line on a terminal that says what is waited for; nothing of it stays."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from rich.console import Console
from rich.status import Status
from rich.text import Text

from gemchat.core.visible import visible
from gemchat.suspending import suspending


class Waiting:
    """On stderr. Shown from `say` to `stop`; between them the terminal is not to be written to past rich."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._shown = ExitStack()

    def say(self, what: str) -> None:
        text = Text(visible(what), no_wrap=True, overflow="ellipsis")
        if self._status is None:
            console = Console(stderr=True, markup=False, highlight=False)
            self._status = Status(text, console=console)
            self._shown.callback(self._status.stop)
            cursor = console.show_cursor  # it is hidden meanwhile
            self._shown.enter_context(suspending(partial(cursor, True), partial(cursor, False)))
            self._status.start()
        else:
            self._status.update(text)

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleeps and counts down, if anything is shown."""
        if self._status is None:
            sleep(seconds)
            return
        waiting = self._status.status
        for left in range(math.ceil(seconds), 0, -1):
            self._status.update(f"trying again in {left} s …")
            step = min(1.0, seconds)
            sleep(step)
            seconds -= step
        self._status.update(waiting)

    def stop(self) -> None:
        self._shown.close()
        self._status = None
