"""The prompt of `gemchat chat` on a terminal that cannot move its cursor: it edits its lines itself."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gemchat.core.chatline import joined
from gemchat.core.visible import visible
from gemchat.output import write


class PlainPrompt:
    """`shown` is called when the prompt is on the screen, again and again."""

    def __init__(self, shown: Callable[[], None]) -> None:
        self._shown = shown
        self._typed = open(  # noqa: SIM115  it is stdin, which stays open
            0, encoding="utf-8", errors="surrogateescape", closefd=False
        )
        self._interrupted = False

    def read(self, message: str) -> str | None:
        """What was typed, None at the end. Ctrl-C drops the line; another one right after it is the end."""
        while True:
            write(sys.stderr, visible(message))
            self._shown()
            try:
                text = next(joined(line.removesuffix("\n") for line in iter(self._typed.readline, "")), None)
            except KeyboardInterrupt:
                if self._interrupted:
                    return None
                self._interrupted = True
                write(sys.stderr, "\ngemchat: Ctrl-C again or Ctrl-D ends\n")
            else:
                self._interrupted = False
                return text
