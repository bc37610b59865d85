"""Which run of ansible-playbook this is; on the control host.

run.py             -> {"id", "who", "process": {"boot", "space", "pid", "start"}} of the run that
                      asks: the ansible-playbook that this program descends from
run.py OTHER, JSON -> the same, with "is_over": whether that other run has ended for certain
Runs on Python 3.8 and newer.
"""

import hashlib
import json
import os
import pwd
import re
import subprocess
import sys

BOOT = "/proc/sys/kernel/random/boot_id"
HAS_PROC = os.path.exists("/proc/self/stat")


def read(path):
    """Read a file; empty where there is none."""
    try:
        with open(path, "rb") as own:
            return own.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def ps(pid, column):
    """Ask ps about a process, where there is no /proc."""
    command = ["ps", "-o", column + "=", "-p", str(pid)]
    return subprocess.run(command, stdout=-1, stderr=-1, text=True, check=False).stdout.strip()


def stat(pid):
    """Return a process's parent and its start; nothing where it is not seen, or has ended."""
    if not HAS_PROC:
        parent = ps(pid, "ppid")
        return (int(parent), ps(pid, "lstart")) if parent else None
    state, parent, *others = read("/proc/%s/stat" % pid).rpartition(") ")[2].split() or "X0"
    return (int(parent), others[17]) if state not in "XZ" else None


def space():
    """Return what tells this space of process ids apart: its boot and its namespace."""
    try:
        return read(BOOT), os.readlink("/proc/self/ns/pid")
    except OSError:
        return "", ""


def is_play(words):
    """Tell whether a command line is that of ansible-playbook."""
    names = [word.rpartition("/")[2] for word in words]
    is_module = "ansible" in names and "playbook" in names
    return is_module or any(name.startswith("ansible-playbook") for name in names)


def words(pid):
    """Return a process's command line."""
    return read("/proc/%s/cmdline" % pid).split("\0") if HAS_PROC else ps(pid, "command").split()


def playbook():
    """Return the pid of the ansible-playbook that this program descends from; its workers are
    forks of it, with the same command line."""
    pid = os.getppid()
    while pid > 1 and stat(pid):
        parent = stat(pid)[0]
        if is_play(words(pid)) and words(parent) != words(pid):
            return pid
        pid = parent
    return pid if pid == 1 and is_play(words(1)) else 0


def identify():
    """Return the run that asks."""
    pid = playbook()
    if not pid:
        sys.exit("this is no process of ansible-playbook, so nobody could tell whose turn it is")
    boot, own = space()
    process = {"boot": boot, "space": own, "pid": pid, "start": stat(pid)[1]}
    seed = json.dumps(process, sort_keys=True).encode()
    user = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    who = re.sub("[^A-Za-z0-9@._-]", "_", "%s@%s" % (user, os.uname().nodename))
    return {"id": hashlib.sha256(seed).hexdigest()[:12], "who": who, "process": process}


def is_over(run):
    """Tell whether a run has ended for certain: its process id is of this space, and free."""
    process = run.get("process") or {}
    boot, own = space()
    is_here = boot and (process.get("boot"), process.get("space")) == (boot, own)
    if not is_here or not isinstance(process.get("pid"), int):
        return False
    try:
        os.kill(process["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, which /proc may hide
        pass
    seen = read("/proc/%s/stat" % process["pid"])
    return bool(seen) and (stat(process["pid"]) or ("", ""))[1] != process["start"]


if __name__ == "__main__":
    known = {"is_over": is_over(json.loads(sys.argv[1]))} if len(sys.argv) > 1 else {}
    print(json.dumps(dict(identify(), **known), sort_keys=True))
