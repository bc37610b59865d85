"""The wheel that the sdist builds carries roles, schemas and catalogue, and renders the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support import ROOT


def run(*command: str | Path, cwd: Path) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, timeout=300)


@pytest.mark.slow
def test_wheel_from_sdist_renders_the_same(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--no-isolation", "-o", tmp_path / "dist", ROOT, cwd=ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = tmp_path / "site"
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
        *("--disable-pip-version-check", "--target", site, wheel),
        cwd=tmp_path,
    )
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); from gpugen.cli import run;"
        f" import gpugen; assert gpugen.__file__.startswith({str(site)!r});"
        f" sys.exit(run(['render', '--root', {str(ROOT)!r}, '--out', 'wheel', '-q']))"
    )
    run(sys.executable, "-c", code, cwd=tmp_path)
    arguments = ("render", "--root", ROOT, "--out", "checkout", "-q")
    run(sys.executable, "-m", "gpugen", *arguments, cwd=tmp_path)
    assert files(tmp_path / "wheel") == files(tmp_path / "checkout")


@pytest.mark.slow
def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path: Path) -> None:
    """docs/develop/release.md: the archives' time is the commit's, nothing is the build's."""
    for place, mask in (("one", 0o022), ("two", 0o077)):
        before = os.umask(mask)
        try:
            command = ("-m", "build", "--no-isolation", "-o", tmp_path / place, ROOT)
            environment = {
                **os.environ,
                "SOURCE_DATE_EPOCH": "1700000000",
                "TZ": f"UTC-{len(place)}",
            }
            subprocess.run([sys.executable, *map(str, command)], check=True, env=environment)
        finally:
            os.umask(before)
    built = files(tmp_path / "one")
    assert sorted(Path(name).suffix for name in built) == [".gz", ".whl"]
    assert built == files(tmp_path / "two")


def test_every_dependency_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    unbounded = [one for one in project["dependencies"] if "<" not in one.partition(";")[0]]
    assert unbounded == []


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
