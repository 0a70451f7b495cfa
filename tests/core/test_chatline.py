"""Lines of `gemchat chat` as command lines."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.chatline import Line, joined, parse
from gemchat.errors import UsageError

COMMANDS = {"ask", "edit", "context", "run", "show", "apply"}
VALUED = {"-c", "--check", "-m"}


def arguments(text: str, *files: str) -> list[str]:
    line = parse(text, COMMANDS, VALUED)
    assert line is not None
    return line.arguments(files)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what's this?", ["ask", "--", "what's this?", "app.py"]),
        ("  -v is what?\n", ["ask", "--", "-v is what?", "app.py"]),
        (" /etc is what?", ["ask", "--", "/etc is what?", "app.py"]),
        ("two\n  lines", ["ask", "--", "two\n  lines", "app.py"]),
        ("/ask why?", ["ask", "--", "why?", "app.py"]),
        ('/edit  don\'t "do" it ', ["edit", "--", 'don\'t "do" it', "app.py"]),
        ("/edit\nall\nof it", ["edit", "--", "all\nof it", "app.py"]),
        ("/edit", ["edit", "--", "", "app.py"]),
        ("/edit - not an option", ["edit", "--", "- not an option", "app.py"]),
        ("/edit -- -y is what?", ["edit", "--", "-y is what?", "app.py"]),
        ("/edit -y fix it, don't ask", ["edit", "-y", "--", "fix it, don't ask", "app.py"]),
        ("/edit --check 'a b' -y  fix  it", ["edit", "--check", "a b", "-y", "--", "fix  it", "app.py"]),
        ("/edit --check='a b' #1", ["edit", "--check=a b", "--", "#1", "app.py"]),
        ("/edit -ym m-1 fix it", ["edit", "-ym", "m-1", "--", "fix it", "app.py"]),
        ("/edit -ymc fix it", ["edit", "-ymc", "--", "fix it", "app.py"]),
        ("/edit -yq -m m-1 it", ["edit", "-yq", "-m", "m-1", "--", "it", "app.py"]),
        ("/edit --check-m it", ["edit", "--check-m", "--", "it", "app.py"]),
        ("/edit --check", ["edit", "--check", "", "--", "", "app.py"]),
        ("/context add 'a b' c", ["context", "add", "a b", "c"]),
        ("/run pytest -q 'x y'", ["run", "--", "pytest", "-q", "x y"]),
        ("/run -- pytest", ["run", "--", "pytest"]),
        ("/show 1", ["show", "1"]),
        ("/apply", ["apply"]),
        ("/apply\ta\nb", ["apply", "a", "b"]),
    ],
)
def test_a_line_is_a_command_line(text: str, expected: list[str]) -> None:
    assert arguments(text, "app.py") == expected


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_a_blank_line_says_nothing(text: str) -> None:
    assert parse(text, COMMANDS) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0", "the line has a NUL character in it"),
        ("/nosuch x", "there is no command /nosuch"),
        ("/", "there is no command /"),
        ("/ ask", "there is no command /"),
        ("/show 'x", '"\'x" cannot be read: no closing quotation'),
        ("/run x\\", "'x\\\\' cannot be read: no escaped character"),
        ("/edit --check 'x y", '"\'x y" cannot be read: no closing quotation'),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        parse(text, COMMANDS, VALUED)


@given(st.text(st.characters(exclude_characters="\0")))
def test_a_prompt_is_taken_word_for_word(text: str) -> None:
    prompt = text.strip()
    if prompt:
        assert parse(f" {text}", COMMANDS) == Line(command="ask", prompt=prompt)
        assert arguments(f"/edit -- {text}") == ["edit", "--", prompt]


@given(st.lists(st.text(st.characters(exclude_characters="\0"))))
def test_words_are_quoted_as_in_a_shell(words: list[str]) -> None:
    assert arguments(f"/context {shlex.join(words)}") == ["context", *words]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["a\\", "b\\", "c", "d"], ["a\nb\nc", "d"]),
        (["a\\"], ["a"]),
        (["\\", ""], ["\n"]),
    ],
)
def test_a_backslash_at_the_end_goes_on(lines: list[str], expected: list[str]) -> None:
    assert list(joined(lines)) == expected
