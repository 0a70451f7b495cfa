"""What the kernel says of a process. Nobody has to be asked, and nobody can say what is not true."""

from __future__ import annotations

import os
from collections.abc import Iterator

# What no fork can take over. It also keeps whoever is locked up from having work done outside.
_STATUS = (
    "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
    "Cpus_allowed", "Mems_allowed", "TracerPid", "SigBlk",
)  # fmt: skip
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "user", "uts")
_FILES = ("limits", "cgroup", "oom_score_adj", "attr/current")


def circumstances(pid: int) -> list[str]:
    """What must be the same for the parent and a launcher. Raises OSError if it may not be known."""
    said = status(pid)
    return [
        *(said.get(name, "") for name in _STATUS),
        *(_link(f"/proc/{pid}/{name}") for name in ("root", *(f"ns/{kind}" for kind in _NAMESPACES))),
        *(_text(f"/proc/{pid}/{name}") for name in _FILES),
        str(os.getpriority(os.PRIO_PROCESS, pid)),
        str(os.sched_getscheduler(pid)),
    ]


def status(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/status") as lines:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def environ(pid: int) -> dict[bytes, bytes]:
    """The environment it was started with."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if b"=" in entry]
    return {name: value for name, _, value in reversed(pairs)}  # of two of one name the first counts


def ignored_signals(pid: int) -> Iterator[int]:
    mask = int(status(pid)["SigIgn"], 16)
    return (number + 1 for number in range(mask.bit_length()) if mask >> number & 1)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except FileNotFoundError:  # of an older kernel, or the process is gone and all is lost
        return ""


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except PermissionError:
        raise
    except OSError:  # this kernel has nothing to say about it
        return ""
