"""The program: `gemchat`, or `python -m gemchat`."""

from __future__ import annotations

import sys


def main() -> None:
    from gemchat.cli.app import main as run_process

    sys.exit(run_process())


if __name__ == "__main__":
    main()
