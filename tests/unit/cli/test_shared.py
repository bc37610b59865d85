"""The collection once in a repository: renewed by any cluster, guarded like any output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpugen.hosts import collection
from gpugen.write.index import sha256
from support.commands import gpugen
from support.trees import snapshot

HEAD = "apiVersion: gpugen/v1\nkind: Repository\n"
PLAY = f"{collection.NAMESPACE}/playbooks/site.yml"
SERVED = f"{collection.NAMESPACE}/playbooks/vars/contract.yml"
VARIABLES = "ansible/inventory/group_vars/all.yml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a rendered repository of two clusters."""
    assert gpugen("init", tmp_path).code == 0
    assert gpugen("init", tmp_path, "--cluster", "other").code == 0
    spec = tmp_path / "inventories/other/cluster.yaml"
    spec.write_text(spec.read_text().replace(".example", ".other.example"))
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def shared(root: Path) -> Path:
    return root / "out/_hosts"


def rewrite(folder: Path, path: str, content: bytes) -> None:
    """Put another content of a file there, as if gpugen had rendered it."""
    file = folder / path
    before, after = sha256(file.read_bytes()), sha256(content)
    file.write_bytes(content)
    for index in (folder / ".gpugen-index").iterdir():
        index.write_text(index.read_text().replace(before, after))


def delete_spec(root: Path, name: str) -> None:
    (root / f"inventories/{name}/cluster.yaml").unlink()


def test_it_is_there_once_byte_by_byte(root: Path) -> None:
    found = snapshot(shared(root) / collection.NAMESPACE)
    assert {p: c for p, c in found.items() if isinstance(c, bytes)} == dict(collection.files())
    for name in ("lab", "other"):
        assert not (root / f"out/{name}/ansible/collections").exists()
        settings = (root / f"out/{name}/ansible/ansible.cfg").read_text()
        assert "\ncollections_path = ../../_hosts\n" in settings
    index = (shared(root) / ".gpugen-index/cluster").read_text()
    assert index.count(f" {collection.NAMESPACE}/") == len(collection.files())


def test_an_unchanged_run_says_nothing_of_it(root: Path) -> None:
    answer = gpugen("render", cwd=root)
    assert (answer.code, "_hosts" in answer.err) == (0, False)
    assert gpugen("render", "--check", cwd=root).code == 0


def test_any_cluster_renews_it(root: Path) -> None:
    (shared(root) / PLAY).unlink()
    assert gpugen("render", "--check", "lab", cwd=root).code == 3
    answer = gpugen("render", "lab", cwd=root)
    assert "_hosts: 1 restored" in answer.err
    assert (shared(root) / PLAY).read_bytes() == dict(collection.files())["playbooks/site.yml"]


def test_an_edit_is_refused_until_it_is_named(root: Path) -> None:
    (shared(root) / PLAY).write_text("- hosts: all\n")
    before = snapshot(root / "out")
    check = gpugen("render", "--check", cwd=root)
    assert check.code == 3
    assert f"out/_hosts/{PLAY}: edited" in check.err
    assert "-- hosts: all" in gpugen("render", "--diff", "lab", cwd=root).out
    answer = gpugen("render", cwd=root)
    assert answer.code == 5
    assert "not written by gpugen, or edited since" in answer.err
    assert snapshot(root / "out") == before
    answer = gpugen("render", "--overwrite", f"out/_hosts/{PLAY}", cwd=root)
    assert (answer.code, "_hosts: 1 overwritten" in answer.err) == (0, True)


def test_foreign_files_in_it_are_reported_and_stay(root: Path) -> None:
    mine = shared(root) / collection.NAMESPACE / "plugins/modules/mine.py"
    mine.write_text("mine\n")
    assert gpugen("render", "--check", cwd=root).code == 3
    assert "modules/mine.py" in gpugen("render", cwd=root).err
    assert mine.read_text() == "mine\n"


def test_a_link_in_its_place_is_not_followed(root: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    shared(root).rename(aside)
    shared(root).symlink_to(aside)
    before = snapshot(aside)
    assert gpugen("render", cwd=root).code == 5
    assert snapshot(aside) == before


def test_a_newer_gpugen_is_not_reverted(root: Path) -> None:
    index = shared(root) / ".gpugen-index/cluster"
    index.write_text(index.read_text().replace("gpugen 0.1.0", "gpugen 9.0.0"))
    answer = gpugen("render", "lab", cwd=root)
    assert answer.code == 4
    assert "out/_hosts was written by gpugen 9.0.0" in answer.err


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_another_contract_names_the_clusters_that_it_leaves_behind(
    root: Path, arguments: tuple[str, ...]
) -> None:
    """As after a gpugen whose collection served another one."""
    now = f"gpugen_contract_served: {collection.contract()}".encode()
    served = (shared(root) / SERVED).read_bytes()
    rewrite(shared(root), SERVED, served.replace(now, now[:-1] + b"0"))
    other = root / "out/other"
    stated = (other / VARIABLES).read_bytes()
    rewrite(other, VARIABLES, stated.replace(b"gpugen_contract: 1", b"gpugen_contract: 0"))
    answer = gpugen("render", "lab", *arguments, "-o", "json", cwd=root)
    (found,) = (f for f in json.loads(answer.out)["findings"] if f["id"] == "hosts-contract")
    assert found["severity"] == "warning"
    assert "the variables of other do not follow" in found["message"]
    assert "hosts-contract" not in gpugen("render", *arguments, cwd=root).err


def test_copies_per_cluster_are_upgraded_one_by_one(root: Path) -> None:
    (root / "gpugen.yaml").write_text(f"{HEAD}hostHalf: {{form: vendored}}\n")
    assert gpugen("render", "lab", "--quiet", cwd=root).code == 0
    assert shared(root).exists()  # the other cluster uses it
    copy = root / f"out/lab/ansible/collections/{PLAY}"
    assert copy.read_bytes() == (shared(root) / PLAY).read_bytes()
    assert (
        "\ncollections_path = collections\n" in (root / "out/lab/ansible/ansible.cfg").read_text()
    )
    answer = gpugen("render", cwd=root)
    assert "_hosts: " in answer.err
    assert not shared(root).exists()
    assert gpugen("render", "--check", cwd=root).code == 0
    (root / "gpugen.yaml").unlink()
    assert "role-without-spec" not in gpugen("render", "--check", cwd=root).err
    assert gpugen("render", "--quiet", cwd=root).code == 0
    assert shared(root).exists()
    assert not copy.exists()


def test_an_external_collection_is_required_by_version(root: Path) -> None:
    (root / "gpugen.yaml").write_text(f'{HEAD}hostHalf: {{form: external, version: "0.2.0"}}\n')
    assert gpugen("render", "--quiet", cwd=root).code == 0
    assert not shared(root).exists()
    text = (root / "out/lab/ansible/requirements.yml").read_text()
    assert 'name: gpugen.hosts\n    version: "0.2.0"\n' in text
    assert "://" not in text
    assert "collections_path" not in (root / "out/lab/ansible/ansible.cfg").read_text()


def test_a_cluster_that_leaves_keeps_the_collection_that_it_was_rendered_with(root: Path) -> None:
    old = b"# of the gpugen that rendered it\n" + (shared(root) / PLAY).read_bytes()
    rewrite(shared(root), PLAY, old)
    delete_spec(root, "lab")
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 0, answer.err
    plays = root / "out/lab/ansible"
    assert (plays / "collections" / PLAY).read_bytes() == old
    assert "\ncollections_path = collections\n" in (plays / "ansible.cfg").read_text()
    assert (shared(root) / PLAY).read_bytes() != old
    before = snapshot(root / "out")
    assert "lab: unchanged" in gpugen("render", "--prune", cwd=root).err
    assert snapshot(root / "out") == before
    assert gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root).code == 0
    assert not (root / "out/lab").exists()
    assert gpugen("render", "--check", cwd=root).code == 0


def test_the_last_clusters_leave_with_copies_and_nothing_is_shared(root: Path) -> None:
    for name in ("lab", "other"):
        delete_spec(root, name)
    assert shared(root).exists()
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 0, answer.err
    assert not shared(root).exists()
    for name in ("lab", "other"):
        assert (root / f"out/{name}/ansible/collections/{PLAY}").is_file()


def test_without_prune_a_cluster_without_a_spec_still_finds_its_plays(root: Path) -> None:
    for name in ("lab", "other"):
        delete_spec(root, name)
    gpugen("render", cwd=root)
    assert (shared(root) / PLAY).is_file()
