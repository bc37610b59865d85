"""A spec that is not seen is not a cluster that is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import ROOT, gpugen
from support.trees import snapshot

HOME = "inventories/lab"
SPEC = f"{HOME}/cluster.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two clusters that are rendered."""
    for cluster in ("lab", "other"):
        assert gpugen("init", tmp_path, "--cluster", cluster).code == 0
    path = tmp_path / "inventories/other/cluster.yaml"
    path.write_text(path.read_text().replace("gpu-", "other-"))
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def called(name: str) -> Callable[[Path], str]:
    def rename(root: Path) -> str:
        (root / SPEC).rename(root / HOME / name)
        return f"{HOME}/{name}"

    rename.__name__ = name
    return rename


def a_dangling_link(root: Path) -> str:
    (root / SPEC).unlink()
    (root / SPEC).symlink_to("../../specs/lab.yaml")
    return SPEC


def a_ring_of_links(root: Path) -> str:
    (root / SPEC).unlink()
    (root / SPEC).symlink_to("cluster.yaml")
    return SPEC


def a_folder(root: Path) -> str:
    (root / SPEC).unlink()
    (root / SPEC).mkdir()
    return SPEC


def a_fifo(root: Path) -> str:
    (root / SPEC).unlink()
    os.mkfifo(root / SPEC)
    return SPEC


def deeper(root: Path) -> str:
    (root / HOME / "berlin").mkdir()
    (root / SPEC).rename(root / HOME / "berlin/cluster.yaml")
    return f"{HOME}/berlin/cluster.yaml"


def above(root: Path) -> str:
    (root / SPEC).rename(root / "inventories/lab.yaml")
    (root / HOME).rmdir()
    return "inventories/lab.yaml"


def a_link_for_the_folder(root: Path) -> str:
    (root / HOME).rename(root / "elsewhere")
    (root / HOME).symlink_to("../nowhere")
    return HOME


def json_by_content(root: Path) -> str:
    (root / SPEC).unlink()
    text = json.dumps({"apiVersion": "gpugen/v1", "kind": "Cluster", "name": "lab"}, indent=1)
    (root / HOME / "spec.json").write_text(text)
    return f"{HOME}/spec.json"


UNSEEN = [
    *map(called, ["cluster.yml", "Cluster.yaml", "CLUSTER.YML", "cluster.yaml.bak", "cluster"]),
    *map(called, ["cluster.yaml~", ".cluster.yaml", "cluster .yaml", "clusters.yaml", "lab.yaml"]),
    *map(called, ["spec", "cluster.json"]),
    *(a_dangling_link, a_ring_of_links, a_folder, a_fifo, deeper, above, a_link_for_the_folder),
    json_by_content,
]


@pytest.mark.parametrize("hide", UNSEEN, ids=lambda f: f.__name__)
def test_what_looks_like_a_spec_is_an_error(hide: Callable[[Path], str], root: Path) -> None:
    path = hide(root)
    before = snapshot(root / "out")
    for arguments in (["validate"], ["render"], ["render", "--prune"], ["render", "--check"]):
        answer = gpugen(*arguments, cwd=root)
        assert answer.code == 1, arguments
        assert f"error [spec-not-seen] {path} " in answer.err
    assert gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root).code == 1
    assert snapshot(root / "out") == before
    assert gpugen("render", "other", cwd=root).code == 0


@pytest.mark.parametrize("name", ["_lab", ".lab", "_off"])
def test_a_spec_that_is_put_aside_keeps_its_output(root: Path, name: str) -> None:
    (root / HOME).rename(root / "inventories" / name)
    before = snapshot(root / "out")
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 0
    assert f"warning [spec-not-seen] inventories/{name}/cluster.yaml" in answer.err
    assert snapshot(root / "out") == before
    assert gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root).code == 2
    assert snapshot(root / "out") == before


@pytest.mark.parametrize("path", ["inventories/lab", "inventories", '"inventories/lab/"'])
def test_a_submodule_that_is_not_checked_out_keeps_its_output(root: Path, path: str) -> None:
    (root / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n\turl = ../x\n')
    (root / SPEC).unlink()
    before = snapshot(root / "out")
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 0
    assert "is a git submodule without a spec of 'lab'" in answer.err
    assert snapshot(root / "out") == before


def test_other_folders_are_a_warning(root: Path) -> None:
    (root / "inventories/layers").mkdir()
    (root / "inventories/layers/base.yaml").write_text("apiVersion: gpugen/v1\nkind: Layer\n")
    (root / "inventories/README.md").write_text("kind of a readme\n")
    (root / "inventories/_site").mkdir()
    answer = gpugen("validate", cwd=root)
    assert answer.code == 0
    assert "warning [folder-without-spec] inventories/layers has no cluster.yaml" in answer.err
    assert answer.err.count("[folder-without-spec]") == 1
    assert gpugen("render", "--prune", cwd=root).code == 0


def test_a_cluster_that_is_not_seen_is_named_by_what_is(root: Path) -> None:
    (root / SPEC).rename(root / HOME / "cluster.yml")
    answer = gpugen("validate", "lab", cwd=root)
    assert answer.code == 2
    assert "inventories/lab/cluster.yml looks like a spec, but is not read" in answer.err


def as_nobody(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command line as a user whom rights concern."""
    change = "import os\nif os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
    run = "import sys\nfrom gpugen.cli import run\nimport gpugen.report, gpugen.cli.render\n"
    do = "from pathlib import Path\nimport gpugen.validate, gpugen.resolve, gpugen.checks\n"
    load = "gpugen.checks.discover()\n"
    last = f"sys.exit(run({list(arguments)!r}))"
    return subprocess.run(
        [sys.executable, "-c", run + do + load + change + last],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "generator")},
    )


@pytest.mark.parametrize("path", [HOME, "inventories", SPEC])
def test_a_folder_without_rights_is_the_environment(root: Path, path: str) -> None:
    for folder in (root, *root.parents[:3]):
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(0o755)
    before = snapshot(root / "out")
    mode = (root / path).stat().st_mode
    (root / path).chmod(0)
    try:
        ran = as_nobody(root, "render", "--prune")
    finally:
        (root / path).chmod(mode)
    assert ran.returncode == 4, ran.stdout + ran.stderr
    assert "Permission denied" in ran.stderr
    assert snapshot(root / "out") == before


def test_without_inventories_nothing_is_deleted(root: Path) -> None:
    before = snapshot(root / "out")
    (root / "inventories").rename(root / "gone")
    assert gpugen("render", "--prune", cwd=root).code == 2
    assert gpugen("render", "--prune", "--root", root).code == 2
    (root / "inventories").symlink_to("nowhere")
    assert gpugen("render", "--prune", "--root", root).code == 2
    assert snapshot(root / "out") == before


def test_a_folder_with_too_much_in_it_is_not_taken_for_empty(root: Path) -> None:
    (root / SPEC).unlink()
    for number in range(5_001):
        (root / HOME / str(number)).touch()
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 1
    assert "holds more than 5000 entries" in answer.err
