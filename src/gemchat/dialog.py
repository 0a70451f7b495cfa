"""Asking on the terminal: single keys and lines from stdin, questions on stderr.

Only for when both are terminals. What is typed ahead is kept for the next question, unless that is about something
that could not have been seen.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Mapping

from gemchat.core.visible import visible
from gemchat.suspending import suspending


class Dialog:
    def __init__(self) -> None:
        self._typed = ""
        self._asked = ""

    def forget(self) -> None:
        """Drops what was typed ahead."""
        self._typed = ""
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def choose(self, choices: Mapping[str, str], default: str) -> str:
        """Asks for one key; any other key, end of input included, is the default. The word of the key is shown."""
        self.say("  ".join(f"[{key}]{word[1:]}" for key, word in choices.items()) + " ")
        word = choices.get(self.key().lower(), choices[default])
        self.say(f"{word}\n")
        return word

    def key(self) -> str:
        """One key as it is pressed, without waiting for a line; empty at the end of input."""
        if not self._typed:
            self._typed = _read_keys(lambda: self.say(self._asked))
        if self._typed.startswith("\x1b"):  # an arrow or the like: all of it is one key
            key, self._typed = self._typed, ""
        else:
            key, self._typed = self._typed[:1], self._typed[1:]
        return "" if key == "\x04" else key

    def line(self, question: str) -> str:
        """A line that the user may edit while typing; empty at the end of input."""
        self.say(question)
        if "\n" not in self._typed:
            _wait_for_input()
            self._typed += sys.stdin.readline()
        line, _, self._typed = self._typed.partition("\n")
        return line.strip().encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def say(self, text: str) -> None:
        self._asked = text.rpartition("\n")[2]
        sys.stderr.write(visible(text))
        sys.stderr.flush()


def _read_keys(ask_again: Callable[[], None]) -> str:
    """What can be read without a line being ended. Nothing that was typed before is thrown away."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def leave() -> None:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def back() -> None:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        ask_again()

    try:
        with suspending(leave, back):
            tty.setcbreak(terminal, termios.TCSADRAIN)
            _wait_for_input()
            return os.read(terminal, 64).decode("utf-8", "replace")
    finally:
        leave()


def _wait_for_input() -> None:
    """Also ended by a signal that came just before the wait began: `os.read` alone would sleep over it."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
            os.read(woken, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(wake)
        os.close(woken)
