"""Same spec, same bytes: whatever the machine, the order of keys, or what was read natively."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import pipeline
from gpugen.model.finding import is_fatal
from gpugen.text.yaml import to_yaml
from gpugen.workspace import Workspace
from support import ROOT

CLUSTERS = Workspace(ROOT).clusters()
WITHOUT_NATIVE = """
import sys
for name in ("yaml._yaml", "jsonschema_rs"):
    sys.modules[name] = None
from gpugen.cli import run
sys.exit(run(sys.argv[1:]))
"""


def render(out: Path, *, code: str = "", **environment: str) -> dict[str, bytes]:
    """Render the examples in a process of its own and return the bytes of every file."""
    start = [sys.executable, *(["-c", code] if code else ["-m", "gpugen"])]
    subprocess.run(
        [*start, "render", "--quiet", "--root", str(ROOT), "--out", str(out)],
        env={**os.environ, **environment},
        check=True,
        timeout=120,
    )
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return render(tmp_path_factory.mktemp("reference") / "out", PYTHONHASHSEED="1")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "4242"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
        {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7"},
        {"COLUMNS": "20", "NO_COLOR": "1", "CI": "true"},
    ],
    ids=" ".join,
)
def test_environment(
    environment: dict[str, str], reference: dict[str, bytes], tmp_path: Path
) -> None:
    assert render(tmp_path / "out", **environment) == reference


def test_without_native_libraries(reference: dict[str, bytes], tmp_path: Path) -> None:
    assert render(tmp_path / "out", code=WITHOUT_NATIVE) == reference


def test_nothing_of_this_machine(reference: dict[str, bytes]) -> None:
    import socket

    host = re.compile(rf"\b{re.escape(socket.gethostname())}\b".encode())
    own = {path: text for path, text in reference.items() if not path.startswith("_hosts/")}
    for path, content in own.items():  # the collection is a copy, byte by byte
        assert str(ROOT).encode() not in content, path
        assert not host.search(content), path


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return the value with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    return value


def tree_of(root: Path, cluster: str) -> dict[str, bytes]:
    workspace = Workspace(root)
    outcome = pipeline.run(workspace.spec_path(cluster), workspace)
    assert not is_fatal(outcome.findings), outcome.findings
    return dict(pipeline.build(outcome))


def home(tmp_path: Path, cluster: str, spec: dict[str, Any]) -> Path:
    """Write a spec and the examples' layers into a repository of its own."""
    shutil.copytree(ROOT / "inventories" / "_layers", tmp_path / "inventories" / "_layers")
    shutil.copytree(ROOT / "keys", tmp_path / "keys")
    folder = tmp_path / "inventories" / cluster
    folder.mkdir()
    (folder / "cluster.yaml").write_text(to_yaml(spec))
    return tmp_path


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_of_keys(cluster: str, seed: int, tmp_path: Path) -> None:
    spec = yaml.safe_load((ROOT / "inventories" / cluster / "cluster.yaml").read_text())
    other = home(tmp_path, cluster, shuffled(spec, random.Random(seed)))
    assert tree_of(other, cluster) == tree_of(ROOT, cluster)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_new_pool_leaves_other_pools_alone(cluster: str, tmp_path: Path) -> None:
    spec = yaml.safe_load((ROOT / "inventories" / cluster / "cluster.yaml").read_text())
    pool = {
        "name": "newcomer",
        "gpu": {"model": "l40s", "count": 2},
        "hosts": ["newcomer-[01:02].other.example"],
        "taints": [{"key": "newcomer", "effect": "NoExecute"}],
    }
    before = tree_of(ROOT, cluster)
    after = tree_of(home(tmp_path, cluster, {**spec, "pools": [pool, *spec["pools"]]}), cluster)
    for other in spec["pools"]:
        marks = (f"/{other['name']}/", f"pool_{other['name'].replace('-', '_')}.yml")
        for path, content in before.items():
            if any(mark in path for mark in marks):
                assert after[path] == content, f"{path} changed with a new pool"
