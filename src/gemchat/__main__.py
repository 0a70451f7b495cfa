"""The program: `gemchat`, or `python -m gemchat`."""

from __future__ import annotations

import sys


def main() -> None:
    from gemchat.cli.app import prepare_streams, run
    from gemchat.cli.surroundings import Surroundings

    prepare_streams()
    sys.exit(run(sys.argv[1:], Surroundings()))


if __name__ == "__main__":
    main()
