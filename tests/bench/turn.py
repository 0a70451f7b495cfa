"""What a turn costs beside the call: `python -m tests.bench.turn [--runs N] [--backend interactions|contents]`.

`gemchat ask` with one file, from start to exit, against a bare script that sends the same bytes with the same SDK
and writes the answer as it streams. CPU time of the whole process; the times until the request arrived at the
service and until the answer began to be written are by the clock on the wall.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from tests.bench.place import Place, place
from tests.bench.timing import RUNS, Figures, Job, interleaved, run, table

BARE = {
    "interactions": """
import os, sys
from google import genai
client = genai.Client(api_key="k", http_options={"base_url": os.environ["GOOGLE_GEMINI_BASE_URL"]})
with client.interactions.create(
    model="gemini-3.7-flash", input=open(sys.argv[1]).read(), system_instruction=open(sys.argv[2]).read(),
    stream=True,
) as events:
    for event in events:
        if event.event_type == "step.delta" and event.delta.type == "text":
            sys.stdout.write(event.delta.text)
            sys.stdout.flush()
""",
    "contents": """
import os, sys
from google import genai
client = genai.Client(api_key="k", http_options={"base_url": os.environ["GOOGLE_GEMINI_BASE_URL"]})
for chunk in client.models.generate_content_stream(
    model="gemini-3.7-flash", contents=open(sys.argv[1]).read(),
    config={"system_instruction": open(sys.argv[2]).read()},
):
    sys.stdout.write(chunk.text or "")
    sys.stdout.flush()
""",
}


def bare(here: Place, backend: str) -> Job:
    """The script, with the text of the module as its prompt."""
    prompt, system = here.root / "module.py", here.home / "system"
    system.write_text("Answer briefly.")
    return Job((sys.executable, "-c", BARE[backend], str(prompt), str(system)), here.environ, here.root)


def measured(here: Place, runs: int, backend: str) -> str:
    script = bare(here, backend)
    fresh = here.kept()
    jobs = {
        "bare": script,
        "ask": here.job("ask", "what does it do?", "module.py", "--backend", backend),
        "ask --json": here.job("ask", "what does it do?", "module.py", "--backend", backend, "--json"),
    }
    jobs = {name: job._replace(before=partial(here.restore, fresh)) for name, job in jobs.items()}
    sent: dict[str, list[float]] = {name: [] for name in jobs}
    shown: dict[str, list[float]] = {name: [] for name in jobs}
    found = interleaved({name: _noting(here, job, sent[name], shown[name]) for name, job in jobs.items()}, runs)
    bounds = {"ask": 1.05, "ask --json": 1.05}
    return "\n\n".join(
        [
            table(found, "bare", bounds),
            table(_figures(sent), "bare", of="ms until the request arrived"),
            table(_figures(shown), "bare", of="ms until the first character"),
        ]
    )


def _noting(here: Place, job: Job, sent: list[float], shown: list[float]) -> Callable[[], float]:
    def measure() -> float:
        here.asked.clear()
        done = run(job)
        sent.append((here.asked[0] - done.began) * 1000)
        shown.append(((done.wrote or done.began) - done.began) * 1000)
        return done.cpu

    return measure


def _figures(times: dict[str, list[float]]) -> dict[str, Figures]:
    """Without those of the first round."""
    return {name: Figures(tuple(found[1:])) for name, found in times.items()}


def report(measured: Callable[[Place, int, str], str], name: str, about: str | None) -> None:
    """Runs a benchmark as its command line says, and prints what it found."""
    options = argparse.ArgumentParser(prog=f"python -m tests.bench.{name}", description=about)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--backend", default="interactions", choices=tuple(BARE))
    given = options.parse_args()
    with place() as here:
        print(measured(here, given.runs, given.backend))  # noqa: T201


if __name__ == "__main__":
    report(measured, "turn", __doc__)
