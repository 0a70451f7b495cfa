"""What a session of edits costs: gemchat's policies, sending everything again, and the lower bound.

    python -m tests.bench.replay [REPOSITORY PATH] [--backend interactions|contents] [--commits N]

Replays a session through the command line against a loopback service that bills every request: four characters
a token, a prefix cache with a floor of 4,096 tokens and a life of five minutes. Without a repository the session
comes from a made-up history. Costs are in US dollars at the price of a Flash model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
from gemchat.core.model import Usage
from gemchat.local.mind import Prompt
from gemchat.local.replies import write
from gemchat.local.server import Exchange, LoopbackServer
from tests.bench.baselines import lower_bound, naive
from tests.bench.bill import Bill
from tests.bench.events import Event, Files, events, from_git, made_up

POLICIES = ("auto", "always", "never")


class Replayed(NamedTuple):
    bill: Bill
    requests: list[bytes]


class ReplayMind:
    """Answers with the change that comes next, in the format that is asked for."""

    name = "replay"

    def __init__(self) -> None:
        self.now, self.next = 1_800_000_000.0, Event("ask", 0)
        self.before: dict[str, str | None] = {}

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        if prompt.schema is None:
            yield self.next.answer
        else:
            yield write(prompt.schema, self.next.answer, self.before, self.next.files)


def replay(start: Files, session: Sequence[Event], *, compaction: str, backend: str = "interactions") -> Replayed:
    """Runs every event as a command line of its own on files in a directory of their own."""
    mind = ReplayMind()
    requests: list[bytes] = []

    def heard(exchange: Exchange) -> None:
        requests.append(exchange.body)

    with (
        tempfile.TemporaryDirectory() as directory,
        LoopbackServer(mind, clock=lambda: mind.now, on_request=heard) as server,
    ):
        root = Path(directory, "project")
        _write(root, start)
        Path(directory, "config").mkdir()
        Path(directory, "config", "config.toml").write_text(f'compaction = "{compaction}"\n')
        here = Surroundings(
            environ={
                "GEMINI_API_KEY": "key",
                "GOOGLE_GEMINI_BASE_URL": server.url,
                "GEMCHAT_BACKEND": backend,
                "GEMCHAT_STATE_DIR": str(Path(directory, "state")),
                "GEMCHAT_CONFIG_DIR": str(Path(directory, "config")),
            },
            directory=root,
            clock=lambda: mind.now,
        )
        for event in session:
            mind.now += event.pause
            mind.next = event
            mind.before = {path: _read(root / path) for path in event.files}
            _happen(event, root, here)
        turns = json.loads(_run(here, "log", "--json", "-n", "10000"))["turns"]
    usage = sum((Usage(**turn["usage"]) for turn in turns), Usage())
    return Replayed(Bill(usage, sum(map(len, requests))), requests)


def _happen(event: Event, root: Path, here: Surroundings) -> None:
    if event.kind == "hand edit":
        _write(root, event.files)
    elif event.kind == "ask":
        _run(here, "ask", event.prompt, "--quiet")
    else:
        for path in event.files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        _run(here, "edit", event.prompt, *event.files, "--quiet")
        _run(here, "apply" if event.kind == "edit" else "discard")


def _write(root: Path, files: Files) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def _read(file: Path) -> str | None:
    return file.read_bytes().decode() if file.exists() else None


def _run(here: Surroundings, *arguments: str) -> str:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments, here)
    if code:
        raise SystemExit(f"gemchat {' '.join(arguments)} ended with {code}: {err.getvalue()}")
    out.seek(0)
    return out.read()


def table(start: Files, session: Sequence[Event], backend: str) -> str:
    least = lower_bound(start, session)
    bills = {
        f"gemchat, compaction {name}": replay(start, session, compaction=name, backend=backend).bill
        for name in POLICIES
    }
    bills |= {
        "sent again, edits": naive(start, session, whole=False),
        "sent again, whole files": naive(start, session, whole=True),
        "lower bound": least,
        "the same, had the files been known": lower_bound(start, session, known=True),
        "the same, remembering what was said": lower_bound(start, session, remembering=True),
    }
    lines = [
        "| policy | cost | of the bound | fresh | cached | output | bytes sent |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, bill in bills.items():
        used = bill.usage
        lines.append(
            f"| {name} | ${bill.cost:.4f} | {bill.cost / least.cost:.2f}x | {used.input - used.cached:,} "
            f"| {used.cached:,} | {used.output:,} | {bill.bytes:,} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.replay", description=__doc__)
    options.add_argument("source", nargs="*", metavar="REPOSITORY PATH")
    options.add_argument("--backend", default="interactions", choices=("interactions", "contents"))
    options.add_argument("--breaks", action="store_true", help="let the cache go cold at every tenth change")
    options.add_argument("--commits", type=int, default=40)
    given = options.parse_args()
    if len(given.source) not in (0, 2):
        options.error("name a repository and a path in it, or neither")
    versions = from_git(Path(given.source[0]), given.source[1], given.commits) if given.source else made_up()
    session = list(events(versions, breaks=given.breaks))
    print(table(versions[0].files, session, given.backend))  # noqa: T201


if __name__ == "__main__":
    main()
