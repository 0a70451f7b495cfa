from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.visible import one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x9b", "a\\x0db\\x9b"),
        ("\u202eabc", "\\u202eabc"),
        ("\udcff", "\\udcff"),
        ("tab\tand\nline [bold]é日", "tab\tand\nline [bold]é日"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_is_left_to_escape(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode()


def test_one_line() -> None:
    assert one_line("a\n  b\tc", 10) == "a b c"
    assert one_line("abcdef", 4) == "abc…"
