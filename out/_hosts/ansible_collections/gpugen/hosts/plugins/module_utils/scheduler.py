# Copyright: the gpugen authors. Apache-2.0.
"""Tells how the main kube-scheduler of this host runs; reads and changes nothing.

A question is a mapping:
  unit: systemd unit that starts it; empty: the kubelet does
  in_process: program of which the scheduler is a part; empty: it is a process of its own
  file: the configuration that is ours     kubeconfig: what the configuration names
  own, others: our file of settings, and patterns of all of them, for flags that clash with ours
  kubectl: command line that reaches the API server from here
  wait: seconds to wait until it is healthy; 0: only look
  after: files that it must have been started after     config: the --config that it must have
The answer's "missing" is empty where it is healthy. Python 3.8 and newer.
"""

from __future__ import annotations

import glob
import os
import re
import ssl
import subprocess
import time
import urllib.request

NAME = "kube-scheduler"
PORT = "10259"
STEADY = 5  # seconds for which one process has to be healthy
EVERYWHERE = ("", "0.0.0.0", "::")
SETTING = re.compile(
    r"""(?ms)^['"]?kube-scheduler-arg(?P<plus>\+?)['"]?\s*:(?P<items>.*?)(?=^[^\s#-]|\Z)"""
)


def run(argv):
    """Run a command; return its status and what it printed."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
    except OSError as problem:
        return 127, str(problem)
    except subprocess.TimeoutExpired:
        return 124, "no answer within 20 s"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def read(path):
    """Read a file; empty where there is none."""
    try:
        with open(path, "rb") as opened:
            return opened.read().decode("utf-8", "replace")
    except OSError:
        return ""


def flags(argv):
    """Return the flags of a command line: name -> value, "true" where it has none."""
    found = {}
    for word in argv[1:]:
        name, sign, value = word.lstrip("-").partition("=")
        if word.startswith("--"):
            found[name] = value if sign else "true"
    return found


def started(pid):
    """Return when a process was started, in seconds since the epoch."""
    ticks = int(read("/proc/%d/stat" % pid).rpartition(")")[2].split()[19])
    uptime = float(read("/proc/uptime").split()[0])
    return time.time() - (uptime - ticks / os.sysconf("SC_CLK_TCK"))


def main_pid(unit):
    """Return the main process of a unit, 0 for none."""
    words = run(["systemctl", "show", "--property=MainPID", "--value", "--", unit])[1].split()
    return int(words[0]) if words and words[0].isdigit() else 0


def processes(ours):
    """List (start, pid, flags) of main schedulers; others have no kubeconfig among their flags."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        argv = read(path).split("\0")
        found = flags(argv)
        if os.path.basename(argv[0]) != NAME:
            continue
        if found.get("config") == ours or {"kubeconfig", "authentication-kubeconfig"} & set(found):
            pid = int(path.split("/")[2])
            try:
                yield started(pid), pid, found
            except (IndexError, ValueError):
                continue  # it ended meanwhile


def look(ask):
    """Find the scheduler: pid, flags, program, version, start."""
    found = {"pid": 0, "flags": {}, "program": "", "version": "", "started": 0.0}
    found["unit_started"] = 0.0
    pid = main_pid(ask["unit"]) if ask["unit"] else 0
    if pid:
        found["unit_started"] = started(pid)
    if ask["in_process"]:
        found.update(pid=pid, started=found["unit_started"])
        version = run([ask["in_process"], "--version"])[1] if pid else ""
    else:
        newest = max(processes(ask["file"]), default=None)
        if newest is None:
            return found
        found.update(zip(("started", "pid", "flags"), newest))
        found["program"] = "/proc/%d/exe" % found["pid"]
        version = run([found["program"], "--version"])[1]
    match = re.search(r"v?(\d+\.\d+\.\d+\S*)", version)
    found["version"] = match[1] if match else ""
    return found


def livez(found):
    """Return what speaks against the scheduler's health; empty: nothing."""
    address = found["flags"].get("bind-address", "")
    address = "127.0.0.1" if address in EVERYWHERE else address
    address = "[%s]" % address if ":" in address else address
    url = "https://%s:%s/livez" % (address, found["flags"].get("secure-port", PORT))
    context = ssl._create_unverified_context()  # its certificate is signed by itself
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(url, timeout=5) as answer:
            return "" if answer.status == 200 else "%s answers %d" % (url, answer.status)
    except OSError as problem:
        return "%s: %s" % (url, problem)


def missing(found, ask):
    """Return what the scheduler is missing to be the one that is asked for; empty: nothing."""
    if not found["pid"]:
        return "no main %s runs" % NAME
    if not ask["in_process"] and ask.get("config") is not None:
        named = found["flags"].get("config", "")
        if named != ask["config"]:
            return "it runs with --config=%s" % named if named else "it runs without --config"
    for path in ask.get("after", ()):
        if os.path.exists(path) and os.stat(path).st_mtime > found["started"]:
            return "it was started before %s was written" % path
    return livez(found)


def renewed(ask):
    """Return when the lease was renewed; None: nobody can be asked."""
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + NAME
    status, answer = run([*ask["kubectl"], "--request-timeout=10s", "get", "--raw", path])
    if status == 127:
        return None
    match = re.search(r'"renewTime": *"([^"]+)"', answer)
    return match[1] if status == 0 and match else ""


def wait(ask):
    """Wait until one process is healthy for a while, and somebody leads."""
    end = time.time() + ask["wait"]
    since, pid, lease = 0.0, 0, None
    while True:
        found = look(ask)
        found["missing"] = missing(found, ask)
        now = time.time()
        if found["missing"] or found["pid"] != pid:
            since, pid, lease = now, found["pid"], None
        elif now - since >= STEADY:
            found["missing"], lease = led(found, ask, lease)
        if not found["missing"] and now - since >= STEADY:
            return found
        if now > end:
            found["missing"] = found["missing"] or "it does not run for %d s" % STEADY
            return found
        time.sleep(0.5)


def led(found, ask, first):
    """Return what speaks against a leader, and the first time of renewal that was seen."""
    if found["flags"].get("leader-elect") == "false":
        return "", first
    answer = renewed(ask)
    if answer is None:
        return "", first
    if not answer or first is None or answer == first:
        return "the lease kube-system/%s is not renewed" % NAME, first or answer or None
    return "", first


def clashes(ask):
    """List files, and the unit, that would replace our setting or bring another --config."""
    found = []
    for path in sorted(path for pattern in ask["others"] for path in glob.glob(pattern)):
        match = SETTING.search(re.sub(r"(?m)^\s*#.*$", "", read(path)))
        if path == ask["own"] or not match:
            continue
        replaces = not match["plus"] and path > ask["own"]
        if replaces or re.search(r"\bconfig=", match["items"]):
            found.append(path)
    if ask["others"] and ask["unit"]:
        start = run(["systemctl", "show", "--property=ExecStart", "--", ask["unit"]])[1]
        found += [ask["unit"]] if "kube-scheduler-arg" in start else []
    return found


def answer(ask):
    """Answer the question."""
    found = wait(ask) if ask["wait"] else look(ask)
    if not ask["wait"]:
        found["missing"] = missing(found, ask)
    found["clashes"] = clashes(ask)
    found["has_kubeconfig"] = os.path.isfile(found["flags"].get("kubeconfig", ask["kubeconfig"]))
    changed = [os.stat(p).st_mtime for p in (ask["file"], ask["own"]) if os.path.exists(p)]
    found["is_stale"] = bool(ask["unit"]) and max(changed, default=0.0) > found["unit_started"]
    return found
