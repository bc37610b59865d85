"""What signals do while files are written: unwind the stack, so that moves are reverted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unwinding() -> Iterator[None]:
    """Turn SIGINT into KeyboardInterrupt and SIGTERM into SystemExit(143) in the block.

    Elsewhere the process exits at once (``gpugen.__main__``): other code, such as a native module
    that is being loaded, may swallow an exception or raise its own.
    """
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread may set handlers
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
