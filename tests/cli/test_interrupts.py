"""gemchat as a process that is stopped, ended, or cannot write: what it says, leaves, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from filelock import FileLock

from tests.cli.conftest import Gemchat
from tests.cli.test_processes import command, environ, terminal
from tests.faults import HELLO, WAYS, Way, begun, good
from tests.gemini.loopback import Answer, Service, as_events, as_json
from tests.gemini.script import api_error, chunk, created, texts

STREAMED = Way("interactions", stream=True)
BUSY = as_json(api_error(503, "full"), 503, Retry_After="50")
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
signals = pytest.mark.parametrize(("number", "code"), SIGNALS, ids=[number.name for number, _ in SIGNALS])


@pytest.fixture
def service(gemchat: Gemchat) -> Iterator[Service]:
    """A scripted service in a conversation that has one turn."""
    with Service() as running:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = running.url
        running.enqueue(good(STREAMED))
        assert gemchat("ask", "first").code == 0
        running.forget()
        yield running


def start(gemchat: Gemchat, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*arguments),
        cwd=gemchat.root,
        env=environ(gemchat),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stop(process: subprocess.Popen[bytes], number: signal.Signals) -> tuple[int, bytes, bytes]:
    """Sends the signal until the process ends: one that comes just before it waits is seen after waiting only."""
    while True:
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            continue
        return process.returncode, out, err


def read_until(stream: Any, words: bytes) -> None:
    heard = b""
    while words not in heard:
        piece = stream.read1()
        assert piece, f"ended with {heard!r}"
        heard += piece


def state(gemchat: Gemchat) -> dict[str, bytes]:
    """All but the log, which tells of every attempt."""
    root = Path(gemchat.environ["GEMCHAT_STATE_DIR"])
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "gemchat.log")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@signals
def test_while_nothing_has_come_yet(gemchat: Gemchat, service: Service, number: signal.Signals, code: int) -> None:
    before = state(gemchat)
    service.enqueue(Answer(after="hold"))
    process = start(gemchat, "ask", "well?")
    assert service.holding.wait(30)
    time.sleep(0.1)
    assert stop(process, number) == (code, b"", b"")
    assert state(gemchat) == before
    assert len(service.seen) == 1


@signals
@pytest.mark.parametrize("way", [way for way in WAYS if way.stream], ids=str)
def test_in_the_middle_of_an_answer(
    gemchat: Gemchat, service: Service, way: Way, number: signal.Signals, code: int
) -> None:
    service.enqueue(*begun(way, "hold"))
    process = start(gemchat, "ask", "well?", "--backend", way.backend)
    read_until(process.stdout, b"Hel")
    assert stop(process, number) == (code, b"\n", b"")
    turns = gemchat("log", "--json").json["turns"]
    assert [(turn["status"], turn["problem"]) for turn in turns] == [
        ("complete", ""),
        ("incomplete", "interrupted"),
    ]
    assert gemchat("show", "2", "--json").json["raw"] == "Hel"
    service.enqueue(good(STREAMED))
    assert gemchat("ask", "again?", "--json").json["sent"]["route"] == "continue"


@signals
def test_while_waiting_to_try_again(gemchat: Gemchat, service: Service, number: signal.Signals, code: int) -> None:
    before = state(gemchat)
    service.enqueue(BUSY)
    process = start(gemchat, "ask", "well?")
    read_until(process.stderr, b"attempt 2 of 5 in 50 s\n")
    assert stop(process, number) == (code, b"", b"")
    assert state(gemchat) == before
    assert len(service.seen) == 1


@signals
def test_while_waiting_for_another_gemchat(
    gemchat: Gemchat, service: Service, number: signal.Signals, code: int
) -> None:
    """The answer has come whole and is shown; that it cannot be recorded yet is what is waited for."""
    service.enqueue(good(STREAMED))
    (project,) = (Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "projects").iterdir()
    before = (project / "sessions/main.json").read_bytes()
    with FileLock(project / "lock"):
        process = start(gemchat, "ask", "well?")
        read_until(process.stderr, b"waiting for another gemchat in this project")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (code, f"{HELLO}\n".encode())
        assert b"waiting" not in err, "once is enough"
    assert (project / "sessions/main.json").read_bytes() == before
    assert gemchat("new", "other").code == 0


def test_a_terminal_counts_down_and_goes_on(gemchat: Gemchat, service: Service) -> None:
    service.enqueue(as_json(api_error(503, "full"), 503, Retry_After="2"), good(STREAMED))
    process = terminal(gemchat, "ask", "well?")
    process.expect("gemchat: Gemini is not available: full; attempt 2 of 5 in 2 s")
    process.expect("trying again in 2 s")
    process.expect("trying again in 1 s")
    process.expect("Hello, you.")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0


@pytest.mark.parametrize("where", ["connect", "stream", "retry"])
def test_a_terminal_is_left_as_it_was(gemchat: Gemchat, service: Service, where: str) -> None:
    """A shell starts gemchat, so that the terminal outlives it and can be asked."""
    answers = {"connect": [Answer(after="hold")], "stream": begun(STREAMED, "hold"), "retry": [BUSY]}
    service.enqueue(*answers[where])
    script = f'stty -g > before; "{sys.executable}" -m gemchat ask "well?"; echo "left $?"; stty -g > after'
    process = pexpect.spawn(
        "sh",
        [
            "-c",
            f"trap : INT; {script}",
        ],
        cwd=str(gemchat.root),
        env={**environ(gemchat), "TERM": "xterm-256color"},
        encoding="utf-8",
        timeout=30,
    )
    process.expect({"connect": "tokens sent, waiting", "stream": "Hel", "retry": "trying again in 4"}[where])
    shown = process.before + process.after
    if where == "connect":
        assert service.holding.wait(30)
        time.sleep(0.1)
    process.sendintr()
    process.expect("left 130")
    shown += process.before
    process.expect(pexpect.EOF)
    process.close()
    assert shown.count("\x1b[?25l") > 0
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is back"
    assert "Traceback" not in shown
    settings = [(gemchat.root / name).read_text() for name in ("before", "after")]
    assert settings[0] == settings[1]


def shell(gemchat: Gemchat, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script.replace("gemchat", f'"{sys.executable}" -m gemchat')],
        cwd=gemchat.root,
        env=environ(gemchat),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", ["ask 'well?' -q", "ask 'well?' --json", "status", "status --json", "--help", "--version"]
)
def test_a_full_disk_is_said_and_loses_no_turn(gemchat: Gemchat, service: Service, arguments: str) -> None:
    service.enqueue(good(STREAMED))
    done = shell(gemchat, f"gemchat {arguments} > /dev/full")
    assert done.returncode == 5
    if "--json" in arguments:
        assert json.loads(done.stderr)["error"]["kind"] == "OutputLost"
    else:
        said = "gemchat: the output cannot be written: No space left on device\nCheck where it is redirected to.\n"
        assert done.stderr == said
    turns = gemchat("log", "--json").json["turns"]
    assert [turn["status"] for turn in turns] == ["complete"] * (2 if "ask" in arguments else 1)


def test_remarks_that_cannot_be_written_are_not_missed(gemchat: Gemchat, service: Service) -> None:
    service.enqueue(good(STREAMED))
    done = shell(gemchat, "gemchat ask 'well?' 2> /dev/full")
    assert (done.returncode, done.stdout) == (0, f"{HELLO}\n")


@pytest.mark.parametrize("arguments", ["--help", "status", "log", "sessions", "show 1"])
def test_who_reads_no_further_is_told_nothing(gemchat: Gemchat, service: Service, arguments: str) -> None:
    done = shell(gemchat, f"{{ gemchat {arguments}; echo $? > code; }} | true")
    assert (done.stdout, done.stderr) == ("", "")
    assert (gemchat.root / "code").read_text() == "0\n"


def test_an_explanation_is_shown_before_the_change_is_complete(gemchat: Gemchat, service: Service) -> None:
    gemchat.write("app.py", "x = 1\n")
    service.enqueue(as_events([created(), *texts('{"explanation":"It says \\u001b[31mh', "i")], "hold"))
    process = terminal(gemchat, "edit", "change it", "app.py")
    process.expect(r"It says \\x1b\[31mhi")
    process.sendintr()
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 130


def test_a_blocked_answer_can_be_read(gemchat: Gemchat, service: Service) -> None:
    service.enqueue(as_json(chunk({"text": "Half a"}, finish="SAFETY")))
    assert gemchat("ask", "well?", "--no-stream", "--backend", "contents").code == 6
    code, out, err = gemchat("show", "2")
    assert (code, err) == (0, "")
    assert "blocked" in out
    assert out.endswith("> well?\n\nHalf a\n")
