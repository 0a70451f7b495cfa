"""The bytes of a session's requests: `python -m tests.bench.bytes`.

Five questions and five edits of a module of a thousand lines, 35 kB, each a command line of its own, against a
loopback service. System instruction and schema are in every request and counted. The bound is for Interactions,
whose service remembers the conversation; generate_content carries all of it every time.
"""

from __future__ import annotations

from tests.bench.events import Event, Files, events, made_up
from tests.bench.replay import replay

BOUND = 48_000


def session() -> tuple[Files, list[Event]]:
    versions = made_up(8)
    edits = [event._replace(kind="edit") for event in events(versions) if event.kind != "ask" and event.files]
    ask = Event("ask", 30, "Which part of this would break first under load?", answer="The loop. " * 60)
    return versions[0].files, [event for edit in edits[:5] for event in (ask, edit)]


def main() -> None:
    start, turns = session()
    for backend in ("interactions", "contents"):
        sizes = [len(body) for body in replay(start, turns, compaction="auto", backend=backend).requests]
        whole = f"{backend}: {sum(sizes):,} bytes in {len(sizes)} requests"
        bound = f"; bound {BOUND:,}" if backend == "interactions" else ""
        print(f"{whole} (min {min(sizes):,}, max {max(sizes):,}){bound}")  # noqa: T201


if __name__ == "__main__":
    main()
