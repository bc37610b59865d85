"""What the environment refuses is reported, and the old tree stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpugen.errors import ExitCode, GpugenError, NotOursError
from support import TESTS
from support.trees import FIRST, names, render, snapshot


def test_folder_above_is_missing(tmp_path: Path) -> None:
    with pytest.raises(GpugenError, match="parent folder is missing"):
        render(FIRST, tmp_path / "a/out")
    assert names(tmp_path) == []


@pytest.mark.parametrize("place", ["out", "out/lab"])
def test_file_where_the_folder_goes(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    for force in (False, True):
        with pytest.raises(NotOursError, match="not a folder"):
            render(FIRST, tmp_path / "out", force=force)
    assert (tmp_path / place).read_text() == "mine"


LIMITED = """
import os, resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from support.trees import render
from gpugen.errors import GpugenError
kind, limit = sys.argv[2].split("=")
if kind == "user":
    os.setuid(int(limit))
else:
    resource.setrlimit(getattr(resource, kind), (int(limit), int(limit)))
content = {"big": "x" * 40000, **{f"d{n}/e/f/g{n}": "y" for n in range(40)}}
try:
    print(len(render(content, Path(sys.argv[1]))))
except GpugenError as error:
    print(error.message)
    sys.exit(int(error.exit_code))
"""


def _limited(out: Path, limit: str) -> subprocess.CompletedProcess[str]:
    paths = [str(TESTS), *(p for p in sys.path if p)]
    command = [sys.executable, "-c", LIMITED, str(out), limit, *paths]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("is_there", [False, True])
def test_file_size_limit_leaves_the_old_tree(out: Path, is_there: bool) -> None:
    if is_there:
        render({"big": "old"}, out)
    before = snapshot(out)
    ran = _limited(out, "RLIMIT_FSIZE=20000")
    assert ran.returncode == ExitCode.ENVIRONMENT, ran.stderr
    assert "cannot write" in ran.stdout
    assert "lab/big: File too large" in ran.stdout
    assert snapshot(out) == before


def test_few_file_handles_suffice(out: Path) -> None:
    for _ in range(2):
        ran = _limited(out, "RLIMIT_NOFILE=24")
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("is_there", [False, True])
def test_foreign_folder_is_reported_and_left_alone(out: Path, is_there: bool) -> None:
    user = os.getuid() or 65534
    if is_there:
        render({"big": "old"}, out)
    else:
        out.mkdir()
    for folder in (out.parent, *out.parent.parents[:3]):
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(0o755)
    out.chmod(0o555)
    before = snapshot(out)
    ran = _limited(out, f"user={user}")
    out.chmod(0o755)
    assert ran.returncode == ExitCode.ENVIRONMENT, ran.stdout + ran.stderr
    assert "Permission denied" in ran.stdout
    assert snapshot(out) == before
