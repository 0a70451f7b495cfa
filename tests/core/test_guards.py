from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.guards import broken_syntax, elided_line, has_shrunk
from gemchat.core.proposals import parse, resolve
from gemchat.core.textfile import decode

PLACEHOLDERS = [
    "# ... rest of the code unchanged ...",
    "// rest of the code remains the same",
    "/* ... existing code ... */",
    "<!-- rest of the file unchanged -->",
    "# ...",
    "// …",
    "-- remaining functions unchanged",
    "; rest unchanged",
    "{/* existing code */}",
    "# existing code here",
    "# Rest des Codes bleibt unverändert",
    "// ... unverändert ...",
    "# reste du code inchangé",
    "// code existant",
    "# 以下省略",
    "// 残りのコードは同じ",
    "# 其余代码保持不变",
    "// 现有代码",
    "# (unchanged)",
    "[... rest of file ...]",
    "  # other methods remain unchanged",
    "// The rest of the implementation stays the same as before",
    "// same as before",
    "# code omitted for brevity",
    "% rest of the code",
    "' existing code ...",
    "(* ... *)",
    "{- rest of the module unchanged -}",
    "REM rest of the code",
    "# keep the rest of the function",
    "/* remaining code unchanged */",
    "# ... (previous code) ...",
    "// ... other functions",
    "# snip",
    "… ",
    "// suite du fichier",
    "# bestehender Code",
    "/* 省略 */",
    "// Your existing code here",
    "# [rest of file unchanged]",
    "# le reste de la fonction est inchangé",
    "/* der restliche Code bleibt gleich */",
    "// 原有代码保持不变",
    "# 既存のコードはそのまま",
]

HONEST = [
    "# Existing tests",
    "# Remaining code",
    "* other functions",
    "# Other classes",
    "# Original code",
    "[rest]",
    "<suite>",
    "<etc>",
    "# Return the rest",
    "x = [...]",
    "...",
    "def f(): ...",
    "# the remaining time in seconds",
    "# Wrap the existing code path in a retry",
    "return foo(...args)",
    "# See RFC 2119",
    "// other",
    "# --- helpers ---",
    "# ======",
    "#",
    "'''",
    "## Title",
    "- item",
    "* item ...and more",
    "# Keep the connection open",
    "// unchanged since 1.2 because callers rely on it",
    "print('rest of the code unchanged')",
    "# Same as numpy.sum",
    '"""Return the rest of the list."""',
    "# Original author: X",
    "# existing files are never overwritten",
    "# wait ... then retry",
    "#!/bin/sh",
    "(a, b)",
    "<div>",
    "{x}",
    "[1, 2]",
    "# no change is needed when the hash is equal",
    "# methods are sorted here",
    "# code is here",
    "// the other side",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_a_line_that_stands_for_left_out_text_is_found(line: str) -> None:
    assert elided_line("a.js", "x = 1\ny = 2\n", f"x = 1\n  {line}\n") == line.strip()


@pytest.mark.parametrize("line", HONEST)
def test_an_honest_line_is_none(line: str) -> None:
    assert elided_line("a.py", "", f"x = 1\n{line}\n") is None


def test_what_the_base_has_is_fine() -> None:
    assert elided_line("a.js", "    // ... rest unchanged\n", "// ... rest unchanged\n") is None


def test_an_ellipsis_is_python() -> None:
    assert elided_line("a.pyi", "", "...\n") is None
    assert elided_line("a.c", "", "...\n") == "..."
    assert elided_line("a.yaml", "", "...\n") is None


def test_prose_has_other_marks() -> None:
    assert elided_line("README.md", "", "# The rest of the code is unchanged\n") is None
    assert elided_line("README.md", "", "[... rest of the file ...]\n") == "[... rest of the file ...]"


def test_shrinking() -> None:
    long = "x\n" * 30
    assert has_shrunk(long, "x\n" * 9)
    assert not has_shrunk(long, "x\n" * 20)
    assert not has_shrunk("x\n" * 8, "")


@pytest.mark.parametrize(
    ("path", "good", "bad", "said"),
    [
        ("a.py", "x = 1\n", "x = (\n", "line 1: '(' was never closed"),
        ("a.py", "x = 1\n", "x = 1\0", "null"),
        ("a.py", "x = 1\n", "x = '\udcff'", "surrogates"),
        ("a.json", '{"a": 1}', "{", "line 1 column 2"),
        ("a.toml", "a = 1\n", "a = \n", "line 1"),
    ],
)
def test_broken_syntax_is_told_if_it_was_right_before(path: str, good: str, bad: str, said: str) -> None:
    told = broken_syntax(path, good, bad)
    assert told is not None
    assert said in told
    assert broken_syntax(path, None, bad) == told
    assert broken_syntax(path, bad, bad) is None
    assert broken_syntax(path, good, good) is None
    assert broken_syntax("a.txt", good, bad) is None


def test_a_doubtful_file_is_no_part_of_what_is_proposed() -> None:
    long = decode(b"x = 1\n" * 30)
    elided = resolve(parse('{"explanation":"","proposedSource":"x = 2\\n# ... rest of the code\\n"}'), {"f": long})
    assert elided.files == {}
    assert elided.failed[0].reason == "the reply leaves text of f out: # ... rest of the code"
    short = parse('{"explanation":"","proposedSource":"x = 2\\n"}')
    assert "much shorter than f" in resolve(short, {"f": long}).failed[0].reason
    assert resolve(short, {"f": long}, may_shrink=True).files == {"f": b"x = 2\n"}


@given(st.text(), st.text())
def test_any_text_can_be_judged(base: str, new: str) -> None:
    elided_line("a", base, new)
    for path in ("a.py", "a.json", "a.toml"):
        broken_syntax(path, None, new)


def test_what_is_too_long_to_be_parsed_is_not_looked_at() -> None:
    lines = "x = 1\n" * 150_000
    assert broken_syntax("a.py", "x = 1\n", f"{lines}if\n") == "line 150001: invalid syntax"
    assert broken_syntax("a.py", "x = 1\n", f"{lines * 2}if\n") is None


def test_long_lines_of_blanks_are_judged_at_once() -> None:
    """In time that grew with the third power of their length this would not end."""
    for opener in ("#", "// a", "<!--", "{-"):
        line = f"{opener}{' ' * 140}x{' ' * 140}y"
        assert elided_line("a.js", "", "\n".join([line] * 2000)) is None
        assert elided_line("a.js", "", line + " \t" * 50_000 + "y") is None


def test_a_placeholder_among_blanks_is_found() -> None:
    assert elided_line("a.js", "", f"  /*{' ' * 99}rest of the code{' ' * 99}*/  ") is not None
