"""The program: `gemchat`, or `python -m gemchat`."""

from __future__ import annotations

import gc
import signal
import sys

_YOUNG = 50_000  # objects made between two searches for garbage; loading modules makes many, and all of them stay
_NEEDS_THE_SDK = (["ask"], ["edit"])  # at once; what runs for longer loads it while it waits


def main() -> None:
    """One command line of this process."""
    try:
        code = _launched() if sys.argv[1:2] in _NEEDS_THE_SDK else None
    except KeyboardInterrupt:
        code = 130
    if code is None:
        run()
    sys.exit(code)


def _launched() -> int | None:
    """The exit code of a process that was kept warm for this, if there is one."""
    from gemchat.warm.meeting import has_parent

    if not has_parent():
        return None
    from gemchat.warm.launch import launched

    return launched()


def run() -> None:
    """The command line, carried out by this process, which ends with it."""
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
