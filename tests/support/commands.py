"""Runs command lines of gpugen in this process."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from gpugen.cli import run
from support import ROOT

MIRROR = """\
  repositories:
    baseURL: https://mirror.lab.example/cuda
    keyFile: keys/mirror.asc
    fingerprint: FC89AF4178C3C8F9C767F9E28D970BAFFD4E85AD
"""


@dataclass(frozen=True)
class Answer:
    """What a command line answered."""

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


def begin(root: Path, *options: str) -> None:
    """Write a starter repository whose hosts take packages from a mirror: no findings."""
    assert gpugen("init", root, *options).code == 0
    (root / "keys").mkdir(exist_ok=True)
    (root / "keys" / "mirror.asc").write_bytes((ROOT / "tests/data/keys/packages.asc").read_bytes())
    for spec in root.glob("inventories/*/cluster.yaml"):
        text = spec.read_text("utf-8")
        spec.write_text(text.replace("  # repositories: vendor\n", MIRROR), "utf-8")
