"""What a user did to some files, in order: derived from their history in git, or from a made-up history.

Most commits become edit turns with their subject as the prompt; some become changes by hand, some a proposal that
is discarded and then made by hand. Questions stand in between, and pauses.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

Files: TypeAlias = Mapping[str, str]

_QUESTIONS = (
    "What does the newest change do?",
    "Why is it written like this?",
    "Which part of this would break first under load?",
    "Explain the control flow to a new colleague.",
)
_SENTENCE = "the value is read once and kept because every caller needs it in the order it was given"
_WORDS = _SENTENCE.split()


class Version(NamedTuple):
    """What a commit was for, and all the files after it."""

    subject: str
    files: Files


class Event(NamedTuple):
    """`files` are those that change, as they are afterwards or as they were proposed in vain."""

    kind: Literal["ask", "edit", "discarded edit", "hand edit"]
    pause: float  # seconds before it
    prompt: str = ""
    files: Files = MappingProxyType({})
    answer: str = ""  # what the model says in prose


def events(versions: Sequence[Version], *, breaks: bool = False, seed: int = 1) -> Iterator[Event]:
    """The first version is where it starts. With `breaks` a pause in ten is longer than a cache lives."""
    chance = random.Random(seed)
    for number, (before, after) in enumerate(pairwise(versions), start=1):
        changed = {path: text for path, text in after.files.items() if before.files.get(path) != text}
        pause = chance.uniform(600, 5400) if breaks and number % 10 == 9 else chance.uniform(20, 120)
        edit = Event("edit", pause, after.subject, changed, _prose(chance, 15, 40))
        if number % 5 == 3:
            yield edit._replace(kind="hand edit")
        elif number % 7 == 5:
            yield edit._replace(kind="discarded edit")
            yield edit._replace(kind="hand edit", pause=chance.uniform(20, 120))
        else:
            yield edit
        if number % 3 == 0:
            yield Event("ask", chance.uniform(20, 120), chance.choice(_QUESTIONS), answer=_prose(chance, 150, 400))


def from_git(repository: Path, path: str, newest: int, until: str = "HEAD") -> list[Version]:
    """The newest versions of a file, or of all text files under a directory, oldest first, `until` a commit."""
    files: dict[str, str] = {}
    versions: list[Version] = []
    log = _git(repository, "log", "--reverse", "--format=%H %s", until, "--", path)
    for line in log.decode().splitlines():
        commit, _, subject = line.partition(" ")
        changed = _git(
            repository, "show", "--format=", "--name-only", "-z", "--diff-filter=AMR", commit, "--", path
        )
        for name in filter(None, changed.decode().split("\0")):
            text = _text(_git(repository, "show", f"{commit}:{name}"))
            files |= {} if text is None else {name: text}
        if not versions or versions[-1].files != files:
            versions.append(Version(subject, dict(files)))
    return [version for version in versions if version.files][-newest:]


def made_up(count: int = 24, seed: int = 1) -> list[Version]:
    """A module of a thousand lines, 35 kB, in which functions are rewritten and added."""
    chance = random.Random(seed)
    functions = [_function(chance, number) for number in range(70)]
    versions = [Version("begin", {"module.py": _module(functions)})]
    while len(versions) < count:
        place = chance.randrange(len(functions))
        if chance.random() < 0.25:
            functions[place:place] = [_function(chance, 100 * len(versions) + number) for number in range(6)]
            subject = f"add what has to happen before step {place}"
        else:
            for changed in functions[place : place + chance.randrange(6, 22)]:
                functions[functions.index(changed)] = _rewritten(chance, changed)
            subject = f"correct the arithmetic from step {place} on"
        versions.append(Version(subject, {"module.py": _module(functions)}))
    return versions


def _module(functions: Sequence[str]) -> str:
    return "\n\n".join(functions) + "\n"


def _function(chance: random.Random, number: int) -> str:
    head = f"def step_{number}(value: int) -> int:\n    # {' '.join(chance.choices(_WORDS, k=9))}"
    return "\n".join([head, *(_statement(chance) for _ in range(9)), "    return value"])


def _rewritten(chance: random.Random, function: str) -> str:
    lines = function.split("\n")
    first, last = sorted(chance.sample(range(2, len(lines)), 2))
    lines[first:last] = [_statement(chance) for _ in range(last - first + chance.randrange(3))]
    return "\n".join(lines)


def _statement(chance: random.Random) -> str:
    return f"    value = value * {chance.randrange(2, 99)} + {chance.randrange(999)}  # {chance.choice(_WORDS)}"


def _prose(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randrange(least, most)))


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.strip() and "\0" not in text else None


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout
