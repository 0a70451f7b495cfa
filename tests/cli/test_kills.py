"""gemchat killed at random moments, over and over, in one project: 12 times, or as often as KILLS says."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Gemchat
from tests.crashing import Launcher

KILLS = int(os.environ.get("KILLS", "12"))
FILES = ("a.py", "b.py", "c.py")


class Player:
    """Asks, edits, applies and undoes, and keeps account of what was acknowledged.

    Every edit writes the same new number into all files, so that files of different numbers are half a change.
    """

    def __init__(self, gemchat: Gemchat, launcher: Launcher, chance: random.Random) -> None:
        self.gemchat = gemchat
        self.launcher = launcher
        self.chance = chance
        self.acknowledged: list[str] = []
        self.durations: dict[str, float] = {}
        self.number = 0
        self.killed = 0

    def play(self, command: str, *, kill: bool) -> None:
        self.number += 1
        arguments = self._arguments(command)
        pending = self._pending()
        start = time.monotonic()
        after = self.durations[command] * self.chance.random() if kill else None
        code, _, said = self.launcher.run(arguments, self.gemchat.environ, self.gemchat.root, after=after)
        if code == -9:  # the machine may have become slower
            self.killed += 1
            self.durations[command] *= 1.3
        assert code in (0, -9) or (code == 5 and command in ("apply", "undo")), (command, code, said)
        if code == 0:
            self.durations[command] = time.monotonic() - start
            self.acknowledged += arguments[1:2] if command in ("ask", "edit") else []
            assert command != "apply" or self.files() == pending
        self.check()

    def check(self) -> None:
        """The next command works, nothing is lost and no file is neither old nor new."""
        result = self.gemchat("log", "-n", "1000", "--json")
        assert result.code == 0, result.err
        assert "could not be read" not in result.err
        prompts = [turn["prompt"] for turn in result.json["turns"]]
        assert [prompt for prompt in prompts if prompt in self.acknowledged] == self.acknowledged
        assert self.files() in range(self.number + 1)
        assert not list(self.gemchat.root.glob(".gemchat-*"))

    def files(self) -> int:
        (text,) = {(self.gemchat.root / name).read_text() for name in FILES}
        return int(text.removeprefix("v = "))

    def _pending(self) -> int | None:
        result = self.gemchat("diff", "--json")
        added = (
            [line for line in result.json["diff"].splitlines() if line.startswith("+v")] if not result.code else []
        )
        return int(added[0].removeprefix("+v = ")) if added else None

    def _arguments(self, command: str) -> list[str]:
        if command == "ask":
            return ["ask", f"question {self.number}", *FILES]
        if command == "edit":
            wanted = {"write": [[name, f"v = {self.number}\n"] for name in FILES]}
            return ["edit", f"{json.dumps(wanted)} {self.number}", *FILES]
        return [command]


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    started = Launcher()
    yield started
    started.close()


@pytest.mark.timeout(60 + 15 * KILLS)
def test_kills_at_random_moments_lose_nothing(gemchat: Gemchat, launcher: Launcher) -> None:
    for name in FILES:
        gemchat.write(name, "v = 0\n")
    player = Player(gemchat, launcher, random.Random(20_261_130))
    for command in ("ask", "edit", "apply", "undo"):
        player.play(command, kill=False)
    while player.killed < KILLS:
        player.play(player.chance.choice(("ask", "edit", "edit", "apply", "apply", "undo")), kill=True)
    for command in ("edit", "apply", "undo", "ask"):
        player.play(command, kill=False)
    assert gemchat("doctor", "--fix").code == 0
    assert gemchat.mind.contradictions == []
