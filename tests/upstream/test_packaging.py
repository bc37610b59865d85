"""What is installed: the wheel that the sdist builds renders the same, and so does gpugen alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gpugen.kube import conform
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
    extras = project["optional-dependencies"]
    stated = [*project["dependencies"], *extras["kubernetes"], *extras["ansible"]]
    assert [one for one in stated if "<" not in one.partition(";")[0]] == []


def test_the_extras_are_what_the_messages_and_the_tests_name() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert extras["kubernetes"] == [conform.CLIENT]
    assert extras["all"] == ["gpugen[kubernetes,ansible]"]
    assert "gpugen[all]" in extras["test"]


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what gpugen depends on without extras, and nothing else."""
    site = tmp_path_factory.mktemp("lean")
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    todo, seen = [Requirement(one) for one in stated], set()
    while todo:
        wanted = todo.pop()
        if wanted.name in seen or not (wanted.marker is None or wanted.marker.evaluate()):
            continue
        seen.add(wanted.name)
        one = distribution(wanted.name)
        for top in {file.parts[0] for file in one.files or () if file.parts[0] != ".."}:
            if not (site / top).exists():
                (site / top).symlink_to(one.locate_file(top))
        todo += map(Requirement, one.requires or ())
    return site


def without_extras(lean: Path, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run gpugen with nothing to import but Python itself and what the folder holds."""
    code = (
        f"import sys; sys.path += [{str(ROOT / 'generator')!r}, {str(lean)!r}];"
        " from gpugen.__main__ import main; main()"
    )
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_without_extras_the_same_is_rendered(lean: Path, tmp_path: Path) -> None:
    for name in ("kubernetes", "ansible"):
        assert not (lean / name).exists()
    answer = without_extras(lean, "validate", "--root", ROOT, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    arguments = ("render", "lab", "--root", ROOT, "-q", "--out")
    answer = without_extras(lean, *arguments, "lean", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    run(sys.executable, "-m", "gpugen", *arguments, "full", cwd=tmp_path)
    assert files(tmp_path / "lean") == files(tmp_path / "full")


def test_a_missing_extra_is_one_line(lean: Path, tmp_path: Path) -> None:
    arguments = ("render", "lab", "--verify", "--root", ROOT, "--out", "none", "-q")
    answer = without_extras(lean, *arguments, cwd=tmp_path)
    said = f"gpugen: --verify needs the Kubernetes client: pip install '{conform.CLIENT}'"
    assert (answer.returncode, answer.stderr.splitlines()[-1:]) == (4, [said])
    assert not (tmp_path / "none").exists()


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
