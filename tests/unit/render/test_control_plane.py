"""The control plane in inventory and plays: a group of its own, checked first, changed last."""

from __future__ import annotations

from typing import Any

from gpugen import checks
from gpugen.assemble import assemble
from gpugen.render.hosts import group_variables
from gpugen.render.inventory import inventory
from support.specs import resolved

ROLE = "kube_scheduler"
BOTH = {  # gpu-01 is a GPU host of the minimal spec
    "/controlPlane": {
        "hosts": ["gpu-01.lab.example", {"name": "cp-2.lab.example", "address": "10.0.0.2"}]
    },
    "/components": {"scheduler": {}},
}


def children(changes: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = inventory(resolved(changes))["all"]["children"]
    return found


def test_a_host_may_be_in_a_pool_and_in_the_control_plane() -> None:
    pool = [{"name": "gpu-01.lab.example", "address": "10.0.0.1"}]
    found = children({**BOTH, "/pools/0/hosts": pool})
    assert found["control_plane"]["hosts"] == {
        "gpu-01.lab.example": {},
        "cp-2.lab.example": {"ansible_host": "10.0.0.2"},
    }
    assert found["gpu"] == {"children": {"pool_a100": {"hosts": {}}}}


def test_without_hosts_the_group_is_empty() -> None:
    """Plays name it, and Ansible warns of a name that no inventory has."""
    assert children({})["control_plane"] == {"hosts": {}}
    assert "control_plane" not in group_variables(resolved(), assemble(resolved()))


def test_variables_of_the_scheduler_reach_its_hosts_alone() -> None:
    spec = resolved(BOTH)
    files = group_variables(spec, assemble(spec))
    named = {
        file for file, own in files.items() if any(name.startswith(f"{ROLE}_") for name in own)
    }
    assert named == {"control_plane"}


def test_hosts_of_the_control_plane_are_checked_like_others() -> None:
    lines = ["cp-[3:1].lab.example", {"name": "cp-9", "variables": {"ansible_password": "x"}}]
    spec = resolved({"/controlPlane": {"hosts": lines}, "/components": {"scheduler": {}}})
    found = {finding.id: finding.at for check in checks.discover() for finding in check.run(spec)}
    assert found["hosts-range-wrong"] == "/controlPlane/hosts/0"
    assert found["hosts-variable-not-free"] == "/controlPlane/hosts/1/variables/ansible_password"
