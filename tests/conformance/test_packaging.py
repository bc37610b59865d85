"""The wheel that the sdist builds carries roles, schemas and catalogue, and renders the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
