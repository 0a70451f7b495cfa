"""gemchat chat: lines from a pipe and at a prompt, what lasts between them, and what is loaded when."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pexpect
import pytest

from gemchat.cli.connections import KeptConnections
from gemchat.cli.prompt import History
from gemchat.errors import Ended
from tests.cli.conftest import Gemchat, Result
from tests.cli.screens import Terminal
from tests.cli.test_processes import environ
from tests.faults import Way, begun, good
from tests.gemini.loopback import Answer, Service

STREAMED = Way("interactions", stream=True)
PATCH = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"
NOT_SENT = "app.py not sent (unchanged since the model last saw it)"
widths = pytest.mark.parametrize("width", [40, 100])


def typed(gemchat: Gemchat, lines: str | bytes, *arguments: str) -> Result:
    """chat with these lines in a file as its stdin."""
    with tempfile.TemporaryFile() as file:
        file.write(lines.encode() if isinstance(lines, str) else lines)
        file.seek(0)
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            return gemchat("chat", *arguments)
        finally:
            assert not os.path.sameopenfile(0, before)
            os.dup2(before, 0)
            os.close(before)


def prompts(gemchat: Gemchat, *options: str) -> list[tuple[str, str, list[str]]]:
    turns = gemchat("log", "--json", *options).json["turns"]
    return [(turn["mode"], turn["prompt"], turn["files"]) for turn in turns]


@pytest.fixture
def app(gemchat: Gemchat) -> Path:
    return gemchat.write("app.py", "x = 1\n")


def test_a_conversation_in_lines(gemchat: Gemchat, app: Path) -> None:
    gemchat.mind.replies = ["It sets x."]
    gemchat.propose(("x = 1\n", "x = 2\n"), explanation="Two.")
    lines = "/file app.py\nwhat's x?\n\n/edit -q don't make it one\n/apply\n/undo\n/redo\n/diff\nnever asked\n"
    code, out, err = typed(gemchat, lines)
    assert out == f"It sets x.\n{PATCH}applied app.py\nundone app.py\napplied again app.py\n"
    assert re.sub(r"\d+ bytes, \d+ tokens", "…", err) == (
        "gemchat: the next prompt is about app.py\n"
        "gemchat: main, turn 1: app.py sent in full (new to this conversation); … in (0 cached), 3 out\n"
        'gemchat: nothing is pending\nAsk for a change first: gemchat edit "…" FILE\n'
    )
    assert code == 5
    assert app.read_text() == "x = 2\n"
    assert prompts(gemchat) == [("ask", "what's x?", ["app.py"]), ("edit", "don't make it one", ["app.py"])]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("/nosuch", 2, "there is no command /nosuch\nSee /help. After a blank, a slash begins a prompt.\n"),
        ("/chat", 2, "there is no command /chat\nSee /help. After a blank, a slash begins a prompt.\n"),
        ("/show", 2, "Missing argument 'TURN'.\nSee: gemchat show --help\n"),
        ("/show 'x", 2, '"\'x" cannot be read: no closing quotation\nWords are quoted as in a shell.\n'),
        ("/model a b", 2, "a model has one name\nFor example: /model gemini-3.8-flash\n"),
        ("/edit", 2, 'the prompt is empty\nFor example: gemchat ask "what does this do?" app.py\n'),
        ("/session nosuch", 4, "there is no session named nosuch\nCreate it with: gemchat new nosuch\n"),
        ("what\0?", 2, "the line has a NUL character in it\ngemchat works on text only.\n"),
        ("/show \x1b]0;x\x07", 2, "there is no turn \\x1b]0;x\\x07\nSee: gemchat log\n"),
    ],
)
def test_the_first_failure_ends_it(gemchat: Gemchat, line: str, code: int, message: str) -> None:
    assert typed(gemchat, f"{line}\nnever asked\n") == (code, "", f"gemchat: {message}")
    assert gemchat.requests == []


@pytest.mark.parametrize("name", ["../x.py", "/etc/passwd"])
def test_files_outside_are_refused_when_they_are_named(gemchat: Gemchat, name: str) -> None:
    for result in (typed(gemchat, f"/file {name}\nnever asked\n"), typed(gemchat, "never asked\n", name)):
        assert (result.code, result.out) == (5, "")
        assert "is outside the project" in result.err
    assert gemchat.requests == []


def test_an_error_as_json(gemchat: Gemchat) -> None:
    code, out, err = typed(gemchat, "/status --json\n/apply --json\n")
    assert code == 5
    assert json.loads(out)["session"] == "main"
    assert json.loads(err)["error"]["kind"] == "NothingPending"


def test_what_a_command_prints_goes_to_the_next_turn_whatever_its_exit_code(gemchat: Gemchat) -> None:
    failing = f"/run '{sys.executable}' -c 'print(42); exit(3)'\n"
    assert typed(gemchat, f"{failing}why?\n").code == 0
    (attached,) = gemchat.mind.belief.newest["attachments"]
    assert attached["text"] == "42\n"
    assert attached["name"].endswith("(exit code 3)")
    gemchat.environ["GEMINI_API_KEY"] = secret = "AIza" + "x" * 35
    assert typed(gemchat, f"/run echo {secret}\nnever asked\n").code == 5
    assert [prompt for _, prompt, _ in prompts(gemchat)] == ["why?"]


def test_the_lines_that_follow_are_no_attachment(gemchat: Gemchat) -> None:
    assert typed(gemchat, b"one\\\r\ntwo \xff\r\nthree").code == 0
    assert [prompt for _, prompt, _ in prompts(gemchat)] == ["one\ntwo \ufffd", "three"]
    assert "attachments" not in gemchat.mind.belief.newest


def test_files_stay_until_a_turn_is_about_them(gemchat: Gemchat, app: Path) -> None:
    gemchat.write("b.py", "y = 1\n")
    gemchat.mind.replies = ["one", "two", "three", "four"]
    lines = (
        "first\n/file new.py\n/file b.py app.py\n/ask --dry-run -q second\n/ask --help\n/edit -h\n/status\n"
        "third\nfourth\n"
        "/rewind 2\nagain\n/file b.py\nfifth\n/quit\nnever asked\n"
    )
    code, _, err = typed(gemchat, lines, "app.py")
    assert code == 0
    assert "gemchat: the next prompt is about new.py (not there yet, /edit can make it)\n" in err
    assert [(prompt, files) for _, prompt, files in prompts(gemchat)] == [
        ("first", ["app.py"]),
        ("third", ["b.py", "app.py"]),
        ("fourth", ["b.py", "app.py"]),
        ("again", ["app.py"]),
        ("fifth", ["b.py"]),
    ]


def test_a_session_and_a_model_last_from_line_to_line(gemchat: Gemchat) -> None:
    gemchat("new", "other")
    gemchat("sessions", "use", "main")
    gemchat.environ |= {"GEMCHAT_SESSION": "main"}
    lines = (
        "one\n/model m-1\ntwo\n/model\n/session other\nthree\n/new fresh\nfour\n"
        "/session\n/sessions use main\nfive\n"
    )
    code, out, err = typed(gemchat, lines, "--model", "m-0", "--backend", "contents")
    assert code == 0, err
    assert "* fresh\n  main\n  other\n" in out
    assert "gemchat: from now on the model is m-1\n" in err
    assert "m-1\n" in out
    asked = {name: prompts(gemchat, "-s", name) for name in ("main", "other", "fresh")}
    assert {name: [prompt for _, prompt, _ in turns] for name, turns in asked.items()} == {
        "main": ["one", "two", "five"],
        "other": ["three"],
        "fresh": ["four"],
    }
    turns = gemchat("log", "--json").json["turns"]
    assert [(turn["model"], turn["backend"]) for turn in turns] == [
        ("m-0", "contents"),
        ("m-1", "contents"),
        ("m-1", "contents"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-s", "nosuch"], 4, "there is no session named nosuch"),
        (["--backend", "nosuch"], 3, "nosuch"),
        (["--project", "nosuch"], 5, "nosuch"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_at_once(
    gemchat: Gemchat, arguments: list[str], code: int, message: str
) -> None:
    result = typed(gemchat, "never asked\n", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


def test_another_project(gemchat: Gemchat, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert typed(gemchat, "what?\n", "--project", str(other)).code == 0
    assert prompts(gemchat) == []
    assert [prompt for _, prompt, _ in prompts(gemchat, "--project", str(other))] == ["what?"]


def test_help_names_every_command(gemchat: Gemchat) -> None:
    code, out, err = typed(gemchat, "/help\n")
    assert (code, err) == (0, "")
    for line in (
        "/edit      Propose a change of files, show it as a diff and keep it pending.\n",
        "/file      The next prompts are about these files.\n",
        "/context   Show what the model holds",
    ):
        assert line in out
    assert "/chat" not in out
    assert typed(gemchat, "/help file\n") == typed(gemchat, "/help /file\n") == (0, out, "")
    assert typed(gemchat, "/help /edit\n").out == typed(gemchat, "/help edit\n").out
    assert "Usage: gemchat edit [OPTIONS] {PROMPT} [FILE...]\n" in typed(gemchat, "/help edit\n").out


@pytest.mark.parametrize("backend", ["interactions", "contents"])
def test_all_turns_share_a_connection(
    gemchat: Gemchat, app: Path, connections: list[threading.Thread], backend: str
) -> None:
    gemchat.mind.replies = ["one"]
    gemchat.propose(("x = 1\n", "x = 2\n"))
    assert typed(gemchat, "one?\n/edit two\nthree?\n", "app.py", "--backend", backend).code == 0
    assert len(connections) == 3
    assert len(set(connections)) == 1
    connections[0].join(20)
    assert not connections[0].is_alive(), "it is closed at the end"
    gemchat("ask", "four?")
    gemchat("ask", "five?")
    assert len(set(connections)) == 3, "others open their own"


class Fake:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_connection_is_kept_unless_its_last_use_failed() -> None:
    kept = KeptConnections()

    def connect(*_: Any, **__: Any) -> Any:
        return Fake()

    def use(*arguments: str, failing: bool = False, **options: str) -> Any:
        with kept.open(connect, *arguments, **options) as connection:
            shown: Any = connection
            assert not shown.closed
            if failing:
                raise KeyboardInterrupt
            return shown

    first = use("a", key="k")
    assert use("a", key="k") is first
    assert use("b", key="k") is not first
    assert use("a", key="k") is first
    with pytest.raises(KeyboardInterrupt):
        use("a", key="k", failing=True)
    assert first.closed
    second = use("a", key="k")
    assert second is not first
    kept.close()
    assert second.closed


def test_of_the_connections_of_a_kind_one_is_open() -> None:
    kept, made = KeptConnections(), []

    def connect(*_: Any, **__: Any) -> Any:
        made.append(Fake())
        return made[-1]

    for token in ("first", "second", "third"):
        with kept.open(connect, "interactions", key=token):
            assert [connection.closed for connection in made] == [True] * (len(made) - 1) + [False]
    with kept.open(connect, "interactions", key="third"):
        assert len(made) == 3
    kept.close()
    assert made[-1].closed


TALK = """
import sys, threading
from dataclasses import replace
from gemchat.cli.chat import Talk
from gemchat.cli.connections import KeptConnections
from gemchat.cli.prompt import History
from gemchat.cli.surroundings import Surroundings
connections = KeptConnections()
talk = Talk(replace(Surroundings(), connections=connections), [])
"""


def python(gemchat: Gemchat, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=gemchat.root,
        env=environ(gemchat),
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_sdk_is_loaded_in_the_background_and_the_second_turn_loads_nothing(gemchat: Gemchat) -> None:
    program = TALK + (
        "seen = set(sys.modules)\n"
        "def loaded():\n"
        "    global seen\n"
        "    fresh, seen = set(sys.modules) - seen, set(sys.modules)\n"
        "    return fresh\n"
        "connections.load()\n"
        "(thread,) = [thread for thread in threading.enumerate() if thread.name == 'gemchat-load']\n"
        "assert thread.daemon\n"
        "thread.join()\n"
        "print({'google.genai', 'httpx2', 'pydantic'} <= loaded())\n"
        "talk.do('one')\n"
        "print(sum(name.startswith(('google', 'httpx2', 'pydantic')) for name in loaded()) < 50)\n"
        "talk.do('two')\n"
        "print(sorted(loaded()))\n"
    )
    gemchat.mind.replies = ["one", "two"]
    assert python(gemchat, program).stdout == "True\none\nTrue\ntwo\n[]\n"


def test_a_turn_waits_for_the_import() -> None:
    imported, order = threading.Event(), []

    def load() -> None:
        assert imported.wait(30)
        order.append("loaded")

    def connect() -> Any:
        order.append("connected")
        return Fake()

    kept = KeptConnections(load)
    kept.load()
    kept.load()
    timer = threading.Timer(0.1, imported.set)
    timer.start()
    with kept.open(connect):
        assert order == ["loaded", "connected"]
    timer.join()


class Prompt(Terminal):
    """A chat on a terminal."""

    def type(self, keys: str) -> None:
        self.answer("> ?\\x1b\\[\\d+D\\x1b\\[\\d+C|>\\x1b\\[\\d+D\\x1b\\[\\d+C", keys)


@widths
def test_a_conversation_at_the_prompt(gemchat: Gemchat, app: Path, width: int) -> None:
    gemchat.mind.replies = ["It **sets** x."]
    gemchat.propose(("x = 1\n", "x = 2\n"), explanation="Two.")
    terminal = Prompt(gemchat, "chat", width=width)
    terminal.type("/fi\tap\t\r")
    terminal.type("what\\\ris x?\x1b\ror y?\r")
    terminal.type("/edit make it two\r")
    terminal.answer(r"\[o\]pen ", "k")
    terminal.type("/apply\r")
    terminal.type("/nosuch\r")
    terminal.type("\x1b[A\x1b[A\x7f\x7f\x7f\x7f\x7fundo\r")
    terminal.type("\x04")
    assert terminal.end() == 0
    joined = "".join(line.ljust(width) for line in terminal.lines)
    assert terminal.lines[0].startswith("gemchat: /help shows the commands, Ctrl")
    assert "main> /file app.py" in terminal.lines
    at = terminal.lines.index("main> what")
    assert terminal.lines[at : at + 4] == ["main> what", "      is x?", "      or y?", "It sets x."]
    assert "gemchat: there is no command /nosuch" in joined
    at = terminal.lines.index("main> /undo")
    assert terminal.lines[at : at + 3] == ["main> /undo", "undone app.py", "main>"]
    assert app.read_text() == "x = 1\n"
    assert [prompt for _, prompt, _ in prompts(gemchat)] == ["what\nis x?\nor y?", "make it two"]
    history = Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "chat-history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "+what\n+is x?\n+or y?\n" in history.read_text()


@widths
def test_what_the_tab_key_offers(gemchat: Gemchat, app: Path, width: int) -> None:
    gemchat.write(".gitignore", "*.log\nbuild/\n")
    for name in ("src/a b.py", "src/bad\x1b[31m.py", "src/x.log", "build/y.py"):
        gemchat.write(name, "y\n")
    terminal = Prompt(gemchat, "chat", width=width)
    terminal.type("/file \t\t")
    terminal.answer("src/", "s\t\t")
    terminal.answer("bad", "\x03")
    terminal.type("/d\t\t")
    terminal.answer("doctor", "\x03")
    terminal.type("\x03")
    assert terminal.end() == 0
    shown = "\n".join(terminal.lines)
    assert "build" not in shown
    assert ".log" not in shown
    assert "\x1b[31m" not in terminal.raw


def test_ctrl_c_clears_and_twice_ends(gemchat: Gemchat) -> None:
    terminal = Prompt(gemchat, "chat")
    terminal.type("never asked\x03")
    terminal.type("again\x03")
    terminal.type("/status\r")
    terminal.type("\x03")
    terminal.type("\x03")
    assert terminal.end() == 0
    assert terminal.lines.count("gemchat: Ctrl-C again or Ctrl-D ends") == 3
    assert "session   main, 0 turns" in terminal.lines
    assert gemchat.requests == []


def test_ctrl_c_in_a_turn_keeps_what_came_and_the_conversation(gemchat: Gemchat) -> None:
    with Service() as service:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = service.url
        service.enqueue(good(STREAMED), *begun(STREAMED, "hold"), Answer(after="hold"), good(STREAMED))
        terminal = Prompt(gemchat, "chat")
        terminal.type("one\r")
        terminal.type("two\r")
        terminal.answer("Hel", "\x03")
        terminal.type("three\r")
        terminal.answer("tokens sent, waiting", "")
        while len(service.seen) < 3:
            time.sleep(0.05)
        time.sleep(0.2)
        terminal.answer("", "\x03")
        terminal.type("four\r")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    turns = gemchat("log", "--json").json["turns"]
    assert [(turn["prompt"], turn["status"], turn["problem"]) for turn in turns] == [
        ("one", "complete", ""),
        ("two", "incomplete", "interrupted"),
        ("four", "complete", ""),
    ]


@pytest.mark.parametrize("when", ["at the prompt", "in a turn"])
def test_to_be_ended_leaves_the_terminal_as_it_was(gemchat: Gemchat, when: str) -> None:
    script = f'stty -g > before; "{sys.executable}" -m gemchat chat; echo "left $?"; stty -g > after'
    with Service() as service:
        service.enqueue(*begun(STREAMED, "hold"))
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = service.url
        process = pexpect.spawn(
            "sh",
            ["-c", script],
            cwd=str(gemchat.root),
            env={**environ(gemchat), "TERM": "xterm-256color"},
            encoding="utf-8",
            timeout=60,
        )
        process.expect("main>")
        if when == "in a turn":
            process.send("one\r")
            process.expect("Hel")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        process.expect("left 143")
        process.expect(pexpect.EOF)
        process.close()
    settings = [(gemchat.root / name).read_text() for name in ("before", "after")]
    assert settings[0] == settings[1]


def test_to_be_ended_in_the_middle_of_drawing_the_prompt() -> None:
    """An event loop reports the exceptions of what it calls and goes on, but for a few."""

    def draw() -> None:
        raise Ended(signal.SIGTERM)

    with closing(asyncio.new_event_loop()) as loop:
        loop.call_soon(draw)
        loop.call_later(1, loop.stop)
        with pytest.raises(Ended) as ended:
            loop.run_forever()
    assert ended.value.exit_code == ended.value.code == 143


def test_a_script_is_interrupted_as_a_whole(gemchat: Gemchat) -> None:
    with Service() as service:
        service.enqueue(*begun(STREAMED, "hold"))
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = service.url
        process = subprocess.Popen(
            [sys.executable, "-m", "gemchat", "chat"],
            cwd=gemchat.root,
            env=environ(gemchat),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.read(3) == b"Hel", "a line is done before the next one comes"
        process.send_signal(signal.SIGINT)
        assert process.communicate(b"two\n", timeout=60) == (b"\n", b"")
        assert process.returncode == 130
    assert len(service.seen) == 1


def test_nothing_on_stdin_is_nothing_to_do(gemchat: Gemchat) -> None:
    for stdin in ("< /dev/null", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m gemchat chat {stdin}'],
            cwd=gemchat.root,
            env=environ(gemchat),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_history_that_cannot_be_kept_is_no_obstacle(gemchat: Gemchat) -> None:
    (Path(gemchat.environ["GEMCHAT_STATE_DIR"]) / "chat-history").mkdir(parents=True)
    terminal = Prompt(gemchat, "chat")
    terminal.type("/status\r")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "session   main, 0 turns" in terminal.lines
    assert "Traceback" not in terminal.raw


def test_a_history_that_has_grown_large_keeps_its_newer_half(gemchat: Gemchat) -> None:
    state = Path(gemchat.environ["GEMCHAT_STATE_DIR"])
    state.mkdir(parents=True, exist_ok=True)
    history = state / "chat-history"
    history.write_text("".join(f"\n# 2026-11-30\n+/status {number}\n+second line\n" for number in range(30_000)))
    terminal = Prompt(gemchat, "chat")
    terminal.type("\x1b[A\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\r")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "main> /status 29999" in terminal.lines
    kept = history.read_text()
    assert 450_000 < len(kept) < 510_000
    assert kept.startswith("\n# 2026-11-30\n+/status ")
    assert "+/status 29999\n+second line\n" in kept


def test_of_a_large_history_the_newest_entry_is_kept_however_long_it_is(tmp_path: Path) -> None:
    file = tmp_path / "chat-history"
    long = f"pasted\n{'x' * 600_000}\n{'y' * 500_000}"
    for string in ("/status", long):
        History(file, lambda _: True).append_string(string)
    assert list(History(file, lambda _: True).load_history_strings()) == [long]
    assert list(History(file, lambda _: True).load_history_strings()) == [long]


def test_keys_are_not_stored_with_what_was_typed(gemchat: Gemchat) -> None:
    gemchat.environ["GEMINI_API_KEY"] = own = "my-own-key-0123456789"
    terminal = Prompt(gemchat, "chat")
    terminal.type(f"is {own} right?\r")
    terminal.type(f"/model {'AIza' + 'aB3-' * 8 + 'xyz'}\r")
    terminal.type("/status\r")
    terminal.type("\x04")
    assert terminal.end() == 0
    state = Path(gemchat.environ["GEMCHAT_STATE_DIR"])
    lines = (state / "chat-history").read_text().split("\n")
    assert [line for line in lines if line.startswith("+")] == ["+/status"]
    assert own.encode() not in b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())


def test_a_terminal_without_a_size_shows_the_prompt(gemchat: Gemchat) -> None:
    terminal = Prompt(gemchat, "chat", size=(0, 0))
    terminal.type("/status\r")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "main> /status" in terminal.lines
    assert "session   main, 0 turns" in terminal.lines


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_text(gemchat: Gemchat, app: Path) -> None:
    gemchat.mind.replies = ["It sets x."]
    terminal = Terminal(gemchat, "chat", environ={"TERM": "dumb"})
    terminal.answer("main> ", "/file app.py\n")
    terminal.answer("main> ", "/nosuch\n")
    terminal.answer("main> ", "what\\\n")
    terminal.answer("what", "is x?\n")
    terminal.answer("It sets x.[^$]*main> ", "never asked\x03")
    terminal.answer("again or Ctrl-D ends\r\nmain> ", "/status\n")
    terminal.answer("1 turn[^$]*main> ", "\x03")
    terminal.answer("main> ", "\x03")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.raw
    assert "gemchat: there is no command /nosuch" in terminal.lines
    assert prompts(gemchat) == [("ask", "what\nis x?", ["app.py"])]
