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
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle

from gemchat.atomic import private_directory, write_atomically
from gemchat.cli.suggest import Suggestions
from gemchat.core.chatline import continues
from gemchat.core.visible import visible
from gemchat.output import write

_HISTORY_LIMIT = 1_000_000  # bytes, of which the newer half is kept when there are more


class Prompt:
    """`shown` is called when the prompt is on the screen, again and again; `storable` says what may be kept."""

    def __init__(
        self,
        history: Path,
        storable: Callable[[str], bool],
        suggest: Callable[[str], Suggestions],
        shown: Callable[[], None],
    ) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=History(history, storable),
            completer=_Completer(suggest),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            multiline=True,
            key_bindings=_keys(),
            enable_suspend=True,
            output=_on_stderr(),
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


def _on_stderr() -> Output:
    output = Vt100_Output.from_pty(sys.stderr, term=os.environ.get("TERM"))
    # Never asks the terminal where the cursor is: the next to read keys could get the answer.
    output.enable_cpr = False
    return output


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


class History(FileHistory):
    """Readable by its owner alone. One that cannot be read or written is none.

    What is not `storable` can be called back until the process ends.
    """

    def __init__(self, path: Path, storable: Callable[[str], bool]) -> None:
        self._storable = storable
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
        if not self._storable(string):
            return
        with suppress(OSError):
            super().store_string(string.encode("utf-8", "replace").decode())


def _shorten(path: Path) -> None:
    """Drops the older half of a history that has grown large, in whole entries. Raises OSError.

    The newest entry stays, however long it is.
    """
    if path.stat().st_size > _HISTORY_LIMIT:
        entries, between = path.read_bytes(), b"\n\n# "
        begin = entries.find(between, len(entries) - _HISTORY_LIMIT // 2)
        if begin < 0:
            begin = entries.rfind(between)
        if begin >= 0:
            write_atomically(path, entries[begin + 1 :], mode=0o600)
