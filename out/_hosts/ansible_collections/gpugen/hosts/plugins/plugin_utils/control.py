# Copyright: the gpugen authors. Apache-2.0.
"""Runs commands on the control host, as the user who runs Ansible."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any

LIMIT = 60  # seconds


def command(argv: Sequence[str], given: str = "") -> dict[str, Any]:
    """Run a command; rc is 127 where the program is missing, 124 where it took too long.

    given: its standard input.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": ""}
    try:
        done = subprocess.run(  # noqa: S603 - argv of the roles, no shell
            list(argv),
            check=False,
            input=given.encode(),
            capture_output=True,
            timeout=LIMIT,
            env=environment,
        )
    except OSError as problem:
        return {"rc": 127, "out": "", "err": str(problem)}
    except subprocess.TimeoutExpired:
        return {"rc": 124, "out": "", "err": f"no answer within {LIMIT} s"}
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return {"rc": done.returncode, "out": out, "err": err}
