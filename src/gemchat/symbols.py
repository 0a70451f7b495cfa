"""The names that a source file defines at its top: Python by its own parser, other languages by tree-sitter.

tree-sitter is an extra, `gemchat[tree]`; without it, and for languages not known here, a file has no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

_PYTHON = (".py", ".pyi")
# The package of a grammar, and the function in it that gives the language.
_GRAMMARS = {
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
}
_NOT_DEFINED_HERE = ("import", "use_", "package")
_DEPTH = 2  # export -> declaration -> declarator, impl -> body -> method


def has_symbols(path: str) -> bool:
    """Whether the language of a file is known here."""
    return PurePosixPath(path).suffix.lower() in (*_PYTHON, *_GRAMMARS)


def symbols(path: str, text: str) -> tuple[str, ...]:
    """The names in their order, each once; none where the text cannot be parsed."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _PYTHON:
        found = _python(text)
    elif suffix in _GRAMMARS and (parser := _parser(*_GRAMMARS[suffix])):
        root = parser.parse(text.encode("utf-8", "replace")).root_node
        found = [name for child in root.named_children for name in _names(child, _DEPTH)]
    else:
        found = []
    return tuple(dict.fromkeys(found))


def _python(text: str) -> list[str]:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]


@cache
def _parser(package: str, function: str) -> Any:
    """None where the extra is not installed."""
    try:
        core, grammar = import_module("tree_sitter"), import_module(package)
    except ImportError:
        return None
    return core.Parser(core.Language(getattr(grammar, function)()))


def _names(node: Any, depth: int) -> Iterator[str]:
    if node.type.startswith(_NOT_DEFINED_HERE):
        return
    name = node.child_by_field_name("name")
    if name is not None:
        said = name.text.decode("utf-8", "replace")
        if said.isidentifier():
            yield said
    elif depth:
        for child in node.named_children:
            yield from _names(child, depth - 1)
