"""The starter repository is valid, states what is current, and touches nothing that exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpugen import pipeline
from gpugen.catalog import Catalog
from gpugen.cli.schema import editor_schema
from gpugen.cli.starter import files, starter
from gpugen.cli.starter.installed import installed, requirement, unfit
from gpugen.workspace import Workspace
from support import ROOT
from support.commands import gpugen
from support.required import missing

WRITTEN = {
    "inventories/lab/cluster.yaml",
    ".gitattributes",
    "schemas/cluster.editor.schema.json",
    "schemas/repository.editor.schema.json",
}


INSTALLING = {".pre-commit-config.yaml", ".github/workflows/gpugen.yaml"}
REQUIREMENT = "gpugen @ git+https://git.example/gpugen@08c6903cd8c0fde910a37f88322edcfb5dd907a8"


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
    found = [finding.id for finding in pipeline.run(spec, Workspace(tmp_path)).findings]
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
    assert ".gitattributes: exists, not changed" in first.err
    assert mine.read_text("utf-8") == "mine\n"
    spec = tmp_path / "inventories/lab/cluster.yaml"
    spec.write_text("mine\n", "utf-8")
    second = gpugen("init", tmp_path)
    assert second.code == 0
    assert second.err.count("exists, not changed") == len(WRITTEN)
    assert spec.read_text("utf-8") == "mine\n"


def test_a_second_cluster_joins_the_first(tmp_path: Path) -> None:
    gpugen("init", tmp_path)
    gpugen("init", tmp_path, "--cluster", "train", "--hosts", "train-[01:02].example")
    assert Workspace(tmp_path).clusters() == ["lab", "train"]
    assert gpugen("validate", cwd=tmp_path).err.endswith("\n2 warnings\n")


def test_without_an_origin_nothing_installs_gpugen(tmp_path: Path) -> None:
    """A bare name would install whatever somebody gives that name on a package index."""
    answer = gpugen("init", tmp_path)
    assert ".pre-commit-config.yaml and .github/workflows/gpugen.yaml: not written" in answer.err
    assert "--requirement" in answer.err
    later = gpugen("init", tmp_path, "--requirement", REQUIREMENT)
    assert later.code == 0
    assert "not written" not in later.err
    assert files_below(tmp_path) == {*WRITTEN, *INSTALLING}


def test_the_workflow_gives_a_linter_of_workflows_nothing_to_say(tmp_path: Path) -> None:
    gpugen("init", tmp_path, "--requirement", REQUIREMENT)
    program = Path(sys.executable).parent / "zizmor"
    if not program.exists():
        missing("zizmor, of the extra 'test', is not installed")
    command = [program, "--offline", "--no-progress", "--persona=auditor", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    workflow = yaml.safe_load((tmp_path / ".github/workflows/gpugen.yaml").read_text("utf-8"))
    used = [step["uses"] for step in workflow["jobs"]["check"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name) for name in used)
    assert workflow["permissions"] == {"contents": "read"}


COMMIT = "08c6903cd8c0fde910a37f88322edcfb5dd907a8"
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
GIT = {"vcs": "git", "commit_id": COMMIT}
OWN = "https://git.example/own/gpugen"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ({"url": OWN, "vcs_info": GIT}, f"gpugen @ git+{OWN}@{COMMIT}"),
        (
            {"url": OWN, "vcs_info": {**GIT, "requested_revision": "main"}, "subdirectory": "a/b"},
            f"gpugen @ git+{OWN}@{COMMIT}#subdirectory=a/b",
        ),
        (
            {"url": f"{OWN}.tar.gz", "archive_info": {"hash": f"sha256={SHA256}"}},
            f"gpugen @ {OWN}.tar.gz#sha256={SHA256}",
        ),
        (
            {"url": f"{OWN}.whl", "archive_info": {"hashes": {"sha256": SHA256}}},
            f"gpugen @ {OWN}.whl#sha256={SHA256}",
        ),
        ({"url": f"{OWN}.whl", "archive_info": {}}, ""),
        ({"url": f"{OWN}.whl", "archive_info": {"hash": "md5=d41d8cd98f00b204"}}, ""),
        ({"url": OWN, "vcs_info": {**GIT, "commit_id": "main"}}, ""),
        ({"url": OWN, "vcs_info": {**GIT, "vcs": "hg"}}, ""),
        ({"url": "file:///home/me/gpugen", "vcs_info": GIT}, ""),
        ({"url": "file:///home/me/gpugen", "dir_info": {"editable": True}}, ""),
        ({"url": OWN, "dir_info": {}}, ""),
        ({"url": "http://git.example/gpugen", "vcs_info": GIT}, ""),
        ({"url": "ssh://git@git.example/gpugen", "vcs_info": GIT}, ""),
        ({"url": "https://me:word@git.example/gpugen", "vcs_info": GIT}, ""),
        ({"url": "https://token@git.example/gpugen", "vcs_info": GIT}, ""),
        ({"url": f"{OWN}?token=x", "vcs_info": GIT}, ""),
        ({"url": f"{OWN}#x", "vcs_info": GIT}, ""),
        ({"url": f'{OWN}"; id; "', "vcs_info": GIT}, ""),
        ({"url": f"{OWN}\n- run: id", "vcs_info": GIT}, ""),
        ({"url": OWN, "vcs_info": GIT, "subdirectory": "../x"}, ""),
        ({"url": 7, "vcs_info": GIT}, ""),
        ([], ""),
    ],
)
def test_the_requirement_is_how_this_one_was_installed(origin: object, wanted: str) -> None:
    assert requirement(json.dumps(origin)) == wanted
    assert not wanted or unfit(wanted) == ""


def test_no_origin_is_no_requirement() -> None:
    assert requirement("") == ""
    assert installed() == ""  # the tests run from a folder


def test_requirement_replaces_the_index(tmp_path: Path) -> None:
    wanted = "gpugen @ git+https://git.example/gpugen@v0.1.0"
    assert gpugen("init", tmp_path, "--requirement", wanted).code == 0
    hooks = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text("utf-8"))
    assert hooks["repos"][0]["hooks"][0]["additional_dependencies"] == [wanted]
    workflow = yaml.safe_load((tmp_path / ".github/workflows/gpugen.yaml").read_text("utf-8"))
    assert any(
        s.get("run") == f'pip install "{wanted}"' for s in workflow["jobs"]["check"]["steps"]
    )


@pytest.mark.parametrize(
    "text",
    [
        *('x"; rm', "x\n- run: y", "$(id)", "`id`", "-e .", "x'y", "a\\b", "gpugen @ file:///x"),
        *("/x/gpugen", "x/gpugen.whl", "gpugen @ http://x.example/y", "gpugen @ ftp://x.example/y"),
        *("gpugen @ https://me:word@x.example/y", "git+https://token@x.example/y", "git+file:///x"),
    ],
)
def test_requirement_is_neither_shell_nor_secret_nor_local(text: str) -> None:
    assert unfit(text)


@pytest.mark.parametrize(
    "text", ["gpugen==0.1.0", "gpugen[x]>=0.1,<1", "git+ssh://git@x.example/y@v1", REQUIREMENT]
)
def test_requirement_may_be_what_pip_takes(text: str) -> None:
    assert unfit(text) == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cluster", "A_b"), "'A_b' is not at most 40 lower-case letters"),
        (("--cluster", "../up"), "'../up' is not at most 40 lower-case letters"),
        (("--model", "h100"), "did you mean one of h100-"),
        (("--model", "zzz"), "'gpugen catalog gpus' lists them"),
        (("--hosts", "a b"), "'a b' is not a host name"),
        (("--requirement", "a;b"), "'a;b' is not a pip requirement"),
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


def test_schema_for_gpugen_yaml_is_the_one_of_its_page(tmp_path: Path) -> None:
    """The page's example names the file by its path from the root."""
    gpugen("init", tmp_path)
    page = (ROOT / "docs" / "specs" / "findings.md").read_text("utf-8")
    named = re.search(r"# yaml-language-server: \$schema=(\S+)", page)
    assert named
    assert (tmp_path / named[1]).read_text("utf-8") == gpugen("schema", "--of", "repository").out


def test_a_file_in_the_way_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "inventories").write_text("", "utf-8")
    answer = gpugen("init", tmp_path)
    assert answer.code == 4
    assert "inventories" in answer.err
