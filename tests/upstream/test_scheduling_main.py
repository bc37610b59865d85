"""The main scheduler with the rendered file: one process, two profiles, and what each packs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpugen import kube
from support.lab.cluster import workloads
from support.lab.cluster.api import Api
from support.lab.cluster.fixtures import GROUP, Simulate
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program, wait_until
from support.lab.cluster.trees import Rendered, edited

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers", "kwok")]

MAIN, PACKING = "default-scheduler", "gpu-binpack"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
SIZEABLE = {"cpu": "16", "memory": "128Gi"}  # an eighth of a node with eight GPUs
NODES = 4


@pytest.fixture
def tree(plane: Plane, simulate: Simulate, tmp_path: Path) -> Iterator[Rendered]:
    """Return an example whose main scheduler packs; its nodes are in the cluster."""
    control_plane = {"hosts": ["cp-[1:3].train.example"]}
    found = edited("train", {"/controlPlane": control_plane, "/components/scheduler": {}}, tmp_path)
    for node in simulate("train", "--nodes", str(NODES), root=tmp_path):
        plane.api.post("/api/v1/nodes", node)
    wait_until("ready nodes", lambda: are_ready(plane.api))
    yield found
    workloads.clear(plane.api)
    for node in plane.api.items("/api/v1/nodes"):
        plane.api.delete(f"/api/v1/nodes/{node['metadata']['name']}")


def are_ready(api: Api) -> bool:
    taints = [t for n in api.items("/api/v1/nodes") for t in n["spec"].get("taints", ())]
    return not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)


def placed(api: Api, tree: Rendered, scheduler: str) -> list[int]:
    """Place eight pods of one GPU each; return how many each used node has."""
    (pool,) = tree.spec.pools
    asks = {"nvidia.com/gpu": "1", **SIZEABLE}
    pods = (workloads.pod(f"p-{n}", asks, pool=pool, scheduler=scheduler) for n in range(8))
    found = sorted(workloads.fill(api, pods).values())
    workloads.clear(api)
    return found


def test_who_names_the_profile_is_packed_and_nobody_else(
    plane: Plane, tree: Rendered, upstream: Callable[[str], Path], tmp_path: Path
) -> None:
    """DIST-10, DIST-11: it reaches the server by the file alone, and leads by the usual lease."""
    own = tree.plan.control_plane_variables["kube_scheduler_configuration"]
    connection = {"clientConnection": {"kubeconfig": str(plane.kubeconfig("scheduler"))}}
    config = tmp_path / "kube-scheduler.yaml"
    config.write_text(kube.to_yaml({**own, **connection}))
    plane.api.delete(LEASE)
    flags = [f"--config={config}", "--bind-address=127.0.0.1", "--secure-port=0"]
    with Program("main-scheduler", [upstream("kube-scheduler"), *flags], tmp_path):
        assert placed(plane.api, tree, PACKING) == [8]
        assert placed(plane.api, tree, MAIN) == [2] * NODES
        assert plane.api.get(LEASE)["spec"]["holderIdentity"]
