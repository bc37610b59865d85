"""Runs ``gpugen`` in a process that may take so much memory and make so many calls, no more.

Calls of Python functions and of built-in ones are counted, because a count is the same on every
machine. Run as a program: MOST_CALLS MEMORY_MIB ARGUMENT... of gpugen.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

MEMORY_MIB = 512
TOO_MUCH = 99  # exit code: more calls than allowed


def run(
    arguments: list[str], cwd: Path, *, most_calls: int, memory_mib: int = MEMORY_MIB
) -> subprocess.CompletedProcess[str]:
    """Run gpugen with these bounds; the return code is TOO_MUCH where it works too much."""
    return subprocess.run(
        [sys.executable, __file__, str(most_calls), str(memory_mib), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def main(most: int, memory_mib: int, arguments: list[str]) -> int:
    """Run gpugen's command line under the bounds."""
    from gpugen.cli import run as run_gpugen

    calls = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        if event not in ("call", "c_call"):
            return
        calls += 1
        if calls > most:
            sys.setprofile(None)
            import traceback

            traceback.print_stack(frame, limit=12)
            os._exit(TOO_MUCH)

    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20,) * 2)
    sys.setprofile(count)
    code = run_gpugen(arguments)
    sys.setprofile(None)
    print(f"calls {calls}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
