"""CONTRIBUTING.md's component works in a copy of the package: a folder, and a line in a table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpugen.model.finding import Pointer
from support.documents import ROOT, named_blocks
from support.specs import MINIMAL

PAGE = "CONTRIBUTING.md"
COMPONENT = "generator/gpugen/components/devices/gpu_quota"
TABLE = "generator/gpugen/components/stacks.py"
FOLDERS = ("generator", "keys", "roles", "schemas")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what the package consists of, a key, and the example."""
    folder = tmp_path_factory.mktemp("copy")
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path, text in named_blocks(PAGE).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(_with_line(text) if path == TABLE else text, "utf-8")
    return folder


def _with_line(line: str) -> str:
    """Return the table of stacks with one more line."""
    before, mark, after = (ROOT / TABLE).read_text("utf-8").partition('    "gpu-tuning":')
    return before + line + mark + after


def gpugen(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the copy's command line in the copy."""
    return subprocess.run(
        [sys.executable, "-m", "gpugen", *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "generator"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def put(copy: Path, changes: dict[str, object]) -> None:
    """Make the minimal spec with these values the copy's only cluster."""
    data = yaml.safe_load(MINIMAL.read_text("utf-8"))
    for pointer, value in changes.items():
        (key,) = Pointer(pointer).parts
        data[key] = value
    spec = copy / "inventories" / "minimal" / "cluster.yaml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(json.dumps(data), "utf-8")


@pytest.fixture(scope="module")
def case() -> dict[str, object]:
    text = (ROOT / PAGE).read_text("utf-8").partition("quota-unknown-resource.yaml`:")[2]
    shown = text.partition("```yaml\n")[2].partition("```")[0]
    loaded: dict[str, object] = yaml.safe_load(shown)
    return loaded


def test_it_touches_one_folder_and_the_table(copy: Path) -> None:
    ours = {path.parent.as_posix() for path in map(Path, named_blocks(PAGE)) if path != Path(TABLE)}
    assert ours == {COMPONENT}
    assert named_blocks(PAGE)[TABLE].count("\n") == 1
    assert "gpu-quota" not in (copy / "schemas/cluster.schema.json").read_text("utf-8")


def test_it_is_found_and_explained(copy: Path) -> None:
    answer = gpugen(copy, "explain", "components.gpu-quota.namespaces")
    assert answer.returncode == 0, answer.stderr
    assert "Units by namespace and resource" in answer.stdout
    assert gpugen(copy, "explain", "quota-unknown-resource").returncode == 0
    schema = json.loads(gpugen(copy, "schema").stdout)
    assert "gpu-quota" in schema["properties"]["components"]["properties"]


def test_it_renders_in_its_wave(copy: Path, case: dict[str, dict[str, object]]) -> None:
    put(copy, case["good"])
    answer = gpugen(copy, "render", "--verify")
    assert answer.returncode == 0, answer.stderr
    folder = copy / "out/minimal/kustomize/10-devices/cluster"
    (file,) = folder.glob("*gpu-quota*")
    quota = yaml.safe_load(file.read_text("utf-8"))
    assert quota["metadata"]["namespace"] == "team-a"
    assert quota["spec"] == {"hard": {"requests.nvidia.com/gpu": "8"}}
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))["resources"]
    assert file.name in listed


def test_it_is_off_unless_named(copy: Path) -> None:
    put(copy, {})
    assert gpugen(copy, "render", "--out", "plain").returncode == 0
    assert not list(copy.glob("plain/**/*gpu-quota*"))


def test_its_schema_and_check_judge(copy: Path, case: dict[str, dict[str, object]]) -> None:
    put(copy, case["bad"])
    (found,) = json.loads(gpugen(copy, "validate", "-o", "json").stdout)["findings"]
    assert (found["id"], found["pointer"]) == ("quota-unknown-resource", case["at"])
    put(copy, {"/components": {"gpu-quota": {"namespace": "team-a"}}})
    answer = gpugen(copy, "validate")
    assert answer.returncode == 1
    assert "schema-unknown-key" in answer.stderr
    assert "did you mean 'namespaces'?" in answer.stderr


def test_it_keeps_the_rules_of_the_house(copy: Path) -> None:
    config = f"--config={ROOT / 'pyproject.toml'}"
    for words in (["check"], ["format", "--check"]):
        answer = subprocess.run(
            [Path(sys.executable).parent / "ruff", *words, "--no-cache", config, COMPONENT, TABLE],
            cwd=copy,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
