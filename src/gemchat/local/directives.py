"""The changes that the scripted demo knows: validation, docstring, rename. Text in, text out.

Each returns the new text and a sentence about it, or None where it finds nothing to do. Positions come from the
syntax tree and only whole lines are inserted, so a changed Python file is still one.
"""

from __future__ import annotations

import ast
import keyword
import re
import threading
import warnings
from collections.abc import Iterator
from typing import TypeAlias

from gemchat.core.diff import split_lines
from gemchat.local.named import renamed

Change: TypeAlias = tuple[str, str]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_PARSING = threading.Lock()
_NUMBERS = ("int", "float", "Decimal")


def change(prompt: str, text: str) -> Change | None:
    """What the prompt's directive makes of a text."""
    if pair := renamed(prompt):
        return _rename(text, *pair)
    if "validat" in prompt.lower():
        return _validate(text)
    return _document(text) if "docstring" in prompt.lower() else None


def functions(text: str) -> list[Function]:
    """The functions of a Python text in the order of its lines; none when it is not Python."""
    try:
        tree = _parsed(text)
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted(found, key=lambda function: function.lineno)


def _parsed(text: str) -> ast.Module:
    """Without the warnings that Python has for the text; switching them off is not safe in two threads at once."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _rename(text: str, old: str, new: str) -> Change | None:
    word = re.compile(rf"\b{re.escape(old)}\b")
    taken = re.search(rf"\b{re.escape(new)}\b", text) or keyword.iskeyword(new) or not new.isidentifier()
    count = len(word.findall(text))
    if taken or not count:
        return None
    times = "once" if count == 1 else f"{count} times"
    return word.sub(lambda _: new, text), f"Renamed `{old}` to `{new}` ({times})."


def _validate(text: str) -> Change | None:
    for function in _with_room(text):
        for name, condition, rule in _checks(function):
            head = f"if {condition}:"
            if any(ast.unparse(node).startswith(head) for node in function.body):
                continue
            guard = [head, f'    raise ValueError("{name} must not be {rule}")']
            changed = _insert(text, function, guard)
            return changed, f"`{function.name}` now raises `ValueError` when `{name}` is {rule}."
    return None


def _document(text: str) -> Change | None:
    for function in _with_room(text):
        if ast.get_docstring(function) is None:
            words = function.name.strip("_").replace("_", " ") or "run"
            changed = _insert(text, function, [f'"""{words[0].upper()}{words[1:]}."""'])
            return changed, f"`{function.name}` has a docstring now."
    return None


def _checks(function: Function) -> Iterator[tuple[str, str, str]]:
    """For each parameter that can be checked: its name, the condition to reject, and that in words."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    defaults = [None] * (len(parameters) - len(function.args.defaults)) + function.args.defaults
    for parameter, default in zip(parameters, defaults, strict=True):
        annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
        value = default.value if isinstance(default, ast.Constant) else default
        optional = "None" in annotation or "Optional" in annotation or (default is not None and value is None)
        if parameter.arg in ("self", "cls") or optional:
            continue
        if annotation in _NUMBERS or type(value) in (int, float):
            yield parameter.arg, f"{parameter.arg} < 0", "negative"
        else:
            yield parameter.arg, f"{parameter.arg} is None", "None"


def _with_room(text: str) -> Iterator[Function]:
    """The functions whose body begins on a line of its own, so that lines can be put before it."""
    if "\r" in text or "\f" in text:
        return
    lines = split_lines(text)
    for function in functions(text):
        body = function.body
        alone = not lines[_first_line(function) - 1][: body[0].col_offset].strip()
        crowded = len(body) > 1 and body[0].end_lineno == body[1].lineno
        if alone and not crowded:
            yield function


def _insert(text: str, function: Function, new: list[str]) -> str:
    """Puts lines at the head of a function's body, after its docstring."""
    lines = split_lines(text)
    first = function.body[0]
    indent = lines[_first_line(function) - 1][: first.col_offset]
    docstring = _docstring(function)
    at = docstring.end_lineno if docstring else _first_line(function) - 1
    assert at is not None, "parsed nodes know where they end"
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += "\n"
    return "".join([*lines[:at], *(f"{indent}{line}\n" for line in new), *lines[at:]])


def _docstring(function: Function) -> ast.stmt | None:
    return function.body[0] if ast.get_docstring(function) is not None else None


def _first_line(function: Function) -> int:
    """The line where the body begins; decorators come before the statement they belong to."""
    first = function.body[0]
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    return min([first.lineno, *(decorator.lineno for decorator in decorators)])
