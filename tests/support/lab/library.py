"""Compiles the mock of NVML against the header that the device plugin itself was built with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from support.upstream import golang
from support.upstream.table import table

SOURCES = Path(__file__).parent / "nvml"
NAME = "libnvidia-ml.so.1"


def build(folder: Path) -> Path:
    """Compile the mock into a folder and return the library.

    Raises golang.UnavailableError: there is no C compiler, or no Go to bring the header.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise golang.UnavailableError("the mock of NVML is written in C, and there is no gcc")
    library = folder / NAME
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fPIC"]
    done = subprocess.run(
        [
            *(compiler, *flags, "-D_GNU_SOURCE", "-shared", f"-Wl,-soname,{NAME}"),
            *("-isystem", str(_header_folder()), "-o", str(library)),
            *map(str, sorted(SOURCES.glob("*.c"))),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return library


def _header_folder() -> Path:
    """Return where nvml.h lies in Go's module cache; it is read there and never committed."""
    folder = table().build_of("nvidia-device-plugin").folder
    module = "github.com/NVIDIA/go-nvml"
    record = json.loads(golang.run("mod", "download", "-json", module, folder=folder).stdout)
    return Path(record["Dir"]) / "pkg" / "nvml"
