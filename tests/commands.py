"""Runs command lines of gpugen in this process."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from gpugen.cli import run

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Answer:
    """What a command line gave back."""

    code: int
    out: str
    err: str


def gpugen(*arguments: str | Path, cwd: Path = ROOT) -> Answer:
    """Run a command line in a folder, by default in this repository."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(cwd),
    ):
        code = run([str(argument) for argument in arguments])
    return Answer(int(code), out.getvalue(), err.getvalue())
