"""The real local model: a question and an edit on a real file, checked by the file's own test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gemchat.local.choice import is_available

pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not is_available({}), reason="gemchat[local] is not installed"),
]
CODE = '"""Numbers."""\n\n\ndef divide(a, b):\n    return a / b\n'
TEST = """\
from calc import divide

assert divide(6, 3) == 2
try:
    divide(1, 0)
except ValueError:
    print("passed")
"""


def test_ask_edit_apply_and_undo_without_a_key(project_root: Path) -> None:
    def run(*command: str) -> str:
        return subprocess.run(
            [sys.executable, *command], cwd=project_root, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    (project_root / "calc.py").write_text(CODE)
    (project_root / "check.py").write_text(TEST)
    try:
        assert "divi" in run("-m", "gemchat", "ask", "what does divide do?", "calc.py")
        run("-m", "gemchat", "edit", "raise a ValueError in divide when b is zero", "calc.py")
        assert "+" in run("-m", "gemchat", "diff", "--patch")
        assert (project_root / "calc.py").read_text() == CODE
        run("-m", "gemchat", "apply")
        assert run("check.py") == "passed\n"
        run("-m", "gemchat", "undo")
        assert (project_root / "calc.py").read_text() == CODE
    finally:
        run("-m", "gemchat", "local", "stop")
