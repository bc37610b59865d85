"""Labels, taints and the wait of a host's node; nothing where no cluster is named."""

from __future__ import annotations

import pytest

from support.hosts_half import VARIABLES, loaded, rendered, roles_of, variables
from support.specs import MIG_POOL


def test_without_a_context_the_cluster_is_left_alone() -> None:
    tree = rendered({"/access": {}})
    assert "gpu_node" not in roles_of(tree)
    names = [key for path in tree.below(VARIABLES) for key in loaded(tree, path)]
    assert not [name for name in names if name.startswith("gpu_node_")]


def test_labels_of_the_pool_and_of_its_components() -> None:
    found = variables({**MIG_POOL, "/pools/0/labels": {"lab.example/tier": "gold"}})
    labels = dict(found["gpu_node_labels"])
    assert labels.pop("nvidia.com/mig.config").startswith("a100-")
    assert labels == {"gpugen/pool": "a100", "lab.example/tier": "gold"}
    assert found["gpu_node_initial_labels"]["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert found["gpu_node_mig_manager"] == "mig-manager-a100"
    assert variables()["gpu_node_mig_manager"] == ""


def test_the_wait_is_for_what_the_algebra_predicts() -> None:
    shared = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 3}, "rename": True}
    found = variables({"/pools/0/sharing": shared})
    assert found["gpu_node_resources"] == {"nvidia.com/gpu.shared": 12}
    assert found["gpu_node_plugin"] == "device-plugin-a100"


@pytest.mark.parametrize("distribution", ["k3s", "rke2"])
def test_where_the_agent_reads_drop_ins_the_registration_is_ours(distribution: str) -> None:
    tree = rendered({"/kubernetes/distribution": distribution})
    assert "join again" not in tree["ansible/README.md"].decode()
    file = loaded(tree, f"{VARIABLES}/all.yml")["gpu_node_registration_file"]
    assert file == f"/etc/rancher/{distribution}/config.yaml.d/90-gpugen.yaml"
