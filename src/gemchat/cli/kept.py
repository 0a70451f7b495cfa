"""The process that is kept warm: `python -m gemchat.cli.kept DIRECTORY SECONDS`. Started after a turn."""

from __future__ import annotations

import gc
import os
import sys

from gemchat.warm.keeper import keep, received
from gemchat.warm.parent import serve
from gemchat.warm.worker import become


def load() -> None:
    """All that a turn imports. These modules define and remember nothing: an invocation is in what they make."""
    from gemchat.gemini import load as load_sdk

    load_sdk()
    import filelock
    import platformdirs.unix
    import rich.live

    import gemchat.apikey
    import gemchat.chat
    import gemchat.cli.app
    import gemchat.cli.commands
    import gemchat.cli.proposal
    import gemchat.cli.talk
    import gemchat.configfile
    import gemchat.log
    import gemchat.markdown
    import gemchat.retry
    import gemchat.selection

    gc.collect()
    gc.freeze()  # a search for garbage would have each fork copy what it shares


def main() -> None:
    """The parent, and in the processes forked from it the keeper and the worker."""
    connection = serve(sys.argv[1], float(sys.argv[2]), load)
    visit = received(connection) if connection else None
    if connection is None or visit is None:
        return
    reports, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    worker = os.fork()
    if worker:
        os.close(telling)
        for descriptor, _ in visit.descriptors:
            os.close(descriptor)
        keep(connection, worker, reports)
        os._exit(0)  # what is loaded need not be taken apart
    connection.close()
    become(visit, telling)
    from gemchat.__main__ import run

    run()


if __name__ == "__main__":
    main()
