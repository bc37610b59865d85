# Copyright: the gpugen authors. Apache-2.0.
"""Runs the command of a request, as a unit of systemd, and leaves what came of it.

job_unit.py FOLDER, as job.py wrote it. Output goes to /run, so that a full disk takes none of it;
the result is written over bytes that were taken before. Runs on Python 3.8 and newer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

MOST = 8000  # characters of each output that are kept: of its end, where the reason is


def tail(file):
    """Return the end of an output."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST))
    return file.read().decode("utf-8", "replace")


def run(request):
    """Run the command and return what came of it; a signal is a status above 128, as in a shell."""
    with tempfile.TemporaryFile(dir="/run") as out, tempfile.TemporaryFile(dir="/run") as err:
        streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        try:
            own = request["environment"]
            done = subprocess.run(request["argv"], check=False, cwd="/", env=own, **streams)
        except OSError as problem:
            return {"rc": 127, "out": "", "err": str(problem)}
        rc = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return {"rc": rc, "out": tail(out), "err": tail(err)}


def main(folder):
    """Run what is asked for, in the order of its request."""
    with open(folder + "/request.json", encoding="utf-8") as own:
        request = json.load(own)
    result = run(request)
    with open(folder + "/result.json", "r+b") as own:
        own.write(json.dumps(result, ensure_ascii=False).encode())
        own.flush()
        os.fsync(own.fileno())


if __name__ == "__main__":
    main(sys.argv[1])
