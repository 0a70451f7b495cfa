"""What can be seen wrong with a rewritten file without running it.

A small model leaves things out, invents names and stops half-way. A text that shows one of these is not proposed.
The rules err on the side of refusing; what a request asks for by name is never held against the text.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

_ELISION = re.compile(
    r"^\s*(#|//|--|/\*|<!--|;)?\s*(\.\.\.|…)\s*\S"
    r"|^\s*(#|//|--|/\*|<!--).*\b(rest of|remaining|existing|unchanged|same as)\b.*\b"
    r"(code|file|function|method|content|before|above)",
    re.IGNORECASE | re.MULTILINE,
)
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|async|pub|static|public|private|abstract)\s+)*"
    r"(?:def|class|function\*?|func|fn|struct|enum|interface|trait)\s+(\w+)|^[ \t]*(\w+)[ \t]*\(\)[ \t]*\{",
    re.MULTILINE,
)
_TAKES_AWAY = re.compile(
    r"\b(remov|delet|drop|strip|get rid|shorten|simplif|refactor|rewrit|merg|inlin|clean|replac|split)",
    re.IGNORECASE,
)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_SHORTEST = 0.6
_SHORTEST_WHEN_ASKED = 0.25
_SMALL_FILE_LINES = 8


def problem(path: str, old: str, new: str, request: str) -> str:
    """What is wrong with `new` as an answer to `request`, "" if nothing is. `old` is "" for a new file."""
    if new == old:
        return "the file is unchanged"
    return (
        _shortened(old, new, request)
        or _unparsable(path, old, new)
        or _lost(path, old, new, request)
        or _unbound(path, old, new)
    )


def _shortened(old: str, new: str, request: str) -> str:
    before, after = len(old.split()), len(new.split())
    least = _SHORTEST_WHEN_ASKED if _TAKES_AWAY.search(request) else _SHORTEST
    if not after:
        return "the file is empty"
    if old.count("\n") >= _SMALL_FILE_LINES and after < before * least:
        return f"only {after} of {before} words are left"
    elided = set(map(str, _elisions(new))) - set(map(str, _elisions(old)))
    return f"it leaves code out: {min(elided)}" if elided else ""


def _elisions(text: str) -> Iterator[str]:
    return (found[0].strip() for found in _ELISION.finditer(text))


def _unparsable(path: str, old: str, new: str) -> str:
    """Held against the new text only if the old one was sound."""
    return _defect(path, new) if not _defect(path, old) or not old else ""


def _defect(path: str, text: str) -> str:
    kind = PurePosixPath(path).suffix.lower()
    try:
        if kind in (".py", ".pyi"):
            _compiled(text, path)
        elif kind == ".json":
            json.loads(text)
        elif kind == ".toml":
            tomllib.loads(text)
        else:
            return next((f"{a} and {b} do not match" for a, b in _BRACKETS if text.count(a) != text.count(b)), "")
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        return f"it does not parse: {error}"
    return ""


def _compiled(text: str, path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, path, "exec", dont_inherit=True)


def _lost(path: str, old: str, new: str, request: str) -> str:
    """Definitions, or keys of data, that are gone though the request names others or none."""
    before = _names(path, old)
    lost = before - _names(path, new)
    asked = {name for name in before if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", request, re.IGNORECASE)}
    if not asked and _TAKES_AWAY.search(request):
        return ""
    unasked = sorted(lost - asked)
    return f"{', '.join(unasked)} got lost" if unasked else ""


def _names(path: str, text: str) -> set[str]:
    kind = PurePosixPath(path).suffix.lower()
    try:
        if kind == ".json":
            return set(_keys(json.loads(text)))
        if kind == ".toml":
            return set(_keys(tomllib.loads(text)))
    except ValueError:
        return set()
    return {found[1] or found[2] for found in _DEFINITION.finditer(text)}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _keys(item)


def _unbound(path: str, old: str, new: str) -> str:
    """Python names that are used and nowhere bound: an error at run time that no parser finds."""
    if PurePosixPath(path).suffix.lower() != ".py":
        return ""
    missing = sorted(_undefined(new) - _undefined(old))
    return f"{', '.join(missing)} is used but never defined" if missing else ""


def _undefined(text: str) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return set()
    used: set[str] = set()
    bound = {*dir(builtins), "__file__", "__name__", "__class__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        else:
            bound.update(_bound(node))
            used.update(_exported(node))
    return set() if "*" in bound else used - bound


def _exported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)):
            yield from (str(name.value) for name in names if isinstance(name, ast.Constant))


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.split(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
