"""One run of the write stage as a process of its own, for tests that kill it.

    python crash_driver.py SOURCE OUT TREE     TREE: a name of ``trees``, or ``prune``

Exits with the code that the command line would give; 99 tells a bug.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def _terminate(_number: int, _frame: object) -> None:
    raise SystemExit(143)


def main(source: str, out: str, name: str) -> int:
    """Do the run and return its exit code."""
    sys.path[:0] = [source, str(Path(__file__).parents[1])]
    from gpugen.errors import GpugenError
    from gpugen.write import prune
    from support import trees

    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts us may ignore it
    try:
        if name == "prune":
            prune(Path(out), "lab")
        else:
            trees.render(trees.TREES[name], Path(out))
    except GpugenError as error:
        with suppress(OSError):  # writing may be what is refused
            print(error.message, error.hint, sep="\n", flush=True)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    try:
        code = main(*sys.argv[1:])
    except SystemExit as stopped:
        code = int(str(stopped.code))
    except BaseException as problem:  # noqa: BLE001  # told apart from every code of its own
        print(repr(problem), flush=True)
        code = 99
    os._exit(code)
