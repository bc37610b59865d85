"""Signals during a commit wait until it is done; before it they end the run as usual."""

from __future__ import annotations

import signal
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
