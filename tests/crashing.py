"""Runs gemchat in processes of its own and lets them die, or be refused, at a chosen file-system call.

Started as a program it loads gemchat once and then, for each line of JSON on stdin, forks a process that runs one
command line: `{"arguments": [...], "environ": {...}, "directory": "...", "at": 3, "how": "kill"}`. It answers with
a line `{"code": ..., "calls": ..., "error": "..."}`; `code` is negative for a signal, `calls` counts the calls
below `directory` or the state directory if the process lived to tell. It happens at call number `at`, 0 is never:

    kill   the process kills itself with SIGKILL before the call
    fail   the call fails with EIO, those after it do not
    full   it and all that need space after it fail with ENOSPC
    read-only   it and all that change anything after it fail with EROFS

Calls are counted by an audit hook, which sees opening, renaming, removing, making directories and changing modes,
and by a wrapper around fsync, which it does not see.
"""

from __future__ import annotations

import errno
import io
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.truncate", "os.link"}
_SPACE = {"open", "os.mkdir", "os.fsync"}
_ERRORS = {"fail": errno.EIO, "full": errno.ENOSPC, "read-only": errno.EROFS}


class Outcome(NamedTuple):
    code: int
    calls: int
    error: str


class Launcher:
    """The program below as a child process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crashing"],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        directory: Path,
        *,
        at: int = 0,
        how: str = "kill",
        after: float | None = None,
    ) -> Outcome:
        """With `after` the process is killed when so many seconds have passed, whatever it does then."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {
            "arguments": arguments,
            "environ": dict(environ),
            "directory": str(directory),
            "at": at,
            "how": how,
        }
        self._process.stdin.write(f"{json.dumps({**task, 'after': after})}\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


class _Fault:
    """What happens at the chosen call, and to the calls after it."""

    def __init__(self, places: tuple[str, ...], at: int, how: str) -> None:
        self.places = places
        self.at = at
        self.how = how
        self.calls = 0

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" or event in _CHANGES:
            self.call(event, arguments)

    def call(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = event != "open" or _writes(*arguments)
        if not self._is_watched(event, arguments[0], writes=writes):
            return
        self.calls += 1
        if not self.at or self.calls < self.at:
            return
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        needs_space = event in _SPACE and writes
        if (
            (self.how == "fail" and self.calls == self.at)
            or (self.how == "full" and needs_space)
            or (self.how == "read-only" and writes)
        ):
            raise OSError(_ERRORS[self.how], os.strerror(_ERRORS[self.how]))

    def _is_watched(self, event: str, path: object, *, writes: bool) -> bool:
        if isinstance(path, int):
            return writes
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        return os.path.abspath(str(path)).startswith(self.places)  # noqa: PTH100  must not touch the file


def _writes(path: object, mode: str | None, flags: int | None) -> bool:
    if isinstance(mode, str):
        return not mode.startswith("r") or "+" in mode
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _child(task: dict[str, Any], report: IO[str]) -> NoReturn:
    from gemchat.cli.app import prepare_streams, run
    from gemchat.cli.surroundings import Surroundings

    directory = Path(task["directory"])
    os.chdir(directory)
    here = Surroundings(environ=task["environ"], directory=directory, has_local=lambda _: False)
    fault = _Fault((str(directory), task["environ"]["GEMCHAT_STATE_DIR"]), task["at"], task["how"])
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.stderr = said = io.StringIO()
    prepare_streams()
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        fault.call("os.fsync", (descriptor,))
        fsync(descriptor)

    os.fsync = watched  # type: ignore[assignment]  # gemchat has descriptors only
    sys.addaudithook(fault.hook)
    code = run(task["arguments"], here)
    fault.at = 0
    report.write(json.dumps({"code": code, "calls": fault.calls, "error": said.getvalue()}))
    report.flush()
    os._exit(0)


def _perform(task: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            _child(task, open(writing, "w"))  # noqa: PTH123, SIM115  a descriptor, closed by the end of the process
        finally:
            os._exit(99)
    os.close(writing)
    if task["after"] is not None and not select.select([reading], [], [], task["after"])[0]:
        os.kill(child, signal.SIGKILL)
    with open(reading) as report:  # noqa: PTH123  a descriptor
        told = report.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(told) if told else {"code": code, "calls": 0, "error": ""}


def main() -> None:
    import gemchat.cli.app  # noqa: F401
    from gemchat.gemini import connect

    connect("interactions", key="unused", base_url="http://127.0.0.1:1").close()  # loads the SDK for all children
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(_perform(json.loads(line)))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
