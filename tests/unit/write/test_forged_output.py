"""What a pull request may do to the committed output: render never takes the tree's word for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from support.commands import gpugen
from support.trees import snapshot

INDEX = "out/lab/.gpugen-index/cluster"
MODULE = "ansible/library/command.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a starter repository that is rendered."""
    assert gpugen("init", tmp_path).code == 0
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def index(root: Path, **hashes: str | None) -> None:
    """Correct the index for files that were changed; None takes one out."""
    for path in (root / INDEX).parent.iterdir():
        kept = [line for line in path.read_text().splitlines() if line[65:] not in hashes]
        path.write_text("\n".join(kept) + "\n")
    with (root / INDEX).open("a") as file:
        file.writelines(f"{value} {name}\n" for name, value in hashes.items() if value)


def put(root: Path, name: str, text: bytes, listed: bool = True) -> None:
    path = root / "out/lab" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    if listed:
        index(root, **{name: sha256(text).hexdigest()})


def an_edited_play(root: Path) -> None:
    put(root, "ansible/site.yml", b"- hosts: localhost\n  tasks: [{command: id}]\n")


def an_edited_object(root: Path) -> None:
    name = next(iter(sorted((root / "out/lab/kustomize").rglob("*.yaml"))))
    put(root, name.relative_to(root / "out/lab").as_posix(), b"kind: Pod\n")


def a_planted_module(root: Path) -> None:
    put(root, MODULE, b"import os\n")


def planted_variables(root: Path) -> None:
    put(root, "ansible/inventory/host_vars/gpu-01.lab.example.yml", b"ansible_host: evil\n")


def a_file_taken_out(root: Path) -> None:
    (root / "out/lab/ansible/verify.yml").unlink()
    index(root, **{"ansible/verify.yml": None})


def other_hashes_alone(root: Path) -> None:
    index(root, **{"ansible/site.yml": "0" * 64})


def another_version_alone(root: Path) -> None:
    path = root / INDEX
    path.write_text(re.sub(r"\ngpugen .*", "\ngpugen 0.0.1", path.read_text()))


def an_index_in_pieces(root: Path) -> None:
    (root / "out/lab/.gpugen-index/pool-more").write_bytes((root / INDEX).read_bytes())


FORGED = [
    an_index_in_pieces,
    an_edited_play,
    an_edited_object,
    a_planted_module,
    planted_variables,
    a_file_taken_out,
    other_hashes_alone,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda f: f.__name__)
def test_a_forged_tree_is_rendered_anew(forge: Callable[[Path], None], root: Path) -> None:
    """The hashes in the index are right; the bytes decide."""
    before = snapshot(root / "out")
    forge(root)
    if forge is not other_hashes_alone:
        assert gpugen("render", "--check", cwd=root).code == 3
    assert gpugen("render", cwd=root).code == 0
    after = {path: it for path, it in snapshot(root / "out").items() if it != "kind 40000"}
    assert after == {path: it for path, it in before.items() if it != "kind 40000"}
    assert gpugen("render", "--check", cwd=root).code == 0


def in_out_itself(root: Path) -> str:
    (root / "out/README").write_text("mine\n")
    return "out/README"


def a_folder_without_an_index(root: Path) -> str:
    (root / "out/other/ansible").mkdir(parents=True)
    (root / "out/other/ansible/site.yml").write_text("mine\n")
    return "out/other/"


def deep_in_a_cluster(root: Path) -> str:
    put(root, "ansible/library/command.py", b"mine\n", listed=False)
    return "out/lab/ansible/library/"


def beside_files_of_ours(root: Path) -> str:
    put(root, "ansible/inventory/group_vars/mine.yml", b"mine\n", listed=False)
    return "out/lab/ansible/inventory/group_vars/mine.yml"


def a_link(root: Path) -> str:
    (root / "out/link").symlink_to("lab")
    return "out/link"


def a_link_to_nowhere(root: Path) -> str:
    (root / "out/link").symlink_to("nowhere")
    return "out/link"


def a_link_in_a_cluster(root: Path) -> str:
    (root / "out/lab/ansible/link").symlink_to("/etc/passwd")
    return "out/lab/ansible/link"


def a_fifo(root: Path) -> str:
    os.mkfifo(root / "out/pipe")
    return "out/pipe"


def a_hidden_file(root: Path) -> str:
    (root / "out/.envrc").write_text("mine\n")
    return "out/.envrc"


def in_the_folder_of_locks(root: Path) -> str:
    (root / "out/.gpugen").mkdir()
    (root / "out/.gpugen/evil.yml").write_text("mine\n")
    return "out/.gpugen/evil.yml"


def a_link_for_the_folder_of_locks(root: Path) -> str:
    (root / "out/.gpugen").symlink_to("/tmp")
    return "out/.gpugen"


def an_index_under_a_name_that_no_cluster_has(root: Path) -> str:
    name = "out/$(touch x)"
    (root / name).mkdir()
    (root / name / ".gpugen-index").mkdir()
    (root / name / ".gpugen-index/cluster").write_bytes((root / INDEX).read_bytes())
    return f"{name}/"


FOREIGN = [
    an_index_under_a_name_that_no_cluster_has,
    in_out_itself,
    a_folder_without_an_index,
    deep_in_a_cluster,
    beside_files_of_ours,
    a_link,
    a_link_to_nowhere,
    a_link_in_a_cluster,
    a_fifo,
    a_hidden_file,
    in_the_folder_of_locks,
    a_link_for_the_folder_of_locks,
]


@pytest.mark.parametrize("plant", FOREIGN, ids=lambda f: f.__name__)
def test_what_is_foreign_is_reported_and_never_touched(
    plant: Callable[[Path], str], root: Path
) -> None:
    name = plant(root)
    before = snapshot(root / "out")
    check = gpugen("render", "--check", cwd=root)
    assert check.code == 3
    assert f"{name}: foreign" in check.err
    for option in ("--force", "--prune", "--quiet"):
        said = gpugen("render", option, cwd=root)
        assert said.code == 0
        assert "warning [output-foreign]" in said.err
        assert name.removesuffix("/") in said.err
    assert snapshot(root / "out") == before


def test_foreign_files_below_a_cluster_whose_spec_is_gone(root: Path) -> None:
    (root / "out/lab/notes").write_text("mine\n")
    gpugen("init", root, "--cluster", "train")
    gpugen("render", "--quiet", cwd=root)
    (root / "inventories/lab/cluster.yaml").unlink()
    check = gpugen("render", "--check", cwd=root)
    assert check.code == 3
    assert "out/lab/notes: foreign" in check.err


def test_names_of_files_drive_no_terminal(root: Path) -> None:
    (root / "out/\x1b[2J\u202e").write_text("mine\n")
    for arguments in (["--check"], ["--diff"], [], ["--check", "-o", "github"]):
        answer = gpugen("render", *arguments, cwd=root)
        assert "[2J" in answer.err
        assert "\x1b" not in answer.out + answer.err
        assert "\u202e" not in answer.out + answer.err


def test_empty_folders_are_no_difference(root: Path) -> None:
    """Git does not see them."""
    (root / "out/empty/empty").mkdir(parents=True)
    assert gpugen("render", "--check", cwd=root).code == 0


def test_one_cluster_is_compared_alone(root: Path) -> None:
    """What it costs does not depend on the fleet, so what stands beside it is not looked at."""
    in_out_itself(root)
    assert gpugen("render", "--check", "lab", cwd=root).code == 0
    deep_in_a_cluster(root)
    assert gpugen("render", "--check", "lab", cwd=root).code == 3


def test_a_thousand_foreign_files_are_one_finding(root: Path) -> None:
    for number in range(1000):
        (root / f"out/{number}").write_text("mine\n")
    said = gpugen("render", cwd=root).err
    assert "1000 paths" in said
    assert len(said) < 2000
