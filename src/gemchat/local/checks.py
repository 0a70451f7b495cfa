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

from gemchat.core import guards
from gemchat.local.named import occurs, renamed, unfulfilled

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
        or _elided(path, old, new)
        or _unparsable(path, old, new)
        or unfulfilled(request, old, new)
        or _unrenamed(path, old, new, request)
        or _lost(path, old, new, request)
        or _unbound(path, old, new)
    )


def came_and_went(path: str, old: str, new: str) -> str:
    """The definitions that one text has and the other has not, "" if they are the same."""
    before, after = _defined(path, old), _defined(path, new)
    said = {"New": after - before, "Gone": before - after}
    return " ".join(
        f"{what}: {', '.join(f'`{name}`' for name in sorted(names))}." for what, names in said.items() if names
    )


def _shortened(old: str, new: str, request: str) -> str:
    before, after = len(old.split()), len(new.split())
    least = _SHORTEST_WHEN_ASKED if _TAKES_AWAY.search(request) else _SHORTEST
    if not after:
        return "the file is empty"
    if old.count("\n") >= _SMALL_FILE_LINES and after < before * least:
        return f"only {after} of {before} words are left"
    return ""


def _elided(path: str, old: str, new: str) -> str:
    line = guards.elided_line(path, old, new)
    return f"it leaves code out: {line}" if line else ""


def _unparsable(path: str, old: str, new: str) -> str:
    """Held against the new text only if the old one was sound."""
    broken = guards.broken_syntax(path, old, new)
    if broken:
        return f"it does not parse: {broken}"
    return _unbalanced(new) if _has_code_of_its_own(path) and not _unbalanced(old) else ""


def _unbalanced(text: str) -> str:
    return next((f"{a} and {b} do not match" for a, b in _BRACKETS if text.count(a) != text.count(b)), "")


def _has_code_of_its_own(path: str) -> bool:
    """Whether brackets are all that can be looked at."""
    return not path.lower().endswith(guards.PARSED)


def _unrenamed(path: str, old: str, new: str, request: str) -> str:
    pair = renamed(request)
    kept = _defined(path, old) & _defined(path, new)
    return f"{pair[0]} is still there" if pair and pair[0] in kept else ""


def _defined(path: str, text: str) -> set[str]:
    return _names(path, text) | _assigned(path, text)


def _lost(path: str, old: str, new: str, request: str) -> str:
    """Definitions, or keys of data, that are gone though the request names others or none."""
    before = _names(path, old) | _exports(path, old)
    lost = (_names(path, old) - _names(path, new)) | (_exports(path, old) - _exports(path, new))
    asked = {name for name in before if occurs(name.lower(), request.lower())}
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
    except (ValueError, RecursionError):
        return set()
    return {found[1] or found[2] for found in _DEFINITION.finditer(text)}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _keys(item)


def _assigned(path: str, text: str) -> set[str]:
    """The names of a Python module that are neither functions nor classes."""
    statements = _tree(text).body if _is_python(path) else []
    targets = [
        target for statement in statements if isinstance(statement, ast.Assign) for target in statement.targets
    ]
    targets += [statement.target for statement in statements if isinstance(statement, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _unbound(path: str, old: str, new: str) -> str:
    """Python names that are used and nowhere bound: an error at run time that no parser finds."""
    missing = sorted(_undefined(new) - _undefined(old)) if _is_python(path) else []
    return f"{', '.join(missing)} is used but never defined" if missing else ""


def _is_python(path: str) -> bool:
    return path.lower().endswith(".py")


def _tree(text: str) -> ast.Module:
    """Empty if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _undefined(text: str) -> set[str]:
    used: set[str] = set()
    bound = {*dir(builtins), "__file__", "__name__", "__class__"}
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        else:
            bound.update(_bound(node))
            used.update(_exported(node))
    return set() if "*" in bound else used - bound


def _exports(path: str, text: str) -> set[str]:
    return {name for node in _tree(text).body for name in _exported(node)} if _is_python(path) else set()


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
