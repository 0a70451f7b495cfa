"""The prompt of `gemchat chat`: keys, history, completion. The only module that knows prompt_toolkit.

It is drawn on stderr, so that stdout has results only. What lines mean is the business of others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle

from gemchat.atomic import private_directory, write_atomically
from gemchat.cli.suggest import Suggestions
from gemchat.core.chatline import continues
from gemchat.core.visible import visible
from gemchat.output import write

_HISTORY_LIMIT = 1_000_000  # bytes, of which the newer half is kept when there are more


class Prompt:
    """`shown` is called when the prompt is on the screen, again and again."""

    def __init__(self, history: Path, suggest: Callable[[str], Suggestions], shown: Callable[[], None]) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_History(history),
            completer=_Completer(suggest),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            multiline=True,
            key_bindings=_keys(),
            enable_suspend=True,
            # Never asks the terminal where the cursor is: the next to read keys could get the answer.
            output=Vt100_Output(sys.stderr, _size, term=os.environ.get("TERM"), enable_cpr=False),
        )
        self._session.app.after_render.add_handler(lambda _: shown())
        self._interrupted = False

    def read(self, message: str) -> str | None:
        """What was typed, None at the end. Ctrl-C clears; another one with nothing typed since is the end."""
        while True:
            try:
                text = self._session.prompt(message)
            except EOFError:
                return None
            except KeyboardInterrupt:
                if self._interrupted and not self._session.default_buffer.text:
                    return None
                self._interrupted = True
                write(sys.stderr, "gemchat: Ctrl-C again or Ctrl-D ends\n")
            else:
                self._interrupted = False
                return text


def _size() -> Size:
    columns, rows = os.get_terminal_size(sys.stderr.fileno())
    return Size(rows=rows, columns=columns)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if continues(buffer.document.current_line_before_cursor) and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


class _Completer(Completer):
    def __init__(self, suggest: Callable[[str], Suggestions]) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterable[Completion]:
        start, words = self._suggest(document.text_before_cursor)
        for word in words:
            yield Completion(word, start - len(document.text_before_cursor), display=visible(word))


class _History(FileHistory):
    """Readable by its owner alone. One that cannot be read or written is none."""

    def __init__(self, path: Path) -> None:
        with suppress(OSError):
            private_directory(path.parent)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
            os.fchmod(descriptor, 0o600)
            os.close(descriptor)
            _shorten(path)
        super().__init__(str(path))

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string.encode("utf-8", "replace").decode())


def _shorten(path: Path) -> None:
    """Drops the older half of a history that has grown large, in whole entries. Raises OSError."""
    if path.stat().st_size > _HISTORY_LIMIT:
        _, begin, newer = path.read_bytes()[-_HISTORY_LIMIT // 2 :].partition(b"\n\n# ")
        write_atomically(path, begin[1:] + newer, mode=0o600)
