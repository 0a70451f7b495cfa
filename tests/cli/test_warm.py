"""The warm start, in a shell on a terminal: nothing but the time it takes tells it from an ordinary start."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pyte
import pytest

from gemchat.warm.control import SUPPORTED, Parent, parents
from gemchat.warm.meeting import read_once
from tests.cli.conftest import Gemchat
from tests.faults import Way, begun, good
from tests.gemini.loopback import Service

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="the warm start needs Linux")

STREAMED = Way("interactions", stream=True)
KEY = "a-key-that-stays-where-it-is"

# The installed command, which says afterwards whether it did the work itself.
PROGRAM = """
import atexit, os, sys
from gemchat.__main__ import main
def say():
    with open(os.environ["STARTS"], "a") as file:
        file.write("cold\\n" if "gemchat.cli.app" in sys.modules else "warm\\n")
atexit.register(say)
main()
"""


def wait(condition: Callable[[], Any]) -> Any:
    until = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)
    return found


class Shell:
    """An interactive bash. `run` returns what a command line printed on the terminal, and `code` its exit code."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.starts = home / "starts"
        program = home / "bin/gemchat"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n{PROGRAM}")
        program.chmod(0o700)
        self.packages = home / "packages"
        self.packages.mkdir()
        self.environ = {
            "HOME": str(home),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "XDG_RUNTIME_DIR": str(home),
            "PYTHONPATH": str(self.packages),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "STARTS": str(self.starts),
            "GEMCHAT_WARM": "5m",
        }
        self.process: Any = pexpect.spawn(
            "bash", ["--norc", "--noprofile", "-i"], cwd=str(home), env=self.environ, encoding="utf-8",
            dimensions=(40, 100), timeout=30, echo=False,
        )  # fmt: skip
        self.process.delaybeforesend = None
        self.process.sendline("bind 'set enable-bracketed-paste off'; PS1=; PS2=")
        self.run("true")

    def begin(self, line: str) -> None:
        self.process.sendline(f"{line}; echo \"left $? \"'!'")

    def finish(self) -> str:
        self.process.expect(r"left (\d+) !\r\n")
        self.code = int(self.process.match[1])
        return str(self.process.before)

    def run(self, line: str) -> str:
        self.begin(line)
        return self.finish()

    def enter(self, gemchat: Gemchat) -> None:
        """Into a test's project, with its state and service."""
        named = {**gemchat.environ, "GEMINI_API_KEY": KEY, "XDG_RUNTIME_DIR": str(self.home)}
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in named.items())
        self.run(f"cd {shlex.quote(str(gemchat.root))}; export {exports}")
        self.starts.write_text("")

    @property
    def started(self) -> list[str]:
        """How each finished gemchat started."""
        return self.starts.read_text().split()

    @property
    def parent(self) -> Parent | None:
        return next(parents(self.environ), None)

    def warmed(self) -> Parent:
        """The parent, listening; a turn that fails for want of a key has started it if there was none."""
        if self.parent is None or not self.sockets:
            self.run("GEMINI_API_KEY= gemchat ask hello 2>/dev/null")
        wait(lambda: self.sockets)
        parent = self.parent
        assert parent
        return parent

    @property
    def sockets(self) -> list[Path]:
        return list(self.home.glob("gemchat-*/*.sock"))

    def close(self) -> None:
        self.process.close(force=True)


@pytest.fixture(scope="module")
def terminal() -> Iterator[Shell]:
    """One for all tests: starting is what takes long."""
    with tempfile.TemporaryDirectory() as home:
        shell = Shell(Path(home))
        yield shell
        found = shell.parent
        shell.close()
        wait(lambda: shell.parent is None)
        assert found is None or family(found.pid) == []


@pytest.fixture
def shell(terminal: Shell, gemchat: Gemchat) -> Shell:
    terminal.enter(gemchat)
    terminal.warmed()
    terminal.starts.write_text("")
    return terminal


@pytest.fixture
def service(gemchat: Gemchat) -> Iterator[Service]:
    with Service() as running:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = running.url
        yield running


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    state: str


def processes() -> Iterator[Process]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        yield Process(int(entry.name), int(parent), int(group), state)


def family(pid: int) -> list[Process]:
    """The children of a process and theirs, those that have ended left out."""
    born = [process for process in processes() if process.parent == pid and process.state != "Z"]
    return [*born, *(younger for process in born for younger in family(process.pid))]


def keeper_and_worker(parent: Parent) -> tuple[Process, Process]:
    """As soon as the worker is in the launcher's group."""

    def found() -> tuple[Process, ...]:
        both = tuple(family(parent.pid))
        return both if len(both) == 2 and both[0].group != both[1].group else ()

    keeper, worker = wait(found)
    return keeper, worker


def launcher(worker: Process) -> Process:
    """The other process of the worker's group."""
    (other,) = (process for process in processes() if process.group == worker.group and process.pid != worker.pid)
    return other


COMMANDS = [
    "gemchat ask 'what is it?' app.py",
    "echo 'a log' | gemchat ask 'what failed?' --json --project /dev/fd/7 7<.",
    "gemchat edit 'make it two' -y <&- 2>&-",
    "gemchat ask 'all of it' | head -c 5",
    "gemchat ask",
    "gemchat ask 'what?' nothing.py --json",
    "gemchat ask 'what?' -s nobody -q",
    "long=$(head -c 120000 /dev/zero | tr '\\0' x); LONG=$long gemchat ask $long $long -s $long -q",
    "GEMINI_API_KEY= gemchat ask 'what?'",
    "gemchat edit --help >&-",
    "cd gone; rmdir ../gone; gemchat ask 'where?' 2>&1; cd ..",
]


def transcript(shell: Shell, gemchat: Gemchat, before: str = ":") -> list[tuple[Any, ...]]:
    """What each of the commands printed, in a project where nothing was done yet."""
    root = gemchat.root.parent / f"project{before[0]}"
    (root / "gone").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "app.py").write_text("x = 1\n")
    state = shlex.quote(str(root.parent / f"state{before[0]}"))
    gemchat.mind.replies = ["It is x.", "Nothing."]
    gemchat.propose(("x = 1\n", "x = 2\n"))
    gemchat.mind.replies += ["word " * 50_000]
    shell.run(f"cd {shlex.quote(str(root))}; export GEMCHAT_STATE_DIR={state}; {before}")
    seen = []
    for line in COMMANDS:
        shown = shell.run(f"{{ {line}; }} >out 2>err; set -- ${{PIPESTATUS[@]}} $?; (exit $1)")
        assert shown == ""
        said = [re.sub(r"[\d,]+ cached", "some cached", (root / name).read_text()) for name in ("out", "err")]
        seen.append((line, shell.code, *said))
    return seen


def test_what_is_printed_and_how_it_ends_is_the_same(shell: Shell, gemchat: Gemchat) -> None:
    warm = transcript(shell, gemchat)
    assert shell.started == ["warm"] * len(COMMANDS)
    cold = transcript(shell, gemchat, "XDG_RUNTIME_DIR=/nowhere")
    assert shell.started == ["warm"] * len(COMMANDS) + ["cold"] * len(COMMANDS)
    assert warm == cold
    assert {code for _, code, _, _ in warm} >= {0, 2, 3, 5}
    assert gemchat.mind.contradictions == []


# What a command sees that gemchat starts, and so what gemchat itself was given.
PROBE = """
exec > $1 2>&1
env | grep -v -e ^_= -e ^XDG_RUNTIME_DIR= | sort
umask; pwd; ulimit -a; trap; tty
grep -E '^(Sig[^Q]|Shd|Cap|NoNew)' /proc/self/status
ls /proc/$PPID/fd | grep -E '^[0-9]$'
readlink /proc/$PPID/fd/8
ps -o pgid= $PPID | tr -d ' '
"""


def test_what_it_starts_sees_the_same(shell: Shell, gemchat: Gemchat) -> None:
    gemchat.write("probe", PROBE)
    gemchat.write("a place/app.py", "x = 1\n")
    setting = "umask 027; trap '' HUP USR1; cd 'a place'; export MORE=$'a\\nb' EMPTY= TZ=Asia/Tokyo"
    seen = []
    for name, how in (("warm", ":"), ("cold", "XDG_RUNTIME_DIR=/nowhere")):
        gemchat.propose(("x = 1\n", "x = 2\n"))
        order = f"gemchat edit 'two' app.py --check 'exec sh probe {name}' 8<../probe"
        shell.run(f"({setting}; {how}; echo $BASHPID > ../group; {order})")
        assert shell.code == 0
        gemchat.write("a place/app.py", "x = 1\n")
        group = (gemchat.root / "group").read_text()
        seen.append((gemchat.root / name).read_text().replace(group, "its group\n"))
    assert shell.started == ["warm", "cold"]
    assert "its group" in seen[0]
    assert seen[0] == seen[1]


@pytest.fixture
def held(shell: Shell, gemchat: Gemchat, service: Service) -> Service:
    """The next answer gets stuck in the middle."""
    service.enqueue(*begun(STREAMED, "hold"))
    shell.enter(gemchat)
    return service


def turns(gemchat: Gemchat) -> list[tuple[str, str, str]]:
    listed = gemchat("log", "--json").json["turns"]
    found = [gemchat("show", turn["turn"], "--json").json for turn in listed]
    return [(turn["status"], turn["problem"], turn.get("raw") or turn["reply"]) for turn in found]


HALF = [("incomplete", "interrupted", "Hel")]


def began(shell: Shell, line: str = "gemchat ask 'well?'") -> tuple[Process, Process, Process]:
    """The launcher, keeper and worker of an answer that has begun."""
    shell.begin(line)
    shell.process.expect("Hel")
    keeper, worker = keeper_and_worker(shell.warmed())
    return launcher(worker), keeper, worker


def interrupted(shell: Shell) -> list[str]:
    """What is left on the screen of an answer that has begun, however often it was drawn."""
    drawn = shell.process.before + shell.process.after
    shell.process.expect("Hel")  # drawn again, so it is not in the middle of the first time
    drawn += shell.process.before + shell.process.after
    shell.process.sendintr()
    screen = pyte.Screen(100, 40)
    pyte.Stream(screen).feed(drawn + shell.finish())
    return [line.rstrip() for line in screen.display]


def test_ctrl_c_ends_the_turn_alone(shell: Shell, gemchat: Gemchat, held: Service) -> None:
    began(shell)
    warm = interrupted(shell)
    assert "Hel" in warm
    assert (shell.code, turns(gemchat)) == (130, HALF)
    before = shell.warmed().pid
    held.enqueue(*begun(STREAMED, "hold"))
    shell.begin("XDG_RUNTIME_DIR=/nowhere gemchat ask 'well?'")
    shell.process.expect("Hel")
    assert (interrupted(shell), shell.code, turns(gemchat)) == (warm, 130, HALF * 2)
    held.enqueue(good(STREAMED))
    assert "Hello, you." in shell.run("gemchat ask 'still there?'")
    assert shell.started == ["warm", "cold", "warm"]
    assert shell.warmed().pid == before


def stopped(*found: Process) -> bool:
    states = {process.pid: process.state for process in processes()}
    return all(states.get(process.pid) == "T" for process in found)


def test_ctrl_z_and_fg(shell: Shell, gemchat: Gemchat, held: Service) -> None:
    shell.process.sendline("gemchat ask 'well?'")
    shell.process.expect("Hel")
    _, worker = keeper_and_worker(shell.warmed())
    other = launcher(worker)
    shell.process.sendcontrol("z")
    shell.process.expect("Stopped")
    wait(lambda: stopped(worker, other))
    assert "Stopped" in shell.run("jobs")
    shell.process.sendline("fg")
    wait(lambda: not stopped(worker) and not stopped(other))
    shell.process.sendintr()
    shell.run("true")
    wait(lambda: family(shell.warmed().pid) == [])
    assert shell.started == ["warm"]
    assert turns(gemchat) == HALF


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ("kill -TERM %1", 143),
        ("kill -INT %1", 130),
        ("kill -HUP $!", 129),
        ("kill $!", 143),
        ("kill -INT $!", 130),
    ],
)
def test_a_job_is_ended(shell: Shell, gemchat: Gemchat, held: Service, order: str, code: int) -> None:
    """The whole job, or, by the id the shell knows, the launcher alone."""
    shell.process.sendline("gemchat ask 'well?' &")
    shell.process.expect("Hel")
    keeper_and_worker(shell.warmed())
    shell.run(f"{order}; wait $!")
    assert shell.code == code
    assert turns(gemchat) == HALF
    assert shell.started == ["warm"]


def test_nothing_is_left_of_a_launcher_that_was_killed(shell: Shell, gemchat: Gemchat, held: Service) -> None:
    first, _, _ = began(shell)
    os.kill(first.pid, signal.SIGKILL)
    shell.finish()
    assert shell.code == 128 + signal.SIGKILL
    wait(lambda: family(shell.warmed().pid) == [])
    assert turns(gemchat) == HALF


def test_a_worker_that_is_killed_takes_its_launcher_with_it(shell: Shell, held: Service) -> None:
    _, _, worker = began(shell)
    os.kill(worker.pid, signal.SIGKILL)
    shell.finish()
    assert shell.code == 128 + signal.SIGKILL


def test_a_keeper_that_is_killed_is_missed(shell: Shell, held: Service) -> None:
    _, keeper, worker = began(shell)
    os.kill(keeper.pid, signal.SIGKILL)
    assert "gemchat: the process that did this is gone" in shell.finish()
    assert shell.code == 1
    os.kill(worker.pid, signal.SIGKILL)


def test_a_background_job_that_wants_the_terminal_stops(shell: Shell, gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.propose(("x = 1\n", "x = 2\n"))
    shell.process.sendline("gemchat edit 'two' app.py &")
    _, worker = keeper_and_worker(shell.warmed())
    other = launcher(worker)
    wait(lambda: stopped(worker, other))
    shell.process.sendline("fg")
    shell.process.expect(r"\[o\]pen")  # keys typed before that are not taken for an answer
    shell.process.send("a")
    shell.process.expect("gemchat: applied")
    shell.run("true")
    assert (gemchat.root / "app.py").read_text() == "x = 2\n"


def test_the_parent_keeps_nothing(shell: Shell, gemchat: Gemchat) -> None:
    gemchat.mind.replies = ["Yes."]
    shell.run("gemchat ask 'do you know my key?'")
    assert shell.started == ["warm"]
    parent = Path("/proc", str(shell.warmed().pid))
    pairs = (parent / "environ").read_text().split("\0")
    environ = dict(pair.split("=", 1) for pair in pairs if pair)
    assert environ == read_once(shell.environ)
    kinds = {str(entry.readlink()).partition(":")[0] for entry in (parent / "fd").iterdir()}
    (own,) = shell.sockets
    assert kinds == {"/dev/null", "socket", str(own.parent), str(own.with_suffix(".lock"))}
    assert (parent / "cwd").readlink() == Path("/")
    assert len(list((parent / "task").iterdir())) == 1
    assert KEY.encode() not in memory(parent)
    assert b"gemchat.cli.kept" in memory(parent)


def memory(process: Path) -> bytes:
    """All that it can write to."""
    found = bytearray()
    with (process / "maps").open() as maps, (process / "mem").open("rb", 0) as mem:
        for line in maps:
            begin, end, mode = re.split("[- ]", line)[:3]
            if mode.startswith("rw"):
                mem.seek(int(begin, 16))
                found += mem.read(int(end, 16) - int(begin, 16))
    return bytes(found)


@pytest.mark.parametrize(
    "line",
    [
        "PYTHONUTF8=1 gemchat ask",
        "LC_ALL=C gemchat ask",
        "(ulimit -n 256; gemchat ask)",
        "nice gemchat ask",
        "set +m; gemchat ask; set -m",
        "exec 9>&1; sh -c 'trap : INT; exec setsid -w gemchat ask'",
        f"{sys.executable}3 -X dev $(type -P gemchat) ask",
        "gemchat status",
        "chmod 755 $XDG_RUNTIME_DIR/gemchat-*; gemchat ask; chmod 700 $XDG_RUNTIME_DIR/gemchat-*",
        "kill -STOP $PARENT; gemchat ask; kill -CONT $PARENT",
        "kill -STOP $PARENT; for n in 1 2 3; do gemchat ask & done; wait; kill -CONT $PARENT",
    ],
)
def test_what_a_fork_cannot_stand_for_starts_by_itself(shell: Shell, line: str) -> None:
    pid = shell.warmed().pid
    line = line.replace("$PARENT", str(pid)).replace(f"{sys.executable}3", sys.executable)
    shell.run(f"{{ {line}; }} 2>/dev/null >&2")
    assert set(shell.started) == {"cold"}
    shell.run("gemchat ask 2>/dev/null")
    assert shell.started[-1] == "warm"
    assert shell.warmed().pid == pid


def test_several_at_once(shell: Shell, gemchat: Gemchat) -> None:
    shell.run('for n in 1 2 3 4; do gemchat ask "question $n" -q & done; wait')
    assert shell.started == ["warm"] * 4
    turns = gemchat("log", "--json").json["turns"]
    assert sorted(turn["prompt"] for turn in turns) == [f"question {number}" for number in range(1, 5)]


def test_of_several_that_begin_one_stays(shell: Shell) -> None:
    shell.run("gemchat warm stop; for n in 1 2 3; do GEMINI_API_KEY= gemchat ask hello 2>/dev/null & done; wait")
    assert shell.started == ["cold"] * 4
    pid = shell.warmed().pid
    wait(lambda: begun_in(shell) == [pid])
    shell.run("gemchat ask 2>/dev/null")
    assert shell.started[-1] == "warm"


def begun_in(shell: Shell) -> list[int]:
    """The processes that were started to be a parent there."""
    found = []
    for process in processes():
        try:
            ours = os.getsid(process.pid) == shell.process.pid
            named = Path("/proc", str(process.pid), "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and b"gemchat.cli.kept" in named:
            found.append(process.pid)
    return found


def test_a_parent_that_is_out_of_date_leaves(shell: Shell) -> None:
    pid = shell.warmed().pid
    (shell.packages / "new").write_text("what an installation adds")
    shell.run("gemchat ask 2>/dev/null")
    assert shell.started == ["cold"]
    wait(lambda: shell.parent is None or shell.parent.pid != pid)


def test_it_is_seen_and_stopped(shell: Shell) -> None:
    parent = shell.warmed()
    seen = json.loads(shell.run("gemchat warm status --json"))
    (process,) = seen.pop("processes")
    assert seen == {"warm": "5m", "supported": True}
    assert process | {"idle": 0} == {"pid": parent.pid, "session": shell.process.pid, "idle": 0, "here": True}
    assert f"process    {parent.pid}, idle for" in shell.run("gemchat warm status")
    assert re.search(rf"ok +warm start: on; process {parent.pid}, idle for \d+ s\r\n", shell.run("gemchat doctor"))
    shell.run("chmod 755 $XDG_RUNTIME_DIR/gemchat-*")
    assert re.search(r"problem +warm start: others may enter ", shell.run("gemchat doctor"))
    shell.run("chmod 700 $XDG_RUNTIME_DIR/gemchat-*")
    assert shell.run("gemchat warm stop; gemchat warm stop") == "stopped 1\r\nnothing was running\r\n"
    assert family(shell.process.pid) == []
    wait(lambda: not Path("/proc", str(parent.pid)).exists())
    assert not list(shell.home.glob("gemchat-*/*"))


def test_one_that_hangs_is_stopped_too(shell: Shell) -> None:
    parent = shell.warmed()
    os.kill(parent.pid, signal.SIGSTOP)
    assert shell.run("gemchat warm stop") == "stopped 1\r\n"
    wait(lambda: not Path("/proc", str(parent.pid)).exists())


def test_it_leaves_when_nobody_needs_it(shell: Shell, held: Service) -> None:
    """But not while somebody does."""
    shell.run("gemchat warm stop; export GEMCHAT_WARM=2s")
    pid = shell.warmed().pid
    began(shell)
    time.sleep(2.5)
    assert shell.warmed().pid == pid
    shell.process.sendintr()
    shell.finish()
    wait(lambda: not list(shell.home.glob("gemchat-*/*")))
    shell.run("export GEMCHAT_WARM=5m")


def test_turned_off_it_leaves_with_the_next_turn(shell: Shell) -> None:
    shell.warmed()
    shell.run("GEMCHAT_WARM=off gemchat ask hello -m none")
    assert shell.started == ["warm"]
    wait(lambda: shell.parent is None)


def test_it_ends_with_its_terminal(tmp_path_factory: pytest.TempPathFactory) -> None:
    shell = Shell(tmp_path_factory.mktemp("home"))
    parent = shell.warmed()
    shell.close()
    wait(lambda: not Path("/proc", str(parent.pid)).exists())
    assert not list(shell.home.glob("gemchat-*/*"))


@pytest.mark.parametrize("way", ["alone", "without job control", "without a terminal"])
def test_where_no_turn_can_follow_nothing_stays(gemchat: Gemchat, tmp_path: Path, way: str) -> None:
    ask = f'"{sys.executable}" -m gemchat ask hello -q'
    script = {
        "alone": f"exec {ask}",
        "without job control": f"{ask}; :",
        "without a terminal": f"setsid -w {ask}; :",
    }
    environ = {**os.environ, **gemchat.environ, "XDG_RUNTIME_DIR": str(tmp_path), "GEMCHAT_WARM": "5m"}
    del environ["GEMINI_API_KEY"]
    process = pexpect.spawn("sh", ["-c", script[way]], cwd=str(gemchat.root), env=environ, encoding="utf-8")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus in (0, 3)
    assert list(tmp_path.glob("gemchat-*/*")) == []


def test_what_is_read_while_loading_is_compared() -> None:
    """Only a module's own lines: what functions read later, they read in the worker again."""
    program = """
import os, sys
read = set()
kind = type(os.environ)
get = kind.__getitem__
def noted(self, name):
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame.f_globals["__name__"] != "__main__":
        read.add(name)
    return get(self, name)
kind.__getitem__ = noted
from gemchat.cli.kept import load
load()
import threading
assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
assert not [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}") and
            os.readlink(f"/proc/self/fd/{name}").startswith("socket")]
print(*sorted(read))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert "PYDANTIC_DISABLE_PLUGINS" in names
    assert set(names) == set(read_once(dict.fromkeys(names, "")))
    assert read_once({"GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "k", "SSH_AUTH_SOCK": "s"}) == {}
