"""The real programs with the tokens of their accounts and the configuration that was rendered.

Node feature discovery and GPU feature discovery run here, the second scheduler in
test_scheduling_second.py. What they asked for stands in the server's audit log: nothing in vain,
and all that they may. Not run: the MIG manager, whose version cannot be had as a module; and the
DCGM exporter, which needs DCGM. Their rights are compared with the table only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.account_rights import FEATURES, MASTER_LEASE, RIGHTS, WORKLOADS, without_workloads
from support.lab import models
from support.lab import rendered as taken
from support.lab.cluster import containers
from support.lab.cluster.api import Api, Object
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP, Simulate
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program, free_port
from support.lab.cluster.rights import asked, mark, written
from support.lab.cluster.trees import Rendered, example
from support.lab.laboratory import Laboratory
from support.lab.node import boot, node_of

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]

Find = Callable[[str], Path]
DEVICES = "host-sys/bus/pci/devices"  # below the worker's root


@pytest.fixture
def before(plane: Plane) -> int:
    """Return where the audit log ended before the test."""
    return mark(plane)


@pytest.fixture
def master(
    spaces: None,
    plane: Plane,
    delivery: Delivery,
    upstream: Find,
    simulate: Simulate,
    tmp_path: Path,
    before: int,
) -> Iterator[Program]:
    """Bring the tree of ``lab``, bare nodes for it, and the real nfd-master."""
    tree = example("lab")
    delivery.deliver(without_workloads(tree))
    for node in simulate("lab", "--nodes", "1"):
        plane.api.post("/api/v1/nodes", _bare(node))
    leases = "/apis/coordination.k8s.io/v1/namespaces"
    plane.api.delete(f"{leases}/{tree.spec.namespaces.controllers}/leases/{MASTER_LEASE}")
    own = container_of(plane, tree, "nfd-master", "gpu-t4-01")
    with _start(plane, own, tmp_path / "master", upstream) as program:
        yield program


def test_worker_finds_the_vendor_and_master_labels_the_node(
    plane: Plane, before: int, master: Program, upstream: Find, tmp_path: Path
) -> None:
    """The label by which charts of others find GPU nodes, which ``simulate`` predicts."""
    tree, node, root = example("lab"), "gpu-nb-01", tmp_path / "worker"
    put_device(root / DEVICES / "0000:07:00.0", vendor="0x10de")
    label = "feature.node.kubernetes.io/pci-10de.present"
    own = container_of(plane, tree, "nfd-worker", node)
    with _start(plane, own, root, upstream):
        master.wait_for("label", lambda: _labels(plane.api, node).get(label) == "true")
    put_device(root / DEVICES / "0000:08:00.0", vendor="0x1002")
    with _start(plane, own, root, upstream) as worker:
        other = label.replace("10de", "1002")
        master.wait_for("label", lambda: _labels(plane.api, node).get(other) == "true")
        spaces = tree.spec.namespaces
        assert_no_more_than_asked_for(plane, "nfd-worker", spaces.agents, before, worker.output)
    assert_no_more_than_asked_for(plane, "nfd-master", spaces.controllers, before, master.output)
    assert _labels(plane.api, "gpu-t4-01").get(label) is None


@pytest.mark.parametrize(
    ("pool_name", "node", "verb"),
    [("notebooks", "gpu-nb-01", "update"), ("inference", "gpu-t4-01", "create")],
)
def test_predicted_labels_reach_the_node(
    plane: Plane,
    before: int,
    master: Program,
    laboratory: Laboratory,
    pool_name: str,
    node: str,
    verb: str,
) -> None:
    """Real GPU feature discovery and real nfd-master, each with its own token: the whole way."""
    tree = example("lab")
    pool = next(p for p in tree.spec.pools if p.name == pool_name)
    name = f"gpu-feature-discovery-{pool_name}"
    own = container_of(plane, tree, name, node)
    if verb == "update":  # it has run before
        _post_feature(plane.api, tree, f"nvidia-features-for-{node}", node)
    here = node_of(pool, models.played(pool.gpu))
    sandbox = laboratory.sandbox
    boot(sandbox, here, sees_whole_pci=taken.container(tree.plan, name).has_sys_admin)
    assert laboratory.partition(tree.plan, pool, here).complaint == ""
    for path, text in own.files.items():
        sandbox.write(f"/{path}", text)
    environment = {k: v for k, v in own.environment.items() if k != "PATH"}
    process = sandbox.start(["gpu-feature-discovery"], environment)
    try:
        expected = pool.prediction.labels
        master.wait_for("labels", lambda: expected.items() <= _labels(plane.api, node).items(), 20)
    finally:
        process.terminate()
        output = process.communicate(timeout=120)[1]
    found = {
        key: value
        for key, value in _labels(plane.api, node).items()
        if key.startswith("nvidia.com/")
    }
    unknown = set(found) - set(expected)
    assert unknown <= set(pool.prediction.unknown_labels)
    answers = asked(plane, tree.spec.namespaces.agents, "gpu-feature-discovery", before)
    assert all(answers.values()), output
    used = {(verb, resource) for _, verb, resource in answers}
    assert used == {("get", FEATURES), (verb, FEATURES), ("get", "pods")}


def test_a_label_that_is_too_long_is_left_out_alone(plane: Plane, master: Program) -> None:
    """What no node can carry, though it was asked for; the labels beside it arrive."""
    node, long = "gpu-nb-01", "x" * 64
    labels = {"nvidia.com/gpu.product": long, "nvidia.com/gpu.count": "4"}
    _post_feature(plane.api, example("lab"), "asks", node, labels)
    master.wait_for("label", lambda: "nvidia.com/gpu.count" in _labels(plane.api, node))
    assert "nvidia.com/gpu.product" not in _labels(plane.api, node)


def test_collector_deletes_what_is_left_of_a_node(
    spaces: None,
    plane: Plane,
    before: int,
    delivery: Delivery,
    upstream: Find,
    simulate: Simulate,
    tmp_path: Path,
) -> None:
    tree = example("lab")
    delivery.deliver(without_workloads(tree))
    (node, *_) = simulate("lab", "--nodes", "1")
    plane.api.post("/api/v1/nodes", _bare(node))
    for name in (node["metadata"]["name"], "gone"):
        folder = _post_feature(plane.api, tree, name, name)
    own = container_of(plane, tree, "nfd-gc", node["metadata"]["name"])
    with _start(plane, own, tmp_path, upstream) as program:
        program.wait_for("deletion", lambda: plane.api.find(f"{folder}/gone") is None)
        plane.api.delete(f"/api/v1/nodes/{node['metadata']['name']}")
        program.wait_for("deletion", lambda: not plane.api.items(folder))
        controllers = tree.spec.namespaces.controllers
        assert_no_more_than_asked_for(plane, "nfd-gc", controllers, before, program.output)


# Asked for without need: nothing that is deployed makes such objects, and the program goes on.
WITHHELD = {("nfd-gc", "noderesourcetopologies.topology.node.k8s.io")}


def assert_no_more_than_asked_for(
    plane: Plane, account: str, home: str, since: int, log: str
) -> None:
    """Fail where a program was refused anything, or never asked for what it may do."""
    found = asked(plane, home, account, since)
    vain = {request for request, is_allowed in found.items() if not is_allowed}
    vain = {request for request in vain if (account, request[2]) not in WITHHELD}
    assert not vain, f"{account} asked in vain for {vain}\n{log[-2000:]}"
    used = {(verb, what) for _, verb, what in found if (account, what) not in WITHHELD}
    assert used == {(verb, resource) for _, (verb, resource, _) in written(RIGHTS[account], {})}


def _post_feature(
    api: Api, tree: Rendered, name: str, node: str, asked_for: Mapping[str, str] | None = None
) -> str:
    """Create a NodeFeature that asks for labels of a node, and return its folder."""
    labels = {"nfd.node.kubernetes.io/node-name": node}
    feature = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {"name": name, "namespace": tree.spec.namespaces.agents, "labels": labels},
        "spec": {"labels": dict(asked_for or {})},
    }
    folder = api.path(feature).rpartition("/")[0]
    api.post(folder, feature)
    return folder


def put_device(folder: Path, *, vendor: str) -> None:
    """Write the files of a 3D controller that the worker demands."""
    folder.mkdir(parents=True)
    numbers = {"class": "0x030200", "vendor": vendor, "device": "0x20b0"}
    for name, number in {
        **numbers,
        "subsystem_vendor": vendor,
        "subsystem_device": "0x144e",
    }.items():
        (folder / name).write_text(f"{number}\n")


def container_of(plane: Plane, tree: Rendered, name: str, node: str) -> containers.Container:
    """Create a pod of a workload on a node and return its container."""
    workload = next(o for o in tree.of_kind(*WORKLOADS) if o["metadata"]["name"] == name)
    return containers.container(plane, tree, workload, node)


def _start(plane: Plane, own: containers.Container, root: Path, upstream: Find) -> Program:
    """Start a program of node feature discovery; its port would be its pod's own."""
    root.mkdir(exist_ok=True)
    return containers.start(plane, own, root, upstream(own.command[0]), [f"-port={free_port()}"])


def _labels(api: Api, node: str) -> dict[str, str]:
    labels: dict[str, str] = api.get(f"/api/v1/nodes/{node}")["metadata"]["labels"]
    return labels


def _bare(node: Object) -> dict[str, Any]:
    """Return a simulated node as it is before anything has been discovered on it."""
    labels = {
        key: value
        for key, value in node["metadata"]["labels"].items()
        if not key.startswith(("nvidia.com/", "feature.node.kubernetes.io/"))
    }
    return {**node, "metadata": {**node["metadata"], "labels": labels}}
