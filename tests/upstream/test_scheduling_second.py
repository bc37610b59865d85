"""The second scheduler: the real program with the rendered configuration, arguments and token.

It finds all of that where its pod would have it, in a root of its own, and knows the cluster by the
environment only. What it packs, it packs with the weights that were rendered.
"""

from __future__ import annotations

import http.client
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.lab.cluster import containers, workloads
from support.lab.cluster.api import Api
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP, Simulate
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program, free_port, wait_until
from support.lab.cluster.rights import asked, mark
from support.lab.cluster.trees import Item, Rendered, edited

pytestmark = [
    pytest.mark.xdist_group(GROUP),
    pytest.mark.usefixtures("spaces", "controllers", "kwok", "scheduler"),
]

Find = Callable[[str], Path]
NAME = "gpu-scheduler"
MAIN, PACKING = "default-scheduler", "gpu-binpack"
LEASES = "leases.coordination.k8s.io"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
SIZEABLE = {"cpu": "16", "memory": "128Gi"}  # an eighth of a node with eight GPUs
ON = {"/components/scheduler": {"binPacking": True}}
OFF = {
    "/components/scheduler": {"binPacking": False},
    "/components/guardrails": False,  # they would give the main scheduler's pods to the second one
}
NODES = 4


class Bench:
    """A tree without its workloads, simulated nodes, and the scheduler of the tree on demand."""

    def __init__(self, plane: Plane, delivery: Delivery, upstream: Find, folder: Path) -> None:
        self.plane = plane
        self.api: Api = plane.api
        self._delivery = delivery
        self._upstream = upstream
        self._folder = folder
        self._runs = 0

    def bring(self, name: str, edit: Mapping[str, Any], simulate: Simulate) -> Rendered:
        """Deliver an edited example and its nodes, and one that belongs to no pool."""
        tree = edited(name, edit, self._folder)
        items = tuple(i for i in tree.items if i.object["kind"] not in ("DaemonSet", "Deployment"))
        self._delivery.deliver(Rendered(tree.spec, tree.plan, items))
        nodes = simulate(name, "--nodes", str(NODES), root=self._folder)
        for node in [*nodes, workloads.PLAIN_NODE]:
            self.api.post("/api/v1/nodes", node)
        wait_until("ready nodes", self._are_ready)
        return tree

    def _are_ready(self) -> bool:
        taints = [t for n in self.api.items("/api/v1/nodes") for t in n["spec"].get("taints", ())]
        return not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)

    @contextmanager
    def scheduler(self, tree: Rendered) -> Iterator[tuple[Program, int]]:
        """Run the scheduler of a tree; a port of ours stands in for its pod's own."""
        namespace = tree.spec.namespaces.controllers
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{NAME}"
        self.api.delete(lease)  # a scheduler that was killed holds it for 15 s
        (workload,) = (o for o in tree.of_kind("Deployment") if o["metadata"]["name"] == NAME)
        own = containers.container(self.plane, tree, workload, "plain")
        self._runs += 1
        root = self._folder / f"root-{self._runs}"
        root.mkdir()
        port = free_port()
        extra = [f"--secure-port={port}", "--bind-address=127.0.0.1"]
        program = containers.start(self.plane, own, root, self._upstream("kube-scheduler"), extra)
        with program:
            yield program, port
        meta = own.pod["metadata"]
        self.api.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")


@pytest.fixture
def bench(plane: Plane, delivery: Delivery, upstream: Find, tmp_path: Path) -> Iterator[Bench]:
    """Return a bench whose workloads are gone afterwards."""
    found = Bench(plane, delivery, upstream, tmp_path)
    yield found
    workloads.clear(plane.api)


def test_packs_as_promised(bench: Bench, simulate: Simulate) -> None:
    """Eight pods of one GPU fill one node; the ninth opens the next, which the rest fills."""
    tree = bench.bring("train", ON, simulate)
    before = mark(bench.plane)
    with bench.scheduler(tree) as (program, port):
        assert spread(bench, tree, PACKING, 8, {}) == [8]
        assert spread(bench, tree, PACKING, 8, SIZEABLE) == [8]
        placed = workloads.fill(bench.api, _pods(tree, PACKING, 12, {}))
        assert sorted(placed.values()) == [4, 8]
        for path in ("/livez", "/readyz"):
            assert answer(port, path) == 200, "a probe has no login"
        controllers = tree.spec.namespaces.controllers
        requests = asked(bench.plane, controllers, NAME, before)
        assert all(requests.values()), (requests, program.output[-2000:])
        used = {(where, verb, resource) for where, verb, resource in requests}
        assert {(controllers, verb, LEASES) for verb in ("create", "get", "update")} <= used
        assert (workloads.NAMESPACE, "create", "pods/binding") in used


def test_packs_units_of_any_name(bench: Bench, simulate: Simulate) -> None:
    """Shared and renamed MIG instances are packed, too: every advertised name has a weight."""
    edit = {**ON, "/pools/0/sharing/resources": {"nvidia.com/mig-1g.5gb": 2}}
    tree = bench.bring("lab", edit, simulate)
    (pool, *_) = tree.spec.pools
    with bench.scheduler(tree):
        for resource in pool.prediction.capacity:
            pods = [
                workloads.pod(f"p-{n}", {resource: "1", "cpu": "4"}, pool=pool, scheduler=PACKING)
                for n in range(2)
            ]
            assert list(workloads.fill(bench.api, pods).values()) == [2], resource
            workloads.clear(bench.api)


def test_without_packing_pods_spread(bench: Bench, simulate: Simulate) -> None:
    """Bin packing off: by the second scheduler as by the main one, two on each node."""
    tree = bench.bring("train", OFF, simulate)
    assert spread(bench, tree, MAIN, 8, SIZEABLE) == [2] * NODES
    with bench.scheduler(tree):
        assert spread(bench, tree, PACKING, 8, SIZEABLE) == [2] * NODES


@pytest.mark.parametrize(
    ("gone", "refused"),
    [
        (("Role", "gpu-controllers", NAME), ("get", LEASES)),
        (
            ("ClusterRoleBinding", "", "gpugen-scheduler-kube-scheduler"),
            ("list", "nodes"),
        ),
        (
            ("ClusterRoleBinding", "", "gpugen-scheduler-volume-scheduler"),
            ("list", "storageclasses.storage.k8s.io"),
        ),
    ],
    ids=["its lease", "system:kube-scheduler", "system:volume-scheduler"],
)
def test_each_right_is_needed(
    bench: Bench,
    simulate: Simulate,
    delivery: Delivery,
    gone: tuple[str, str, str],
    refused: tuple[str, str],
) -> None:
    """Without one of its rights it asks in vain, and has bound nothing by then."""
    tree = bench.bring("train", ON, simulate)
    item = _item(tree, *gone)
    delivery.api.delete(delivery.api.path(item.object))
    workloads.create(bench.api, _pods(tree, PACKING, 1, {}))
    namespace, before = tree.spec.namespaces.controllers, mark(bench.plane)
    with bench.scheduler(tree):

        def is_refused() -> bool:
            requests = asked(bench.plane, namespace, NAME, before)
            return any(
                not is_allowed and (verb, resource) == refused
                for (_, verb, resource), is_allowed in requests.items()
            )

        wait_until(f"refusal of {refused}", is_refused)
        assert not workloads.nodes_of(bench.api)


def spread(
    bench: Bench, tree: Rendered, scheduler: str, count: int, limits: Mapping[str, str]
) -> list[int]:
    """Place pods of one GPU one after the other; return pods per node, and take them away."""
    placed: Counter[str] = workloads.fill(bench.api, _pods(tree, scheduler, count, limits))
    workloads.clear(bench.api)
    return sorted(placed.values())


def _pods(
    tree: Rendered, scheduler: str, count: int, limits: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    (pool,) = tree.spec.pools
    for n in range(count):
        asks = {"nvidia.com/gpu": "1", **limits}
        yield workloads.pod(f"pod-{n}", asks, pool=pool, scheduler=scheduler)


def _item(tree: Rendered, kind: str, namespace: str, name: str) -> Item:
    (found,) = (i for i in tree.items if i.identity[1:] == (kind, namespace, name))
    return found


def answer(port: int, path: str) -> int:
    """Return the status of an HTTPS request without login."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE  # the kubelet does not verify either
    with closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=tls)) as link:
        link.request("GET", path)
        return link.getresponse().status
