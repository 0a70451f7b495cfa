"""The whole check, in one command: python -m tests [pytest arguments]."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
)


def main() -> int:
    for check in CHECKS:
        print("$", *check, flush=True)  # noqa: T201  the user watches
        if code := subprocess.call([sys.executable, "-m", *check], cwd=ROOT):
            return code
    pytest = ("pytest", "-n", "2", "--cov", "--cov-report=term", *sys.argv[1:])
    print("$", *pytest, flush=True)  # noqa: T201  the user watches
    return subprocess.call([sys.executable, "-m", *pytest], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
