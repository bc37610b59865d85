"""Signals around a commit: before it they stop the run, during it they wait."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked the process to end. signum: which; the exit code is 128 above it."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum
        self.exit_code = 128 + signum


@contextmanager
def stopping() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into ``Stopped``, so that what is staged is cleared away.

    For the command line, in the main thread; SIGINT stays Python's KeyboardInterrupt.
    """

    def stop(signum: int, _frame: FrameType | None) -> None:
        raise Stopped(signum)

    before = [(signum, signal.getsignal(signum)) for signum in _STOPPING[1:]]
    try:
        for signum, handler in before:
            if handler is not signal.SIG_IGN:  # nohup stays in force
                signal.signal(signum, stop)
        yield
    finally:
        for signum, handler in before:
            signal.signal(signum, handler)


@contextmanager
def held() -> Iterator[None]:
    """Keep signals that stop the process waiting until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
