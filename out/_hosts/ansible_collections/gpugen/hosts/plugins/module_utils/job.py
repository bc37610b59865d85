# Copyright: the gpugen authors. Apache-2.0.
"""Runs a command that must not be torn, such as a transaction of packages, in a unit of its own.

The unit outlives the connection, and leaves what came of it in a folder for root alone; the probe
of the next run waits for it there. A result belongs to the start in front of it: each start drops
what lies there, so that an old result never passes for a new one. Python 3.8 and newer.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

FOLDER = "/var/lib/gpugen/job"
REQUEST, RESULT = FOLDER + "/request.json", FOLDER + "/result.json"
UNIT = "gpugen-job.service"
ROOM = 1 << 16  # bytes of the result, taken beforehand: a disk may be full when the command ends
LIMIT = 20  # seconds of one call
KEPT = ("PATH", "DEBIAN_FRONTEND", "NEEDRESTART_SUSPEND")
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
FIXED = {"LC_ALL": "C.UTF-8", "LANGUAGE": "", "HOME": "/root"}


class Refused(Exception):
    """Why a command was not begun, or why nothing is known of its end."""


def environment():
    """Return what the command gets of the environment; systemd's own speaks the host's language."""
    known = {name: value for name, value in os.environ.items() if name.lower() in PROXIES}
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return dict({"DEBIAN_FRONTEND": "noninteractive"}, **known, **kept, **FIXED)


def load(path):
    """Read JSON; nothing where there is none yet."""
    try:
        with open(path, encoding="utf-8") as own:
            found = json.load(own)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_active():
    """Tell whether the unit runs, or waits for systemd to start it."""
    command = ["systemctl", "show", "--property=ActiveState,Job", UNIT]
    shown = subprocess.run(command, stdout=-1, text=True, check=False).stdout.split()
    return any(line in shown for line in ("ActiveState=active", "ActiveState=activating")) or any(
        line.startswith("Job=") and line != "Job=" for line in shown
    )


def wait():
    """Wait for the unit's end; tell whether it has ended."""
    end = time.monotonic() + LIMIT
    while is_active():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def drop():
    """Drop what lies there; the folder above goes where nothing else is in it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(FOLDER))


def write(path, text):
    """Write a file for root alone."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as own:
        own.write(text)
        own.flush()
        os.fsync(own.fileno())


def key(argv):
    """Return what tells commands apart."""
    return hashlib.sha256(json.dumps(argv).encode()).hexdigest()


def begin(argv, unit):
    """Note the request and have systemd start it. unit: text of job_unit.py."""
    drop()
    try:
        os.makedirs(FOLDER, mode=0o700)
        os.chmod(os.path.dirname(FOLDER), 0o700)
        request = {"key": key(argv), "argv": argv, "began": time.time()}
        write(REQUEST, json.dumps(dict(request, environment=environment())))
        write(RESULT, " " * ROOM)
    except OSError as problem:
        drop()
        raise Refused("nothing was begun: %s" % problem)
    subprocess.run(["systemctl", "reset-failed", UNIT], stderr=-1, check=False)
    command = ["systemd-run", "--quiet", "--no-block", "--collect", "--unit=" + UNIT]
    command += ["--", sys.executable, "-c", unit, FOLDER]
    done = subprocess.run(command, stdout=-1, stderr=-1, text=True, check=False)
    if done.returncode:
        drop()
        raise Refused("nothing was begun: systemd-run: %s" % done.stderr.strip())


def start(argv, unit):
    """Begin a command, once nothing else runs; one that is the same already is joined."""
    with open("/run/gpugen-job.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_active() and load(REQUEST).get("key") != key(argv) and not wait():
            return {"state": "busy"}
        if not is_active():
            begin(argv, unit)
    return finish(argv)


def finish(argv):
    """Wait a while; hand on what came of the command, once."""
    if not wait():
        return {"state": "runs"}
    request, result = load(REQUEST), load(RESULT)
    if request.get("key") != key(argv):
        raise Refused("what came of it was read by another run; run again")
    drop()
    if not result:
        raise Refused("it was broken off before its end: somebody ended it, or the host went down")
    return {"state": "ended", "rc": result["rc"], "out": result["out"], "err": result["err"]}


def forget():
    """Drop what an earlier run left, unless it still runs."""
    if not is_active():
        drop()
    return {"state": "forgotten"}
