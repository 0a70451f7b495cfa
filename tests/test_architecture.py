"""Imports point down, the core is pure, modules and functions stay small, and no test touches the real home."""

from __future__ import annotations

import ast
import os
import pwd
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src/gemchat"
MODULES = sorted(SOURCE.rglob("*.py"))

# What each part of the package may import from the others; a part is a folder or a top-level module.
ALLOWED = {
    "errors": set(),
    "core": {"errors"},
    "atomic": set(),
    "blobs": {"atomic", "errors"},
    "workspace": {"atomic", "errors"},
    "configtable": {"core", "errors"},
    "config": {"configtable", "core", "errors"},
    "configfile": {"atomic", "config", "configtable", "errors"},
    "apikey": {"atomic", "errors"},
    "shell": {"errors"},
    "generations": {"atomic", "core", "errors"},
    "comments": {"core"},
    "ignoring": set(),
    "watching": {"blobs", "comments", "core", "errors", "ignoring", "selection", "workspace"},
    "store": {"atomic", "blobs", "core", "errors", "generations"},
    "moving": {"blobs", "core", "errors", "workspace"},
    "project": {"core", "errors", "moving", "store", "workspace"},
    "changes": {"core", "errors", "moving", "project"},
    "log": {"atomic", "core", "errors"},
    "doctor": {"atomic", "blobs", "core", "errors", "generations", "project", "store"},
    "media": {"core", "workspace"},
    "context": {"config", "core", "errors", "media", "project", "selection", "workspace"},
    "outgoing": {"core", "errors"},
    "prepare": {"context", "core", "errors", "outgoing", "project"},
    "chat": {"core", "errors", "prepare", "project"},
    "report": {"core", "errors", "prepare", "project"},
    "ledger": {"core", "prepare", "project"},
    "spending": {"core", "report"},
    "ledgerview": {"core", "diffview", "ledger", "spending", "turnview"},
    "past": {"core", "project", "report"},
    "turnview": {"core", "past"},
    "exporting": {"core", "past", "report", "turnview"},
    "symbols": set(),
    "selection": {"core", "errors", "ignoring", "media", "symbols", "workspace"},
    "explaining": {"core", "output"},
    "waiting": {"core", "suspending"},
    "suspending": set(),
    "markdown": {"core", "suspending"},
    "dialog": {"core", "suspending"},
    "diffview": {"core", "highlight", "report"},
    "editor": {"errors"},
    "highlight": {"core"},
    "pager": set(),
    "view": {
        "core",
        "diffview",
        "errors",
        "explaining",
        "markdown",
        "output",
        "pager",
        "prepare",
        "report",
        "turnview",
        "waiting",
    },
    "gemini": {"core", "errors"},
    "retry": {"core", "errors"},
    "output": {"errors"},
    "stored": {"config", "core"},
    "local": {"atomic", "core", "errors"},
    "warm": set(),
    "__init__": set(),
}
IMPURE = {
    "asyncio", "datetime", "filelock", "google", "httpx2", "io", "logging", "os", "pathlib", "platformdirs",
    "random", "rich", "secrets", "shutil", "socket", "subprocess", "sys", "tempfile", "threading", "time", "typer",
}  # fmt: skip


def part_of(module: Path) -> str:
    first = module.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "gemchat")


def functions(module: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name(module: Path) -> str:
    return str(module.relative_to(SOURCE))


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_imports_point_down(module: Path) -> None:
    part = part_of(module)
    if part in ("cli", "__main__"):
        return
    parts = {imported.split(".")[1] for imported in imports(module) if imported.startswith("gemchat.")}
    assert parts - {part, "__version__"} <= ALLOWED[part]


@pytest.mark.parametrize("module", [module for module in MODULES if part_of(module) == "core"], ids=name)
def test_the_core_is_pure(module: Path) -> None:
    assert not {imported.split(".")[0] for imported in imports(module)} & IMPURE
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval"}


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_only_one_package_knows_the_sdk(module: Path) -> None:
    knows = any(imported.split(".")[0] == "google" for imported in imports(module))
    assert not knows or part_of(module) == "gemini"


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_modules_are_small_and_say_what_they_own(module: Path) -> None:
    text = module.read_text()
    assert text.count("\n") <= 310
    assert ast.get_docstring(ast.parse(text))


def test_functions_are_small() -> None:
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for module in MODULES for node in functions(module)]
    assert statistics.median(lengths) <= 10
    assert statistics.quantiles(lengths, n=20)[-1] <= 44


def test_no_test_sees_the_real_home() -> None:
    assert os.environ["HOME"] != pwd.getpwuid(os.getuid()).pw_dir
    assert "GEMCHAT_STATE_DIR" in os.environ
    assert not any(variable.startswith(("GEMINI_", "GOOGLE_")) for variable in os.environ)
