"""The parts of the warm start that a shell does not show: which signals are passed on, how streams are made."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pexpect
import pytest

from gemchat.warm.control import SUPPORTED
from gemchat.warm.keeper import keep

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="the warm start needs Linux")

WORKER = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\\n"))
signal.set_wakeup_fd(int(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
print("done")
sys.exit(7)
"""


class Kept(NamedTuple):
    worker: subprocess.Popen[str]
    launcher: socket.socket

    def says(self) -> str:
        assert self.worker.stdout
        return self.worker.stdout.readline().strip()

    def interrupted(self) -> None:
        """What the launcher passes on when it gets the signal."""
        self.launcher.send(bytes([signal.SIGINT]))


@pytest.fixture
def kept() -> Iterator[Kept]:
    reports, telling = os.pipe2(os.O_NONBLOCK)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(telling)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[telling],
    )  # fmt: skip
    os.close(telling)
    launcher, connection = socket.socketpair()
    keeper = threading.Thread(target=keep, args=(connection, worker.pid, reports))
    keeper.start()
    with launcher:
        both = Kept(worker, launcher)
        assert both.says() == "ready"
        yield both
        assert worker.stdin
        assert worker.stdout
        worker.stdin.close()
        assert both.says() == "done"
        keeper.join()
        assert launcher.recv(16) == b"7"
    worker.returncode = 7
    worker.stdout.close()
    os.close(reports)


def test_a_signal_to_the_launcher_alone_is_passed_on_each_time(kept: Kept) -> None:
    kept.interrupted()
    assert kept.says() == "interrupted"
    time.sleep(0.6)
    kept.interrupted()
    assert kept.says() == "interrupted"


@pytest.mark.parametrize("first", ["worker", "launcher"])
def test_a_signal_to_both_is_not_doubled(kept: Kept, first: str) -> None:
    if first == "launcher":
        kept.interrupted()
        os.kill(kept.worker.pid, signal.SIGINT)
        assert kept.says() == "interrupted"
    else:
        os.kill(kept.worker.pid, signal.SIGINT)
        assert kept.says() == "interrupted"
        kept.interrupted()
    time.sleep(0.2)


STREAMS = """
import sys
from gemchat.warm.worker import _stream
def facts(stream):
    if stream is None:
        return None
    raw = getattr(stream.buffer, "raw", stream.buffer)
    names = ("encoding", "errors", "line_buffering", "write_through", "mode", "name")
    return [type(stream.buffer), raw.name, raw.closefd, *(getattr(stream, name) for name in names)]
found = [(facts(getattr(sys, name)), facts(_stream(number, name)))
         for number, name in enumerate(("stdin", "stdout", "stderr"))]
with open(sys.argv[1], "w") as file:
    file.write("same" if all(own == made for own, made in found) else repr(found))
"""


@pytest.mark.parametrize("variable", ["_=", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=latin-1:replace", "LC_ALL=C"])
@pytest.mark.parametrize("redirection", ["", "| cat", "</dev/null 2>/dev/null", "<&- >&-"])
def test_streams_are_as_python_makes_them(tmp_path: Path, variable: str, redirection: str) -> None:
    script = f'env -u PYTHONUNBUFFERED {variable} {sys.executable} -c "$STREAMS" found {redirection}'
    process = pexpect.spawn("sh", ["-c", script], cwd=str(tmp_path), env={**os.environ, "STREAMS": STREAMS})
    process.expect(pexpect.EOF)
    process.close()
    assert (tmp_path / "found").read_text() == "same"
