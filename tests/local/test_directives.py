from __future__ import annotations

import ast

import pytest

from gemchat.local.directives import change, functions


def changed(prompt: str, text: str) -> str:
    found = change(prompt, text)
    assert found is not None
    ast.parse(found[0])
    return found[0]


@pytest.mark.parametrize(
    ("signature", "guard"),
    [
        ("(x: int)", 'if x < 0:\n        raise ValueError("x must not be negative")'),
        ("(x=1.5)", 'if x < 0:\n        raise ValueError("x must not be negative")'),
        ("(x)", 'if x is None:\n        raise ValueError("x must not be None")'),
        ("(x=True)", 'if x is None:\n        raise ValueError("x must not be None")'),
        ("(self, x: str)", 'if x is None:\n        raise ValueError("x must not be None")'),
        ("(x=None, y=0)", 'if y < 0:\n        raise ValueError("y must not be negative")'),
        ("(x: str | None, y)", 'if y is None:\n        raise ValueError("y must not be None")'),
    ],
)
def test_validation_guards_the_first_parameter_that_can_be_checked(signature: str, guard: str) -> None:
    text = f"def f{signature}:\n    return 1\n"
    assert changed("Add input validation.", text) == f"def f{signature}:\n    {guard}\n    return 1\n"


def test_a_guard_comes_after_the_docstring_and_before_decorators() -> None:
    text = 'def f(x):\n    """Two\n    lines."""\n    @g\n    def h(): pass\n'
    lines = changed("validation", text).split("\n")
    assert lines[2:6] == [
        '    lines."""',
        "    if x is None:",
        '        raise ValueError("x must not be None")',
        "    @g",
    ]


def test_asked_again_it_guards_what_is_not_guarded_yet() -> None:
    text = "def f(x, y):\n    return x\n\n\ndef g(z):\n    return z\n"
    for name in "xyz":
        text = changed("validation", text)
        assert f"if {name} is None" in text
    assert change("validation", text) is None


def test_a_body_that_shares_its_line_is_left_alone() -> None:
    text = (
        'def f(x): return x\ndef g(x):\n    """Doc."""; return x\ndef h(\n    x): return x\ndef i(x):\n\treturn x'
    )
    assert changed("validation", text).startswith(text[: text.index("def i")] + "def i(x):\n\tif x is None:\n")


def test_a_body_that_is_only_a_docstring_without_a_newline() -> None:
    assert changed("validation", 'def f(x):\n    "Doc."').startswith('def f(x):\n    "Doc."\n    if x is None:\n')


def test_a_docstring_for_the_first_function_without_one() -> None:
    text = 'def f():\n    """Doc."""\n\n\nclass C:\n    async def _read_all(self):\n        # why\n        pass\n'
    assert '        # why\n        """Read all."""\n        pass\n' in changed("write a docstring", text)


def test_rename_replaces_whole_words_and_says_how_many() -> None:
    found = change("Please rename `add` to `plus`!", "def add(a):\n    return address + add\n")
    assert found == ("def plus(a):\n    return address + plus\n", "Renamed `add` to `plus` (2 times).")


@pytest.mark.parametrize("wish", ["rename gone to new", "rename a to b", "rename a to class", "rename a to 1a"])
def test_a_rename_that_would_break_something_is_not_made(wish: str) -> None:
    assert change(wish, "a = b\n") is None


@pytest.mark.parametrize("text", ["def f(x:\n", "not python at all", "\0", "", "def f(x):\r\n    return x\r\n"])
def test_what_cannot_be_understood_is_left_alone(text: str) -> None:
    assert change("validation", text) is None
    assert change("docstring", text) is None


def test_anything_else_is_no_directive() -> None:
    assert change("make it faster", "def f(x):\n    return x\n") is None


def test_a_text_that_python_warns_about_is_read_quietly() -> None:
    assert [function.name for function in functions("def g():\n    return '\\d'\ndef a(): pass\n")] == ["g", "a"]
