"""The program: `gemchat`, or `python -m gemchat`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    try:
        from gemchat.cli.app import main as run_process

        code = run_process()
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and said; the interpreter would print a traceback
    sys.exit(code)


if __name__ == "__main__":
    main()
