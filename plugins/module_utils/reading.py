# Copyright: the gpugen authors. Apache-2.0.
"""Answers questions about a host: files, packages, units, commands. Reads and changes nothing.

Runs on the host, with Python 3.8 or newer. ``plugins/modules/probe.py`` documents questions and answers.
"""

from __future__ import annotations

import fnmatch
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

STATES = ("LoadState", "ActiveState", "UnitFileState", "ActiveEnterTimestamp")
DPKG = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|${Package}|${Version}\\n"]
RPM = ["rpm", "-qa", "--queryformat=ii |%{NAME}|%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\n"]
MANAGERS = (("apt", "/usr/bin/apt-get"), ("dnf", "/usr/bin/dnf"))
LIMIT = 60  # seconds for one command
JOB, JOB_UNIT = "/var/lib/gpugen/job", "gpugen-job.service"
JOB_LIMIT = 3000  # seconds to wait for the command of an earlier run


def run(argv, stdin="", limit=LIMIT):
    """Run a command; rc is 127 where the program is missing, 124 where it took too long."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="", TZ="UTC")
    options = {"input": stdin.encode(), "capture_output": True, "timeout": limit}
    try:
        done = subprocess.run(argv, check=False, env=environment, **options)
    except OSError as problem:
        return {"rc": 127, "out": "", "err": str(problem)}
    except subprocess.TimeoutExpired:
        return {"rc": 124, "out": "", "err": "no answer within %s s" % limit}
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return {"rc": done.returncode, "out": out, "err": err}


def command(asked):
    """Answer one of the commands: an argv, or a mapping of argv, stdin and limit (seconds)."""
    return run(**asked) if isinstance(asked, dict) else run(asked)


def file(path):
    """Read a file; None where there is none."""
    try:
        with open(path, "rb") as own:
            text = own.read().decode("utf-8", "replace")
            return {"text": text, "mtime": os.fstat(own.fileno()).st_mtime}
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ProcessLookupError):
        return None


def packages(patterns):
    """List what is installed, by the package manager that the host has."""
    answer = run(DPKG + patterns)
    if answer["rc"] == 127:
        answer = run(RPM + patterns)
    found = {}
    for line in answer["out"].splitlines():
        match = re.match(r"(.)i.?\|([^|]+)\|(.+)$", line)
        if match:
            found[match[2]] = {"version": match[3], "held": match[1] == "h"}
    return found


def units(names):
    """Ask systemd for units; every name gets an answer."""
    answer = run(["systemctl", "show", "--property=" + ",".join(STATES), "--"] + names)
    blocks = [block for block in answer["out"].split("\n\n") if block.strip()]
    shown = [dict(line.split("=", 1) for line in block.strip().splitlines()) for block in blocks]
    found = dict(zip(names, shown))
    return {name: found.get(name, {}) for name in names}


def opened(pid):
    """List the files that a process has open; none where it has ended."""
    folder = "/proc/%s/fd" % pid
    try:
        return [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    except OSError:
        return []


def users(patterns):
    """List the processes that have a matching file open, by pid and name."""
    found = []
    for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        if any(fnmatch.fnmatch(path, each) for path in opened(pid) for each in patterns):
            name = file("/proc/%s/comm" % pid) or {"text": ""}
            found.append({"pid": int(pid), "name": name["text"].strip()})
    return found


def job_is_active():
    """Tell whether the unit of an earlier run's command runs, or is about to."""
    shown = run(["systemctl", "show", "--property=ActiveState,Job", JOB_UNIT])["out"]
    return re.search("(?m)^(ActiveState=(active|activating|deactivating)|Job=.+)$", shown)


def job():
    """Wait for the command that an earlier run left, and tell what came of it."""
    end = time.monotonic() + JOB_LIMIT
    while job_is_active() and time.monotonic() < end:
        time.sleep(1)
    found = {"runs": bool(job_is_active())}
    for name in ("request", "result"):
        text = (file("%s/%s.json" % (JOB, name)) or {"text": ""})["text"].strip()
        try:
            found[name] = json.loads(text or "{}")
        except ValueError:
            found[name] = {}
    return found


def host():
    """Tell what the host is: os-release as it lies, kernel, architecture, package manager.

    has_dnf: whether this Python has the bindings that the module dnf needs.
    """
    system = os.uname()
    release = file("/etc/os-release") or file("/usr/lib/os-release") or {"text": ""}
    managers = [name for name, path in MANAGERS if os.path.exists(path)]
    return {
        "os_release": release["text"],
        "kernel": system.release,
        "architecture": system.machine,
        "pkg_mgr": managers[0] if managers else "unknown",
        "python": sys.executable,
        "has_dnf": importlib.util.find_spec("dnf") is not None,
        "systemd": os.path.isdir("/run/systemd/system"),
        "now": time.time(),
    }


def url(address):
    """Ask for an address without fetching it; status -1 where nothing answers."""
    import urllib.error
    import urllib.request

    try:
        request = urllib.request.Request(address, method="HEAD")
        with urllib.request.build_opener().open(request, timeout=30) as found:
            return {"status": found.status, "msg": "OK"}
    except urllib.error.HTTPError as problem:
        return {"status": problem.code, "msg": str(problem)}
    except (OSError, ValueError) as problem:
        return {"status": -1, "msg": "Request failed: %s" % problem}


def scheduler(ask):
    """Tell how the main kube-scheduler runs."""
    from ansible_collections.gpugen.hosts.plugins.module_utils import scheduler as own

    return own.answer(ask)


def bridges(sysfs):
    """List the PCI bridges below a tree of sysfs whose access control services are on."""
    from ansible_collections.gpugen.hosts.plugins.module_utils import pci_acs

    found = []
    try:
        found.extend(name for name, path in pci_acs.bridges(sysfs) if pci_acs.is_on(path, False))
    except OSError:  # no PCI, or not ours to read
        pass
    return found


def answer(questions):
    """Answer what is asked."""
    answers = {"host": host()}
    if os.path.isdir(JOB):
        answers["job"] = job()
    answers["files"] = {path: file(path) for path in questions.get("files") or []}
    answers["globs"] = {each: sorted(glob.glob(each)) for each in questions.get("globs") or []}
    wanted = questions.get("packages") or []
    answers["packages"] = packages(wanted) if wanted else {}
    names = questions.get("units") or []
    answers["units"] = units(names) if names else {}
    commands = questions.get("commands") or {}
    answers["commands"] = {name: command(asked) for name, asked in commands.items()}
    answers["bridges"] = {tree: bridges(tree) for tree in questions.get("bridges") or []}
    devices = questions.get("users") or {}
    answers["urls"] = {address: url(address) for address in questions.get("urls") or []}
    answers["users"] = {name: users(patterns) for name, patterns in devices.items()}
    schedulers = questions.get("schedulers") or {}
    answers["schedulers"] = {name: scheduler(ask) for name, ask in schedulers.items()}
    return answers
