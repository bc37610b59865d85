"""What clusters of one repository must not share."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.commands import gpugen

UID = "5f1c2b34-0000-4000-8000-00000000000{}"


def cluster(root: Path, name: str, hosts: str, access: str = "", more: str = "") -> None:
    """Write a cluster of the starter with other hosts and another access."""
    if not (root / "inventories" / name).exists():
        assert gpugen("init", root, "--cluster", name).code == 0
    path = root / f"inventories/{name}/cluster.yaml"
    head = re.sub(r"(?ms)^access:.*?(?=^hostDefaults)", "", path.read_text())
    path.write_text(
        head.partition("pools:\n")[0]
        + f"access: {{{access}}}\n{more}pools:\n  - name: a\n    gpu: {{model: l4, count: 1}}\n"
        f"    hosts: {hosts}\n"
    )


def told(root: Path, *arguments: str) -> list[dict[str, str]]:
    found = json.loads(gpugen(*arguments, "-o", "json", cwd=root).out)["findings"]
    return [finding for finding in found if finding["id"].startswith("fleet-")]


SAME = {
    "a name": ("[gpu-1.x.example]", "[gpu-1.x.example]"),
    "another case": ("[gpu-1.x.example]", "[GPU-1.x.example]"),
    "two ranges": ('["gpu-[01:09].x.example"]', '["gpu-0[5:7].x.example"]'),
    "a range and a name": ('["gpu-[01:09].x.example"]', "[gpu-09.x.example]"),
    "a short name": ("[gpu-1]", "[gpu-1]"),
    "an address": ("[{name: a, address: 10.0.0.1}]", "[{name: b, address: 10.0.0.1}]"),
    "one address, two spellings": (
        "[{name: a, address: 'fd00::1'}]",
        "[{name: b, address: 'fd00:0:0:0::0001'}]",
    ),
    "a name that is the other's address": (
        "[gpu-1.x.example]",
        "[{name: b, address: gpu-1.x.example}]",
    ),
    "a full name with two addresses": (
        "[{name: gpu-1.x.example, address: 10.0.0.1}]",
        "[{name: gpu-1.x.example, address: 10.0.0.2}]",
    ),
    "a short name, one address": ("[gpu-1]", "[{name: gpu-1, address: 10.0.0.1}]"),
    "one port, stated once": (
        "[{name: a, address: 10.0.0.1}]",
        "[{name: b, address: 10.0.0.1, ssh: {port: 22}}]",
    ),
    "one address behind one bastion": (
        "[{name: a, address: 10.0.0.1, ssh: {proxyJump: ['ops@bastion.x']}}]",
        "[{name: b, address: 10.0.0.1, ssh: {proxyJump: ['root@bastion.x:22']}}]",
    ),
}
OTHER = {
    "one address behind two bastions": (
        "[{name: a, address: 10.0.0.1, ssh: {proxyJump: [bastion.x]}}]",
        "[{name: b, address: 10.0.0.1, ssh: {proxyJump: [bastion.y]}}]",
    ),
    "a short name behind two bastions": (
        "[{name: gpu-1, ssh: {proxyJump: [bastion.x]}}]",
        "[{name: gpu-1, ssh: {proxyJump: [bastion.y]}}]",
    ),
    "names": ("[gpu-1.x.example]", "[gpu-1.y.example]"),
    "ranges": ('["gpu-[01:09].x.example"]', '["gpu-[10:19].x.example"]'),
    "short names with addresses": (
        "[{name: gpu-1, address: 10.0.0.1}]",
        "[{name: gpu-1, address: 10.0.0.2}]",
    ),
    "ports of one address": (
        "[{name: a, address: 10.0.0.1}]",
        "[{name: b, address: 10.0.0.1, ssh: {port: 2222}}]",
    ),
}


@pytest.mark.parametrize("hosts", SAME.values(), ids=SAME)
def test_one_host_in_two_clusters_is_an_error(hosts: tuple[str, str], tmp_path: Path) -> None:
    cluster(tmp_path, "a", hosts[0])
    cluster(tmp_path, "b", hosts[1])
    for arguments in (["validate"], ["validate", "b", "a"], ["render"], ["render", "--check"]):
        (found,) = told(tmp_path, *arguments)
        assert (found["id"], found["severity"]) == ("fleet-same-host", "error")
        assert found["path"].startswith("inventories/")
        other = "ab".replace(found["path"].split("/")[1], "")
        assert f"(inventories/{other}/cluster.yaml:" in found["message"]
        assert gpugen(*arguments, cwd=tmp_path).code == 1
    assert not (tmp_path / "out").exists()
    assert told(tmp_path, "validate", "a") == []
    assert gpugen("render", "a", cwd=tmp_path).code == 0


@pytest.mark.parametrize("hosts", OTHER.values(), ids=OTHER)
def test_two_hosts_are_two(hosts: tuple[str, str], tmp_path: Path) -> None:
    cluster(tmp_path, "a", hosts[0])
    cluster(tmp_path, "b", hosts[1])
    assert told(tmp_path, "validate") == []


def test_a_copied_cluster_is_one_finding(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        cluster(tmp_path, name, '["gpu-[001:900].x.example", "old-[1:9].x.example"]')
    first, second = told(tmp_path, "validate")
    assert "'gpu-001.x.example' of cluster 'b' is also in cluster 'a'" in first["message"]
    assert "and 908 more of its hosts are" in first["message"]
    assert "of cluster 'c'" in second["message"]


def test_a_control_plane_host_is_a_host(tmp_path: Path) -> None:
    control = (
        "controlPlane: {hosts: [gpu-1.x.example]}\ncomponents: {scheduler: {binPacking: true}}\n"
    )
    cluster(tmp_path, "a", "[gpu-1.x.example]")
    cluster(tmp_path, "b", "[gpu-2.x.example]", more=control)
    (found,) = told(tmp_path, "validate")
    assert found["pointer"] == "/controlPlane/hosts/0"


def test_one_uid_in_two_clusters_is_an_error(tmp_path: Path) -> None:
    uid = UID.format(1)
    cluster(tmp_path, "a", "[a-1.x]", f"kubeconfigContext: a, clusterUID: {uid}")
    cluster(tmp_path, "b", "[b-1.x]", f"kubeconfigContext: b, clusterUID: {uid}")
    (found,) = told(tmp_path, "validate")
    assert (found["id"], found["severity"]) == ("fleet-same-cluster-uid", "error")
    assert found["pointer"] == "/access/clusterUID"
    assert "'a' (inventories/a/cluster.yaml:" in found["message"]


@pytest.mark.parametrize("uids", [(0, 0), (1, 0), (0, 1), (1, 2)])
def test_one_context_is_a_warning_without_a_uid(uids: tuple[int, int], tmp_path: Path) -> None:
    for name, uid in zip("ab", uids, strict=True):
        proof = f", clusterUID: {UID.format(uid)}" if uid else ""
        cluster(tmp_path, name, f"[{name}-1.x]", f"kubeconfigContext: lab{proof}")
    found = told(tmp_path, "validate")
    if all(uids):
        assert found == []
        return
    assert [(f["id"], f["severity"]) for f in found] == [("fleet-same-context", "warning")]
    assert gpugen("validate", cwd=tmp_path).code == 0
    assert gpugen("validate", "--strict", cwd=tmp_path).code == 1


def test_too_many_hosts_are_counted_and_not_listed(tmp_path: Path) -> None:
    for number in range(26):
        cluster(tmp_path, f"c{number}", f'["h{number}-[1:20000].x"]')
    found = told(tmp_path, "validate")
    assert [f["id"] for f in found] == ["fleet-too-many-hosts"]
    assert "have 520000 hosts together" in found[0]["message"]
