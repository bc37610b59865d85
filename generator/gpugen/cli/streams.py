"""Standard streams of a process; a failed write is an error of the environment.

The streams raise StreamError, which is no OSError: libraries in between would handle that one
themselves.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gpugen.errors import ExitCode, GpugenError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STREAMS = ((1, "stdout", "standard output"), (2, "stderr", "standard error"))
_ENDED = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


class StreamError(GpugenError):
    """A standard stream is full, closed, or has no reader any more."""

    def __init__(self, title: str, error: OSError) -> None:
        super().__init__(f"cannot write to {title}: {error.strerror}")
        self.is_quiet = error.errno == errno.EPIPE  # a closed pipe needs no message


class _Raw(io.FileIO):
    """A stream's file, whose errors are StreamErrors."""

    def __init__(self, number: int, title: str) -> None:
        super().__init__(number, "w", closefd=False)
        self.title = title

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise StreamError(self.title, error) from error


def guard() -> None:
    """Replace Python's standard streams; closed ones raise an error on write.

    A closed stream's number is taken, lest a file that is opened later gets it, and with it what
    was meant for people.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number, which is this one
    for number, name, title in _STREAMS:
        before = getattr(sys, name)
        stream = io.TextIOWrapper(
            io.BufferedWriter(_Raw(number, title)),
            encoding=before.encoding if before else "utf-8",
            errors="backslashreplace",
            line_buffering=name == "stderr" or os.isatty(number),
        )
        setattr(sys, name, stream)


def settle(code: int) -> int:
    """Write what is buffered still, and return the exit code that the process ends with."""
    for number, name, _ in _STREAMS:
        try:
            getattr(sys, name).flush()
        except (StreamError, OSError, ValueError):
            code = code if code in _ENDED else ExitCode.ENVIRONMENT
            _discard(number)
    return code


def _discard(number: int) -> None:
    """Discard what is buffered, so that Python's own last attempt does not fail."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
