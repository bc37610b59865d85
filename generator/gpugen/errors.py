"""Exit codes, and the exceptions that carry them to the command line."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a process that ran gpugen can tell its caller."""

    DONE = 0
    SPEC_IS_WRONG = 1
    USAGE = 2
    DIFFERENCE = 3
    ENVIRONMENT = 4
    NOT_OURS = 5
    BUG = 70
    INTERRUPTED = 130
    TERMINATED = 143


class GpugenError(Exception):
    """Something outside of the spec stops the run: the environment, or protected files."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GpugenError):
    """The command line refers to something that does not exist."""

    exit_code = ExitCode.USAGE


class NotOursError(GpugenError):
    """A file to be written was not written by gpugen, or was edited since."""

    exit_code = ExitCode.NOT_OURS
