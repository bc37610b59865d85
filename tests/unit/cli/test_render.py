"""What render says and writes, and what its options do, as a user meets them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gpugen.hosts import collection
from support.commands import begin, gpugen

SPEC = "inventories/lab/cluster.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a starter repository that is rendered."""
    begin(tmp_path)
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def edit(root: Path, old: str, new: str, path: str = SPEC) -> None:
    text = (root / path).read_text("utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new), "utf-8")


def test_first_and_second_run(tmp_path: Path) -> None:
    begin(tmp_path)
    first = gpugen("render", cwd=tmp_path)
    files = [
        p for p in tmp_path.glob("out/lab/**/*") if p.is_file() and ".gpugen-index" not in p.parts
    ]
    plays = len(collection.files())
    assert first.err == f"_hosts: {plays} added\nlab: {len(files)} added\n"
    assert gpugen("render", cwd=tmp_path).err == "lab: unchanged\n"
    assert gpugen("render", "--quiet", cwd=tmp_path).err == ""


def test_a_comment_in_the_spec_changes_nothing(root: Path) -> None:
    edit(root, "name: lab", "name: lab # ours")
    assert gpugen("render", "--check", cwd=root).code == 0
    assert gpugen("render", cwd=root).err == "lab: unchanged\n"


def test_check_lists_what_render_counts(root: Path) -> None:
    edit(root, "count: 1", "count: 2")
    check = gpugen("render", "--check", cwd=root)
    assert check.code == 3
    changed = [line for line in check.err.splitlines() if line.endswith(": changed")]
    assert "out/lab/ansible/inventory/group_vars/pool_l4.yml: changed" in changed
    assert gpugen("render", cwd=root).err == f"lab: {len(changed)} changed\n"
    assert gpugen("render", "--check", cwd=root).code == 0


def test_diff_goes_to_stdout_and_writes_nothing(root: Path) -> None:
    edit(root, "count: 1", "count: 2")
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*")}
    answer = gpugen("render", "--diff", cwd=root)
    assert answer.code == 0
    assert "\n-  nvidia.com/gpu: 1\n+  nvidia.com/gpu: 2\n" in answer.out
    assert gpugen("render", "--diff", "--check", cwd=root).code == 3
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*")} == before


def test_an_error_in_one_cluster_writes_none(root: Path) -> None:
    begin(root, "--cluster", "train")
    edit(root, "count: 1", "cuont: 1")
    answer = gpugen("render", cwd=root)
    assert answer.code == 1
    assert "did you mean 'count'?" in answer.err
    assert "[fleet-same-host]" in answer.err  # which the mistake does not hide
    assert answer.err.endswith("2 errors; nothing written\n")
    assert not (root / "out/train").exists()
    assert gpugen("render", "train", cwd=root).code == 0


def test_an_edited_file_stops_the_run_until_force(root: Path) -> None:
    edit(root, "- name:", "- name :", path="out/lab/ansible/site.yml")
    assert gpugen("render", "--check", cwd=root).code == 3
    answer = gpugen("render", cwd=root)
    assert answer.code == 5
    assert "ansible/site.yml (edited)" in answer.err
    assert gpugen("render", "--force", cwd=root).code == 0
    assert gpugen("render", "--check", cwd=root).code == 0


def test_one_edited_file_is_overwritten_by_its_name_and_no_other(root: Path) -> None:
    edited = ["out/lab/ansible/site.yml", "out/lab/ansible/verify.yml"]
    for path in edited:
        edit(root, "- name:", "- name :", path=path)
    answer = gpugen("render", "--overwrite", edited[0], cwd=root)
    assert answer.code == 5
    assert "site.yml" not in answer.err
    assert "ansible/verify.yml (edited)" in answer.err
    assert "--overwrite PATH" in answer.err
    both = ["--overwrite", edited[0], "--overwrite", "../" + root.name + "/" + edited[1]]
    assert gpugen("render", *both, cwd=root).err == "lab: 2 overwritten\n"
    for wrong in ("ansible/site.yml", "out/lab", "out/train/ansible/site.yml", "spec.yaml"):
        answer = gpugen("render", "--overwrite", wrong, cwd=root)
        assert answer.code == 2
        assert wrong in answer.err
    assert gpugen("render", "--check", "--overwrite", edited[0], cwd=root).code == 2


def test_the_output_of_a_spec_that_is_gone(root: Path) -> None:
    begin(root, "--cluster", "train")
    gpugen("render", "--quiet", cwd=root)
    (root / SPEC).unlink()
    answer = gpugen("render", cwd=root)
    assert answer.code == 0
    assert "warning [output-without-spec] out/lab no longer has a spec" in answer.err
    assert gpugen("render", "--check", cwd=root).code == 3
    assert (root / "out/lab").is_dir()
    assert gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root).code == 0
    assert not (root / "out/lab").exists()


def test_the_output_of_the_last_spec_is_pruned_too(root: Path) -> None:
    gpugen("render", "--quiet", cwd=root)
    (root / SPEC).unlink()
    assert "out/lab no longer has a spec" in gpugen("render", cwd=root).err
    answer = gpugen("render", "--check", cwd=root)
    assert answer.code == 3
    assert answer.err.endswith("run 'gpugen render --prune' and commit\n")
    answer = gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root)
    assert (answer.code, "lab: " in answer.err) == (0, True)
    assert not (root / "out/lab").exists()
    assert gpugen("render", "--prune", cwd=root).code == 2


def test_a_diff_can_be_applied_from_the_root(root: Path) -> None:
    gpugen("render", "--quiet", cwd=root)
    edit(root, "count: 1", "count: 2")
    patch = gpugen("render", "--diff", cwd=root).out
    assert "--- a/out/lab/ansible/inventory/group_vars/pool_l4.yml\n" in patch
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=root, check=True)
    assert "nvidia.com/gpu: 2" in gpugen("render", "--diff", cwd=root).err + patch
    answer = gpugen("render", "--force", cwd=root)
    assert answer.err == "lab: unchanged, index renewed\n"


def test_warnings_alone_do_not_say_that_nothing_was_written(root: Path) -> None:
    edit(root, '"1.36"', '"1.34"')
    assert gpugen("render", "--quiet", cwd=root).err.endswith("\n1 warning\n")
    assert gpugen("render", "--check", cwd=root).err.endswith("\n1 warning\n")


def test_sarif_brings_the_explanations(root: Path) -> None:
    edit(root, "count: 1", "cuont: 1")
    (run,) = json.loads(gpugen("validate", "-o", "sarif", cwd=root).out)["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    explained = gpugen("explain", "schema-unknown-key").out
    assert rule["fullDescription"]["text"] in explained


def test_what_became_of_files_that_somebody_touched(root: Path) -> None:
    play = root / "out/lab/ansible/site.yml"
    play.write_text("mine\n")
    answer = gpugen("render", "--check", cwd=root)
    assert answer.code == 3
    assert answer.err.endswith("run 'gpugen render --overwrite PATH' and commit\n")
    (finding,) = json.loads(gpugen("render", "--check", "-o", "json", cwd=root).out)["findings"]
    assert "--overwrite" in finding["hint"]
    assert str(play) in finding["hint"]
    assert gpugen("render", "--overwrite", play, cwd=root).err == "lab: 1 overwritten\n"
    play.unlink()
    assert gpugen("render", "--check", cwd=root).err.endswith("run 'gpugen render' and commit\n")
    assert gpugen("render", cwd=root).err == "lab: 1 restored\n"
    (root / "out/lab/mine.txt").write_text("mine\n")
    answer = gpugen("render", "--check", cwd=root)
    assert answer.err.endswith("differs from the specs; delete foreign files\n")


def test_out_is_elsewhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    assert gpugen("render", "--out", other / "x", cwd=root).code == 0
    here, there = (
        {p.relative_to(top).as_posix(): p.read_bytes() for p in top.rglob("*") if p.is_file()}
        for top in (root / "out", other / "x")
    )
    assert here == there


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("render", "labb"), "did you mean 'lab'?"),
        (("render", SPEC, "--root", "elsewhere"), "elsewhere"),
        (("rendr",), "Did you mean 'render'?"),
        (("validate", "nowhere.yaml"), "no cluster and no file 'nowhere.yaml'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage(arguments: tuple[str, ...], said: str, root: Path) -> None:
    answer = gpugen(*arguments, cwd=root)
    assert answer.code == 2
    assert said in answer.err


def test_a_spec_outside_is_checked_and_not_rendered(root: Path, tmp_path_factory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "lab.yaml"
    outside.write_text((root / SPEC).read_text("utf-8"), "utf-8")
    assert gpugen("validate", outside, cwd=root).code == 0
    answer = gpugen("render", outside, cwd=root)
    assert answer.code == 2
    assert "is not a cluster of this repository" in answer.err


def test_without_a_repository(tmp_path: Path) -> None:
    for command in ("render", "validate"):
        answer = gpugen(command, cwd=tmp_path)
        assert answer.code == 2
        assert "run 'gpugen init'" in answer.err


def test_verify_holds_objects_against_the_client(root: Path) -> None:
    assert gpugen("render", "--verify", cwd=root).code == 0


def test_strict_makes_warnings_count(root: Path) -> None:
    edit(root, 'version: "1.36"', 'version: "1.33"')
    assert gpugen("validate", cwd=root).code == 0
    answer = gpugen("validate", "--strict", cwd=root)
    assert answer.code == 1
    assert "warning [kubernetes-version-end-of-life]" in answer.err


def test_version_and_help() -> None:
    assert gpugen("--version").out.startswith("gpugen ")
    answer = gpugen("--help")
    assert answer.code == 0
    assert "validate" in answer.out


def test_a_role_that_leaves_the_spec_is_not_forgotten_on_the_hosts(root: Path) -> None:
    """Its removal is a play of the tree that stood there before."""
    edit(root, "hostDefaults:\n", "hostDefaults:\n  tuning: {powerLimitWatts: 300}\n")
    assert "warning" not in gpugen("render", cwd=root).err
    edit(root, "  tuning: {powerLimitWatts: 300}\n", "")
    for option in ("--check", "--diff", "--quiet"):
        said = gpugen("render", option, cwd=root).err
        assert "warning [role-without-spec] out/lab: the spec no longer uses gpu_tuning" in said
        assert "remove.yml --tags gpu_tuning -e gpugen_remove=true" in said
    assert "role-without-spec" not in gpugen("render", cwd=root).err
