from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.visible import harmless_json, indented, one_line, visible, visible_line


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


def test_no_part_of_a_name_passes_for_a_line_of_its_own() -> None:
    assert visible_line("a\nb\x1b\tc") == "a\\x0ab\\x1b\tc"
    assert indented("a\nb\x1b") == "a\n  b\\x1b"


def test_one_line() -> None:
    assert one_line("a\n  b\tc", 10) == "a b c"
    assert one_line("abcdef", 4) == "abc…"


@given(st.text())
def test_json_stays_what_it_is_and_nothing_in_it_acts(text: str) -> None:
    written = harmless_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(written) == {"a": text}
    assert visible(written) == written


def test_json_keeps_what_is_harmless() -> None:
    assert harmless_json('"é\u202e\x9b"') == '"é\\u202e\\u009b"'
