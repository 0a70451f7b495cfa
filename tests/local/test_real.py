"""The first command of the README in a fresh environment, and what a user does next: ask, edit, apply, undo.

Needs the network and minutes: the extra is installed once more, with its 1.2 GB, and a real model answers.
"""

from __future__ import annotations

import email.encoders
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gemchat.local.choice import is_available

pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(3 * 3600),
    pytest.mark.skipif(not is_available({}), reason="gemchat[local] is not installed"),
]
ROOT = Path(__file__).parent.parent.parent
CODE = Path(email.encoders.__file__).read_text()
TEST = """\
from email.message import Message

import encoders

message = Message()
message.set_payload("a b")
encoders.encode_quopri(message)
assert message.get_payload() == "a=20b"
assert encoders._qencode(b"a b") == b"a=20b"
assert "TypeError" in open("encoders.py").read()
try:
    encoders._qencode("a b")
except TypeError:
    print("passed")
"""


def command_one() -> str:
    (command,) = re.findall(
        r"^python3 -m venv .*'\.\[local\]'.*gemchat demo$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    return str(command)


def clone(directory: Path) -> Path:
    shutil.copytree(ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, directory / name)
    return directory


def run(directory: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_command_one_and_then_a_question_and_an_edit_of_a_real_file(project_root: Path, tmp_path: Path) -> None:
    assert not any(name.startswith(("GEMINI_", "GOOGLE_")) for name in os.environ)
    here = clone(tmp_path / "clone")
    gemchat = str(here / ".venv/bin/gemchat")
    file = project_root / "encoders.py"
    file.write_text(CODE)
    (project_root / "check.py").write_text(TEST)
    try:
        tour = run(here, "bash", "-c", command_one())
        assert "The model is a small language model" in tour
        assert "undone shop.py" in tour
        assert "encod" in run(project_root, gemchat, "ask", "what does _qencode do?", "encoders.py")
        run(project_root, gemchat, "edit", "_qencode should raise a TypeError if s is not bytes", "encoders.py")
        assert "+" in run(project_root, gemchat, "diff", "--patch")
        assert file.read_text() == CODE
        run(project_root, gemchat, "apply")
        assert run(project_root, str(here / ".venv/bin/python"), "check.py") == "passed\n"
        run(project_root, gemchat, "undo")
        assert file.read_text() == CODE
    finally:
        if Path(gemchat).exists():
            run(here, gemchat, "local", "stop")
