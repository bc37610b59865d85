"""The starter repository is valid, states what is current, and touches nothing that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commands import gpugen
from gpugen import __version__
from gpugen.catalog import Catalog
from gpugen.cli.init import REQUIREMENT
from gpugen.cli.schema import editor_schema
from gpugen.pipeline import Workspace
from gpugen.starter import files, starter

WRITTEN = {
    "inventories/lab/cluster.yaml",
    ".pre-commit-config.yaml",
    ".github/workflows/gpugen.yaml",
    ".gitattributes",
    "schemas/cluster.editor.schema.json",
}


def files_below(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_starter_renders_and_is_current(tmp_path: Path) -> None:
    answer = gpugen("init", tmp_path)
    assert answer.code == 0
    assert answer.out == ""
    assert "next: edit inventories/lab/cluster.yaml" in answer.err
    assert files_below(tmp_path) == WRITTEN
    assert gpugen("validate", cwd=tmp_path).code == 0
    assert gpugen("render", cwd=tmp_path).code == 0
    assert gpugen("render", "--check", cwd=tmp_path).code == 0


@pytest.mark.parametrize("model", Catalog().gpu_ids())
def test_every_model_gives_a_spec_that_lacks_repositories_alone(model: str, tmp_path: Path) -> None:
    values = starter(Catalog(), "lab", model, 2, "gpu-[01:02].example")
    text = dict(files(values))["inventories/lab/cluster.yaml"]
    spec = tmp_path / "inventories" / "lab" / "cluster.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(text, "utf-8")
    found = [finding.id for finding in Workspace(tmp_path).judge(spec).findings]
    assert found == ["repositories-missing"]


def test_options_stand_in_the_spec(tmp_path: Path) -> None:
    options = ("--cluster", "train", "--model", "h100-sxm5-80gb", "--count", "8")
    assert gpugen("init", tmp_path, *options, "--hosts", "hgx-[01:16].example").code == 0
    spec = yaml.safe_load((tmp_path / "inventories/train/cluster.yaml").read_text("utf-8"))
    assert spec["name"] == "train"
    assert spec["pools"][0]["gpu"] == {"model": "h100-sxm5-80gb", "count": 8}
    assert spec["pools"][0]["hosts"] == ["hgx-[01:16].example"]


def test_what_exists_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / ".gitattributes"
    mine.write_text("mine\n", "utf-8")
    first = gpugen("init", tmp_path)
    assert ".gitattributes: exists, left alone" in first.err
    assert mine.read_text("utf-8") == "mine\n"
    spec = tmp_path / "inventories/lab/cluster.yaml"
    spec.write_text("mine\n", "utf-8")
    second = gpugen("init", tmp_path)
    assert second.code == 0
    assert second.err.count("exists, left alone") == len(WRITTEN)
    assert spec.read_text("utf-8") == "mine\n"


def test_a_second_cluster_joins_the_first(tmp_path: Path) -> None:
    gpugen("init", tmp_path)
    gpugen("init", tmp_path, "--cluster", "train")
    assert Workspace(tmp_path).clusters() == ["lab", "train"]
    assert gpugen("validate", cwd=tmp_path).err.endswith("\n2 warnings\n")


def test_hooks_and_ci_install_this_version(tmp_path: Path) -> None:
    gpugen("init", tmp_path)
    hooks = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text("utf-8"))
    needed = {r for hook in hooks["repos"][0]["hooks"] for r in hook["additional_dependencies"]}
    assert needed == {f"gpugen=={__version__}"}
    workflow = yaml.safe_load((tmp_path / ".github/workflows/gpugen.yaml").read_text("utf-8"))
    steps = [step.get("run") for step in workflow["jobs"]["check"]["steps"]]
    assert f'pip install "gpugen=={__version__}"' in steps


def test_requirement_replaces_the_index(tmp_path: Path) -> None:
    wanted = "gpugen @ git+https://git.example/gpugen@v0.1.0"
    assert gpugen("init", tmp_path, "--requirement", wanted).code == 0
    hooks = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text("utf-8"))
    assert hooks["repos"][0]["hooks"][0]["additional_dependencies"] == [wanted]
    workflow = yaml.safe_load((tmp_path / ".github/workflows/gpugen.yaml").read_text("utf-8"))
    assert any(
        s.get("run") == f'pip install "{wanted}"' for s in workflow["jobs"]["check"]["steps"]
    )


@pytest.mark.parametrize("text", ['x"; rm', "x\n- run: y", "$(id)", "`id`", "-e .", "x'y", "a\\b"])
def test_requirement_cannot_become_shell(text: str) -> None:
    assert not REQUIREMENT.match(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cluster", "A_b"), "'A_b' is not at most 40 lower-case letters"),
        (("--cluster", "../up"), "'../up' is not at most 40 lower-case letters"),
        (("--model", "h100"), "did you mean one of h100-"),
        (("--model", "zzz"), "'gpugen catalog gpus' lists them"),
        (("--hosts", "a b"), "'a b' is not a host name"),
        (("--requirement", "a;b"), "'a;b' is not a requirement of pip"),
        (("--count", "17"), "17 is not in the range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_option_writes_nothing(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    answer = gpugen("init", tmp_path, *arguments)
    assert answer.code == 2
    assert said in answer.err
    assert files_below(tmp_path) == set()


def test_schema_beside_the_spec_is_the_editor_schema(tmp_path: Path) -> None:
    gpugen("init", tmp_path)
    spec = tmp_path / "inventories/lab/cluster.yaml"
    first = spec.read_text("utf-8").splitlines()[0]
    named = (spec.parent / first.partition("$schema=")[2]).resolve()
    assert named.read_text("utf-8") == editor_schema()


def test_a_file_in_the_way_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "inventories").write_text("", "utf-8")
    answer = gpugen("init", tmp_path)
    assert answer.code == 4
    assert "inventories" in answer.err
