"""Signals while files are written: they unwind the stack, and wait until a commit is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held() -> Iterator[None]:
    """Defer signals that stop the process until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def unwinding() -> Iterator[None]:
    """Turn SIGINT into KeyboardInterrupt and SIGTERM into SystemExit(143) for as long as it lasts.

    Elsewhere the process ends at once (``gpugen.__main__``): code that is not ours, a native module
    that is being loaded among it, may swallow an exception or end in one of its own.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminate}
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _terminate(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
