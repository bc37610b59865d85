"""Hosts, pools and clusters that leave are told with the command to run first."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path

import pytest

from gpugen import write as stage
from gpugen.changes.inventories import Inventory, read
from gpugen.changes.limits import FILE, limit
from gpugen.hosts import collection
from support.commands import gpugen
from support.trees import snapshot

SPEC = "inventories/lab/cluster.yaml"
POOL = "  - name: {}\n    gpu: {{model: l4, count: 1}}\n    hosts: {}\n"


def write(root: Path, *pools: tuple[str, str]) -> None:
    """Write a spec with these pools: names and their hosts."""
    text = (root / SPEC).read_text().partition("pools:\n")[0]
    (root / SPEC).write_text(text + "pools:\n" + "".join(POOL.format(*pool) for pool in pools))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a rendered repository of two pools."""
    assert gpugen("init", tmp_path).code == 0
    write(tmp_path, ("a", '["a-[01:16].x.example"]'), ("b", "[b-1.x.example, b-2.x.example]"))
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def told(root: Path, *arguments: str) -> list[dict[str, str]]:
    """Return what a run says that nothing writes."""
    answer = gpugen("render", *arguments, "-o", "json", cwd=root)
    return [f for f in json.loads(answer.out)["findings"] if f["id"].endswith("-without-spec")]


def test_a_shorter_range_names_its_hosts_and_the_command(root: Path) -> None:
    write(root, ("a", '["a-[01:08].x.example"]'), ("b", "[b-1.x.example, b-2.x.example]"))
    (found,) = told(root, "--check")
    assert (found["id"], found["severity"]) == ("host-without-spec", "warning")
    assert "8 hosts (a-09.x.example, a-10.x.example" in found["message"]
    assert "of pool 'a' leave the spec" in found["message"]
    names = ",".join(f"a-{n:02}.x.example" for n in range(9, 17))
    assert found["hint"].endswith(
        f"ansible-playbook remove.yml --limit {names} -e gpugen_remove=true"
    )
    assert (found["path"], found["line"]) == (SPEC, len((root / SPEC).read_text().splitlines()) - 3)
    for option in ("--check", "--diff", "--quiet"):
        assert "warning [host-without-spec]" in gpugen("render", option, cwd=root).err
    assert "without-spec" not in gpugen("render", cwd=root).err


def test_strict_keeps_the_old_tree(root: Path) -> None:
    write(root, ("a", '["a-[01:15].x.example"]'), ("b", "[b-1.x.example, b-2.x.example]"))
    before = snapshot(root / "out")
    answer = gpugen("render", "--strict", cwd=root)
    assert answer.code == 1
    assert answer.err.endswith("; nothing written\n")
    assert snapshot(root / "out") == before


def test_a_host_that_moves_to_another_pool_stays(root: Path) -> None:
    write(root, ("a", '["a-[01:16].x.example", b-1.x.example]'), ("b", "[b-2.x.example]"))
    assert told(root) == []


def test_a_pool_leaves_with_its_hosts(root: Path) -> None:
    write(root, ("b", "[b-1.x.example, b-2.x.example]"))
    (found,) = told(root, "--check")
    assert found["id"] == "pool-without-spec"
    assert "remain on 16 hosts" in found["message"]
    assert "remove.yml --limit pool_a -e gpugen_remove=true" in found["hint"]


def test_a_pool_that_is_renamed_keeps_its_hosts(root: Path) -> None:
    write(root, ("c", '["a-[01:16].x.example"]'), ("b", "[b-1.x.example, b-2.x.example]"))
    (found,) = told(root, "--check")
    assert found["id"] == "pool-without-spec"
    assert "its hosts are in 'c' now" in found["message"]
    assert "cordon -l gpugen/pool=a;" in found["hint"]
    assert "ansible-playbook site.yml --limit pool_c;" in found["hint"]


def test_a_host_that_is_renamed_leaves(root: Path) -> None:
    write(root, ("a", '["a-[01:16].x.example"]'), ("b", "[b-1.x.example, b-3.x.example]"))
    (found,) = told(root, "--check")
    assert "1 host (b-2.x.example) of pool 'b' leaves the spec" in found["message"]


def test_a_cluster_leaves_with_the_command(root: Path) -> None:
    gpugen("init", root, "--cluster", "other")
    gpugen("render", "--quiet", cwd=root)
    (root / SPEC).unlink()
    (root / SPEC).parent.rmdir()
    (found,) = told(root)
    assert found["id"] == "output-without-spec"
    assert "its changes remain on 18 hosts" in found["message"]
    assert "in out/lab/ansible: ansible-playbook remove.yml -e gpugen_remove=true" in found["hint"]


def test_a_cluster_that_is_renamed_keeps_its_hosts(root: Path) -> None:
    (root / "inventories/lab").rename(root / "inventories/berlin")
    path = root / "inventories/berlin/cluster.yaml"
    path.write_text(path.read_text().replace("name: lab", "name: berlin"))
    (found,) = told(root)
    assert "its 18 hosts are in other clusters now" in found["message"]
    assert "remove.yml" not in found["hint"].partition(";")[0]


def test_the_last_removal_survives_until_the_hosts_are_clean(root: Path) -> None:
    gpugen("init", root, "--cluster", "other")
    gpugen("render", "--quiet", cwd=root)
    before = snapshot(root / "out/lab/ansible")
    (root / SPEC).unlink()
    answer = gpugen("render", "--prune", cwd=root)
    assert answer.code == 0
    assert "ansible/ is kept" in answer.err
    assert "--prune --hosts-clean lab" in answer.err
    after = snapshot(root / "out/lab/ansible")
    settings = {*before} & {path for path in after if after[path] != before.get(path)}
    assert settings == {"ansible.cfg"}  # which names the copy of the collection
    assert {path for path in after if path not in before and isinstance(after[path], bytes)} == {
        f"collections/{collection.NAMESPACE}/{path}" for path, _ in collection.files()
    }
    assert sorted(p.name for p in (root / "out/lab").iterdir()) == [".gpugen-index", "ansible"]
    listed = stage.listed(root / "out", "lab")
    assert set(listed) == {f"ansible/{p}" for p, it in after.items() if isinstance(it, bytes)}
    again = gpugen("render", "--prune", cwd=root)
    assert (again.code, "lab: unchanged; ansible/ is kept" in again.err) == (0, True)
    assert gpugen("render", "--check", cwd=root).code == 3
    assert gpugen("render", "--prune", "--hosts-clean", "lab", cwd=root).code == 0
    assert not (root / "out/lab").exists()
    assert gpugen("render", "--check", cwd=root).code == 0


def test_an_edited_removal_is_not_kept_as_ours(root: Path) -> None:
    gpugen("init", root, "--cluster", "other")
    (root / SPEC).unlink()
    (root / "out/lab/ansible/remove.yml").write_text("mine\n")
    before = snapshot(root / "out")
    assert gpugen("render", "--prune", cwd=root).code == 5
    after = snapshot(root / "out")
    assert {p: it for p, it in after.items() if p.startswith("lab")} == {
        p: it for p, it in before.items() if p.startswith("lab")
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lab", "--prune"], "do not name clusters"),
        (["--check", "--prune"], "remove one of them"),
        (["--hosts-clean", "lab"], "--hosts-clean needs --prune"),
        (["--prune", "--hosts-clean", "lab"], "is not a cluster without a spec"),
        (["--prune", "--hosts-clean", "../../etc"], "is not a cluster without a spec"),
        (["--diff", "-o", "json"], "--diff prints text"),
    ],
    ids=" ".join,
)
def test_options_that_would_do_nothing(root: Path, arguments: list[str], said: str) -> None:
    answer = gpugen("render", *arguments, cwd=root)
    assert answer.code == 2
    assert said in answer.err


HOSTILE = {
    "no text": b"\xff\xfe",
    "no mapping": b"- a\n- b\n",
    "a bomb": b"a: &a [x, x]\nb: &b [*a, *a]\n",
    "a long line": b"all:\n  children:\n    gpu:\n      children:\n" + b" " * 1_000_000 + b"x:\n",
    "deep": b"{" * 100_000,
    "deep json": b'{"all":' * 50_000,
    "a range without end": b'{"all":{"children":{"gpu":{"children":{"pool_a":{"hosts":'
    b'{"a[1:99999]b[1:99999]":{}}}}}}}}',
    "wrong types": b'{"all":{"children":{"gpu":{"children":{"pool_a":{"hosts":["a"]}}}}}}',
    "numbers": b'{"all":{"children":{"gpu":{"children":[1]}}}}',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_inventory_is_no_inventory(content: bytes) -> None:
    found = read([content])
    assert found is None or not found.everyone


def test_names_of_a_hostile_inventory_are_no_commands(root: Path) -> None:
    path = root / "out/lab/ansible/inventory/pool_b.yml"
    text = path.read_text().replace("b-2.x.example", '"$(touch x);`id`"')
    path.write_text(text.replace("pool_b:", '"pool_$(id)":'))
    for finding in told(root, "--check"):
        assert "$(" not in finding["hint"]
        assert "`" not in finding["hint"]


def test_both_forms_of_the_inventory_are_read() -> None:
    yaml = (
        "# Generated\nall:\n  children:\n    gpu:\n      children:\n        pool_a_b:\n"
        '          hosts:\n            "h-[1:3].x": {}\n            on:\n'
        '              gpugen_host_description: !unsafe "pool_z: {{ x }}"\n'
        "    control_plane:\n      hosts:\n        cp-1: {}\n"
    )
    data = {"all": {"children": {
        "gpu": {"children": {"pool_a_b": {"hosts": {"h-[1:3].x": {}, "on": {"x": "y"}}}}},
        "control_plane": {"hosts": {"cp-1": {}}},
    }}}  # fmt: skip
    found = read([yaml.encode()])
    assert found is not None
    assert found.hosts == {"pool_a_b": ("h-1.x", "h-2.x", "h-3.x", "on")}
    assert found.control_plane == ("cp-1",)
    assert read([json.dumps(data, indent=1).encode()]) == found


@pytest.mark.parametrize(
    "leaving", [range(9, 17), range(500, 1000), range(1, 999), range(7, 1000, 3)]
)
def test_the_limit_means_the_leaving_hosts_and_no_others(leaving: range) -> None:
    hosts = tuple(f"a-{n:04}.x" for n in range(1, 1001))
    names = [f"a-{n:04}.x" for n in leaving]
    groups = {"all", "gpu", "pool_a", "pool_b", "a"}
    old = Inventory(
        {"pool_a": hosts, "pool_b": ("a-1.y",)}, (), frozenset({*hosts, *groups, "a-1.y"})
    )
    found = limit(names, old)
    if found == FILE:
        assert leaving.step == 3
        return
    patterns = found.strip("'").split(",")
    assert len(patterns) <= 40
    matched = {name for p in patterns for name in fnmatch.filter(old.names, p)}
    assert matched == set(names)
