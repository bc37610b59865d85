"""Answers all questions of a role about a host in one start of Python; reads and changes nothing.

probe.py QUESTIONS, a JSON object; every key may be absent:
  files: paths -> {path: {"text": str, "mtime": seconds since the epoch} or null}
  globs: patterns -> {pattern: sorted paths}
  packages: patterns -> {name: {"version": str, "held": bool}} of what is installed
  units: names -> {unit: {"LoadState", "ActiveState", "UnitFileState", "ActiveEnterTimestamp"}}
  commands: name -> argv -> {name: {"rc": int, "out": str, "err": str}}; 127 where there is none
  users: patterns of device files -> [{"pid": int, "name": str}] of processes that have one open
Prints the same keys with their answers, as JSON; and "job" where an earlier run left a command that
outlived its connection: {"request", "result", "runs"}, once that has ended (job.py). Runs on Python 3.8 and newer.
"""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import time

STATES = ("LoadState", "ActiveState", "UnitFileState", "ActiveEnterTimestamp")
DPKG = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|${Package}|${Version}\\n"]
RPM = ["rpm", "-qa", "--queryformat=ii |%{NAME}|%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\n"]
PATIENCE = 60  # seconds for one command
JOB, UNIT = "/var/lib/gpugen/job", "gpugen-job.service"
LONGEST = 3000  # seconds to wait for such a command


def run(argv):
    """Run a command; rc is 127 where the program is missing, 124 where it took too long."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="", TZ="UTC")
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": PATIENCE}
    try:
        done = subprocess.run(argv, check=False, env=environment, **options)
    except OSError as problem:
        return {"rc": 127, "out": "", "err": str(problem)}
    except subprocess.TimeoutExpired:
        return {"rc": 124, "out": "", "err": "no answer within %s s" % PATIENCE}
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return {"rc": done.returncode, "out": out, "err": err}


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
    return {name: state for name, state in zip(names, shown)}


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


def is_active():
    """Tell whether the unit of an earlier run's command runs, or is about to."""
    shown = run(["systemctl", "show", "--property=ActiveState,Job", UNIT])["out"]
    return re.search("(?m)^(ActiveState=(active|activating|deactivating)|Job=.+)$", shown)


def job():
    """Wait for the command that an earlier run left, and tell what came of it."""
    end = time.monotonic() + LONGEST
    while is_active() and time.monotonic() < end:
        time.sleep(1)
    found = {"runs": bool(is_active())}
    for name in ("request", "result"):
        text = (file("%s/%s.json" % (JOB, name)) or {"text": ""})["text"].strip()
        try:
            found[name] = json.loads(text or "{}")
        except ValueError:
            found[name] = {}
    return found


def main(questions):
    """Answer what is asked."""
    answers = {"job": job()} if os.path.isdir(JOB) else {}
    if "files" in questions:
        answers["files"] = {path: file(path) for path in questions["files"]}
    if "globs" in questions:
        answers["globs"] = {each: sorted(glob.glob(each)) for each in questions["globs"]}
    if questions.get("packages"):
        answers["packages"] = packages(questions["packages"])
    if questions.get("units"):
        answers["units"] = units(questions["units"])
    if "commands" in questions:
        answers["commands"] = {name: run(argv) for name, argv in questions["commands"].items()}
    if questions.get("users"):
        answers["users"] = users(questions["users"])
    return answers


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1])), sort_keys=True))
