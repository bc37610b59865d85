"""The boot service of the hosts: who applies which layout, what the cluster half carries."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.components import find
from gpugen.components.hosts.mig_service import contribute
from gpugen.model.spec import MigManager
from support.specs import MIG_POOL, resolved

BY_HOST = {**MIG_POOL, "/pools/0/mig/manager": "host"}


def variables(changes: dict[str, Any]) -> dict[str, Any]:
    spec = resolved(changes)
    return dict(contribute(spec, {}).host_variables["a100"])


def test_is_due_where_a_layout_is_whoever_applies_it() -> None:
    """MIG-01: beside the cluster's manager the role sees that no boot service partitions."""
    assert "mig-service" not in resolved().options
    assert "mig-service" in resolved(BY_HOST).options
    assert variables(MIG_POOL) == {"nvidia_mig_manager": "cluster"}


def test_layouts_are_those_of_the_cluster_byte_for_byte() -> None:
    """MIG-02, MIG-08: one code writes both, and the name ends in a hash of the content."""
    spec = resolved(MIG_POOL)
    manager = find("mig-manager").contribute(spec, spec.options["mig-manager"])
    (in_cluster,) = (
        placed.object["data"]["config.yaml"]
        for placed in manager.objects
        if placed.object["metadata"]["name"] == "mig-config-a100"
    )
    own = variables(BY_HOST)
    assert own["nvidia_mig_layouts"] == in_cluster
    assert list(yaml.safe_load(own["nvidia_mig_layouts"])["mig-configs"]) == [
        own["nvidia_mig_config"]
    ]


def test_the_cluster_half_has_no_manager_and_keeps_its_labels() -> None:
    """MIG-01."""
    ours, theirs = assemble(resolved(BY_HOST)), assemble(resolved(MIG_POOL))
    names = {placed.object["metadata"]["name"] for placed in ours.objects}
    assert not any("mig" in name for name in names)
    assert ours.initial_labels["a100"] == {}
    assert "nvidia.com/mig.config" not in ours.node_labels["a100"]
    assert ours.node_labels["a100"].items() <= theirs.node_labels["a100"].items()


@pytest.mark.parametrize("distribution", ["k3s", "rke2", "k0s"])
def test_hosts_cut_by_default_where_the_cluster_must_not(distribution: str) -> None:
    """DIST-19: without a kubelet unit the cluster's manager is refused."""
    spec = resolved({**MIG_POOL, "/kubernetes": {"version": "1.34", "distribution": distribution}})
    assert spec.pools[0].mig.manager is MigManager.HOST
    assert "mig-manager" not in spec.options
    assert contribute(spec, {}).host_variables["a100"]["nvidia_mig_manager"] == "host"


def test_the_version_is_the_releases_or_the_stated_one() -> None:
    """MIG-03."""
    assert variables(BY_HOST)["nvidia_mig_version"] == "0.14.5"
    stated = {**BY_HOST, "/pools/0/host": {"migManager": {"version": "0.15.0"}}}
    assert variables(stated)["nvidia_mig_version"] == "0.15.0"


def test_hooks_follow_the_model_and_draining_the_access() -> None:
    """MIG-04, MIG-06."""
    own = variables(BY_HOST)
    assert own["nvidia_mig_compute_capability"] == "8.0"
    assert own["nvidia_mig_can_drain"] is True
    assert variables({**BY_HOST, "/access": None})["nvidia_mig_can_drain"] is False


def test_pools_without_a_layout_are_left_alone() -> None:
    plain = {"name": "t4", "gpu": {"model": "t4", "count": 2}, "hosts": ["t4-1"]}
    spec = resolved({**BY_HOST, "/pools/1": plain})
    made = contribute(spec, {})
    assert made.host_variables["t4"] == {}
    assert made.cluster_variables == {"nvidia_mig_manager": "none"}
