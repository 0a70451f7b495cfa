"""The whole check, in one command: python -m tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("pytest", "-n", "2", "--cov", "--cov-report=term", "tests/core"),
    ("pytest", "-n", "4", "--dist", "worksteal", "--ignore", "tests/core"),  # half of their time they wait
)


def main() -> int:
    for check in CHECKS:
        print("$", *check, flush=True)  # noqa: T201  the user watches
        if code := subprocess.call([sys.executable, "-m", *check], cwd=ROOT):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
