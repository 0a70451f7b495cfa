"""The program: `gemchat`, or `python -m gemchat`."""

from __future__ import annotations

import gc
import signal
import sys

_YOUNG = 50_000  # objects made between two searches for garbage; loading modules makes many, and all of them stay


def main() -> None:
    gc.set_threshold(_YOUNG)
    try:
        from gemchat.cli.app import main as run_process

        code = run_process()
    except KeyboardInterrupt:
        code = 130
    gc.freeze()  # the process ends: to look through all that is loaded for garbage would be the rest of its work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and said; the interpreter would print a traceback
    sys.exit(code)


if __name__ == "__main__":
    main()
