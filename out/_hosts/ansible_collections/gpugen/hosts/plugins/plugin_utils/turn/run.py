# Copyright: the gpugen authors. Apache-2.0.
"""Which run of ansible-playbook this is, and whether another one has ended; on the control host."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

BOOT = "/proc/sys/kernel/random/boot_id"
Run = dict[str, Any]


def identify() -> Run:
    """Return {"id", "who", "process": {"boot", "space", "pid", "start"}} of the run that asks.

    Raises LookupError: this process descends from no ansible-playbook.
    """
    pid = playbook(os.getpid())
    found = _stat(pid) if pid else None
    if found is None:
        raise LookupError(
            "this is no process of ansible-playbook, so nobody could tell whose turn it is"
        )
    boot, own = _space()
    process = {"boot": boot, "space": own, "pid": pid, "start": found[1]}
    seed = json.dumps(process, sort_keys=True).encode()
    user = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    who = re.sub("[^A-Za-z0-9@._-]", "_", f"{user}@{os.uname().nodename}")
    return {"id": hashlib.sha256(seed).hexdigest()[:12], "who": who, "process": process}


def is_over(run: Mapping[str, Any]) -> bool:
    """Tell whether a run has ended for certain: its process id is of this space, and free."""
    process = run.get("process") or {}
    boot, own = _space()
    is_here = boot and (process.get("boot"), process.get("space")) == (boot, own)
    if not is_here or not isinstance(process.get("pid"), int):
        return False
    try:
        os.kill(process["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, which /proc may hide
        pass
    seen = _read(f"/proc/{process['pid']}/stat")
    return bool(seen) and (_stat(process["pid"]) or (0, ""))[1] != process["start"]


def settled(ask: Callable[[str], dict[str, Any]], over: str) -> dict[str, Any]:
    """Ask whose turn it is; once more where the run that has it has ended.

    ask: answers, given the id of a run whose turn is over. over: such an id, or "*".
    """
    answer = ask(over)
    if answer["state"] == "held" and is_over(answer["run"]):
        return ask(answer["run"]["id"])
    return answer


def playbook(pid: int) -> int:
    """Return the pid of the ansible-playbook that a process descends from, 0 for none.

    Its workers are forks of it, with the same command line.
    """
    while pid > 1:
        found = _stat(pid)
        if found is None:
            return 0
        if is_play(_words(pid)) and _words(found[0]) != _words(pid):
            return pid
        pid = found[0]
    return pid if pid == 1 and is_play(_words(1)) else 0


def is_play(words: Sequence[str]) -> bool:
    """Tell whether a command line is that of ansible-playbook."""
    names = [word.rpartition("/")[2] for word in words]
    is_module = "ansible" in names and "playbook" in names
    return is_module or any(name.startswith("ansible-playbook") for name in names)


@cache
def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


def _read(path: str) -> str:
    """Read a file; empty where there is none."""
    try:
        return Path(path).read_bytes().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _ps(pid: int, column: str) -> str:
    """Ask ps about a process, where there is no /proc."""
    command = ["ps", "-o", column + "=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()


def _stat(pid: int) -> tuple[int, str] | None:
    """Return a process's parent and its start; nothing where it is not seen, or has ended."""
    if not _has_proc():
        parent = _ps(pid, "ppid")
        return (int(parent), _ps(pid, "lstart")) if parent else None
    fields = _read(f"/proc/{pid}/stat").rpartition(") ")[2].split()
    if not fields or fields[0] in "XZ":
        return None
    return int(fields[1]), fields[19]


def _space() -> tuple[str, str]:
    """Return what tells this space of process ids apart: its boot and its namespace."""
    try:
        return _read(BOOT), str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "", ""


def _words(pid: int) -> list[str]:
    """Return a process's command line."""
    return _read(f"/proc/{pid}/cmdline").split("\0") if _has_proc() else _ps(pid, "command").split()
