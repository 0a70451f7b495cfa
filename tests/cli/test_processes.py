"""gemchat as a process of its own: pipes, terminals, signals, several at once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pexpect
import pytest

from gemchat.local.mind import Prompt
from tests.cli.conftest import Gemchat

LONG = "".join(f"line {number}\n" for number in range(100))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gemchat", *arguments]


def environ(gemchat: Gemchat) -> dict[str, str]:
    return {**os.environ, **gemchat.environ}


def run(
    gemchat: Gemchat, *arguments: str, stdin: bytes | IO[bytes] | None = b""
) -> subprocess.CompletedProcess[bytes]:
    given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run(
        command(*arguments), cwd=gemchat.root, env=environ(gemchat), capture_output=True, check=False, **given
    )


def test_a_heavy_log_is_paid_for_once(gemchat: Gemchat) -> None:
    log = "".join(f"step {number} went well and took a while\n" for number in range(20_000)).encode()
    first = json.loads(run(gemchat, "ask", "what failed?", "--json", stdin=log).stdout)
    second = json.loads(run(gemchat, "ask", "and why?", "--json").stdout)
    assert (first["sent"]["beside"], second["sent"]["beside"]) == (True, False)
    (summary,) = gemchat.mind.belief.newest["carryover"]
    assert "stdin" in summary
    assert second["usage"]["input"] < first["usage"]["input"] * 0.05


def test_stdin_is_an_attachment(gemchat: Gemchat) -> None:
    assert run(gemchat, "ask", "why?", stdin=b"Traceback: \xff\n").returncode == 0
    assert gemchat.mind.belief.newest["prompt"] == "why?"
    assert gemchat.mind.belief.newest["attachments"] == [{"name": "stdin", "text": "Traceback: \ufffd\n"}]


def test_an_attachment_is_folded_to_the_limit_that_was_given_or_set(gemchat: Gemchat) -> None:
    def attached(*options: str) -> int:
        assert run(gemchat, "ask", "why?", *options, stdin=b"word\n" * 2000).returncode == 0
        (attachment,) = gemchat.mind.belief.newest["attachments"]
        return len(attachment["text"])

    assert attached() == 10_000
    assert 400 < attached("--attach-limit", "1000") < 4500
    gemchat("config", "set", "attachments.limit", "50")
    assert attached() < 400
    assert 400 < attached("--attach-limit", "1000") < 4500


def test_stdin_is_the_prompt(gemchat: Gemchat) -> None:
    assert run(gemchat, "ask", "-", stdin=b"what is this?\n").returncode == 0
    assert gemchat.mind.belief.newest["prompt"] == "what is this?\n"
    assert "attachments" not in gemchat.mind.belief.newest


def test_nothing_piped_in_is_no_attachment(gemchat: Gemchat) -> None:
    for nothing in (b"", None):
        assert run(gemchat, "ask", "why?", stdin=nothing).returncode == 0
        assert "attachments" not in gemchat.mind.belief.newest


def test_binary_input_is_refused(gemchat: Gemchat) -> None:
    refused = run(gemchat, "ask", "why?", stdin=b"a\0b")
    assert (refused.returncode, refused.stdout) == (5, b"")
    assert b"what is piped in is binary" in refused.stderr


def test_a_prompt_with_broken_bytes_is_sent_all_the_same(gemchat: Gemchat) -> None:
    subprocess.run(
        [*map(os.fsencode, command("ask")), b"caf\xe9?"], cwd=gemchat.root, env=environ(gemchat), check=True
    )
    assert gemchat.mind.belief.newest["prompt"] == "caf\ufffd?"


def test_a_closed_pipe_is_quiet_and_loses_no_turn(gemchat: Gemchat) -> None:
    gemchat.mind.replies = ["word " * 50_000]
    script = f'"{sys.executable}" -m gemchat ask "tell me" -q | head -c 5'
    done = subprocess.run(
        ["sh", "-c", script], cwd=gemchat.root, env=environ(gemchat), capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"word ", b"")
    assert gemchat("log", "--json").json["turns"][0]["status"] == "complete"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(gemchat: Gemchat, closed: str) -> None:
    script = f'"{sys.executable}" -m gemchat ask "tell me" {closed}'
    done = subprocess.run(["sh", "-c", script], cwd=gemchat.root, env=environ(gemchat), check=False)
    assert done.returncode == 0
    assert gemchat("log", "--json").json["turns"][0]["status"] == "complete"


def test_a_directory_that_is_gone(gemchat: Gemchat) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; "{sys.executable}" -m gemchat status'
    done = subprocess.run(
        ["sh", "-c", script], cwd=gemchat.root, env=environ(gemchat), capture_output=True, check=False
    )
    assert done.returncode == 5
    assert done.stderr == b"gemchat: the current directory does not exist any more\n"


def test_a_model_name_is_no_markup(gemchat: Gemchat) -> None:
    process = terminal(gemchat, "ask", "what?", "-m", "[/x]")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0


def test_several_at_once_lose_nothing(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "first", "app.py")
    running = [
        subprocess.Popen(command("ask", f"question {number}", "-q"), cwd=gemchat.root, env=environ(gemchat))
        for number in range(6)
    ]
    assert [process.wait() for process in running] == [0] * 6
    turns = gemchat("log", "--json").json["turns"]
    assert sorted(turn["prompt"] for turn in turns) == ["first", *(f"question {number}" for number in range(6))]
    assert gemchat("status", "--json").json["turns"] == 7
    assert gemchat("ask", "and now?").code == 0
    assert gemchat.mind.contradictions == []


class Hesitating:
    """Says something, then nothing for long."""

    name = "hesitating"

    def answer(self, prompt: Prompt) -> Any:
        yield "The answer "
        time.sleep(20)
        yield "never comes."


@pytest.mark.parametrize("backend", ["interactions", "contents"])
def test_an_interrupted_answer_is_kept_as_incomplete(gemchat: Gemchat, backend: str) -> None:
    from gemchat.local.server import LoopbackServer

    with LoopbackServer(Hesitating()) as server:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = server.url
        process = subprocess.Popen(
            command("ask", "well?", "--backend", backend),
            cwd=gemchat.root,
            env=environ(gemchat),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.read(11) == b"The answer "
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert (out, err) == (b"\n", b"")
    (turn,) = gemchat("log", "--json").json["turns"]
    assert (turn["status"], turn["problem"]) == ("incomplete", "interrupted")
    assert gemchat("status", "--json").json["turns"] == 0


def terminal(gemchat: Gemchat, *arguments: str) -> Any:
    return pexpect.spawn(
        sys.executable,
        ["-m", "gemchat", *arguments],
        cwd=str(gemchat.root),
        env={**environ(gemchat), "TERM": "xterm-256color"},
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=30,
    )


@pytest.mark.parametrize(
    ("key", "said", "text"), [("a", "applied", "fifty"), ("d", "discarded", "50"), ("x", "pending", "50")]
)
def test_a_terminal_is_asked_what_to_do_with_a_proposal(gemchat: Gemchat, key: str, said: str, text: str) -> None:
    file = gemchat.write("app.py", LONG)
    gemchat.propose(("line 50\n", "line fifty\n"), explanation="Words.")
    process = terminal(gemchat, "edit", "spell out fifty", "app.py")
    process.expect("Words")
    process.expect("fifty")
    process.expect(r"\[a\]pply  \[d\]iscard  \[k\]eep  \[p\]ick  \[r\]efine  \[o\]pen ")
    process.send(key)
    process.expect(f"gemchat: {said}")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0
    assert f"line {text}\n" in file.read_text()


def test_a_terminal_gets_markdown_and_no_control_sequence_of_the_model(gemchat: Gemchat) -> None:
    gemchat.mind.replies = ["# Title\n\nSome **bold** text \x1b[2J.\n\n```python\nx = 1\n\ny = 2\n```\n\n- item\n"]
    process = terminal(gemchat, "ask", "what?")
    shown = process.read()
    process.close()
    assert process.exitstatus == 0
    assert "Title" in shown
    assert "\x1b[1mbold" in shown
    assert "\x1b[2J" not in shown
    assert "\\x1b[2J" in shown
    assert "**" not in shown


def test_the_tour(tmp_path: Path) -> None:
    done = subprocess.run(command("demo", "--scripted"), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "$ gemchat edit 'add input validation' shop.py" in done.stdout
    assert "undone shop.py" in done.stdout
    assert "cart.py sent as a diff (changed +4 -0)" in done.stderr
    assert "shop.py not sent (unchanged since the model last saw it)" in done.stderr
    assert list(tmp_path.iterdir()) == []
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text()
    (capture,) = re.findall(r"````console\n(.*?)````", readme, re.DOTALL)
    assert set(without_counts(capture)) <= set(without_counts(done.stdout + done.stderr))


def without_counts(text: str) -> list[str]:
    """Lines without what depends on the length of the system instruction."""
    return re.sub(r"[\d,]+ (tokens|bytes|out)", r"N \1", text).splitlines()
