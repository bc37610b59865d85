"""``python -m gpugen`` and the console script: run, and turn every outcome into an exit code.

All imports are inside of ``main``, after the signal handlers, so that a signal during imports has
the same exit code as later.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and exit with its exit code."""
    _leave_on_signals()
    from gpugen.cli import streams

    streams.guard()
    from gpugen.cli import run

    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    sys.exit(streams.settle(code))


def _leave_on_signals() -> None:
    """Exit at once on a signal while nothing is being written; ignored signals stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, _frame: object) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
