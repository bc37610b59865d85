"""The fleet as ``gpugen simulate`` prints it, the real controllers and the real scheduler on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.gpu.mig import resource_name
from gpugen.model.catalog import GpuModel
from gpugen.model.spec import NodePool
from gpugen.render.simulation import nodes
from support.lab import layouts, pools
from support.lab.cluster import workloads
from support.lab.cluster.api import Api, Object
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP, Simulate
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import Rendered, edited, example, examples

pytestmark = [
    pytest.mark.xdist_group(GROUP),
    pytest.mark.usefixtures("controllers", "kwok", "scheduler"),
]

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
GPU = "nvidia.com/gpu"
POOLS = [
    pytest.param(name, pool, id=f"{name}-{pool.name}")
    for name in examples()
    for pool in example(name).spec.pools
]
TAINTS = [
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    {"key": "lab.example/reserved", "effect": "NoExecute"},
    {"key": "lab.example/wish", "effect": "PreferNoSchedule"},
]


@pytest.fixture
def api(plane: Plane, delivery: Delivery) -> Api:
    """Return a connection to an empty cluster, which is empty again afterwards."""
    return plane.api


def put_nodes(api: Api, nodes: list[Object]) -> None:
    """Create nodes and wait until KWOK has made them ready and the controllers agree."""
    for node in nodes:
        api.post(NODES, node)
    wait_until("ready nodes", lambda: all(map(_is_ready, api.items(NODES))))


def _is_ready(node: Object) -> bool:
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
    keys = {taint["key"] for taint in node["spec"].get("taints", ())}
    return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in keys


# ---------------------------------------------------------------- nodes


@pytest.mark.parametrize("name", examples())
def test_nodes_are_as_predicted(api: Api, simulate: Simulate, name: str) -> None:
    """Labels, taints and allocatable, read back after KWOK and the controllers have had them."""
    put_nodes(api, simulate(name))
    found = api.items(NODES)
    for pool in example(name).spec.pools:
        own = [n for n in found if n["metadata"]["labels"]["gpugen/pool"] == pool.name]
        assert own
        for node in own:
            labels, prediction = node["metadata"]["labels"], pool.prediction
            assert pool.prediction.labels.items() <= labels.items()
            assert example(name).plan.node_labels[pool.name].items() <= labels.items()
            for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
                units = {k: int(v) for k, v in amounts.items() if k.startswith("nvidia.com/")}
                assert units == prediction.capacity
            taints = {(t["key"], t.get("value", ""), t["effect"]) for t in _taints(node)}
            assert taints == {(t.key, t.value, t.effect) for t in pool.taints}
    assert len(found) == len({n["metadata"]["name"] for n in simulate(name)})


def _taints(node: Object) -> list[dict[str, str]]:
    taints: list[dict[str, str]] = node["spec"].get("taints", [])
    return taints


def model_settings(gpu: GpuModel) -> Iterator[dict[str, Any]]:
    """Yield settings of a pool with four GPUs of a model, the longest names among them."""
    for mode, rename in (("time-slicing", False), ("time-slicing", True), ("mps", True)):
        yield {"sharing": {"mode": mode, "resources": {GPU: 2}, "rename": rename}}
    if gpu.geometry is not None:
        layout = layouts.mixed(gpu.geometry)
        names = sorted({name for entry in layout for name in entry["profiles"]})
        for rename in (False, True):
            shared = {resource_name(name): 2 for name in names}
            sharing = {"mode": "time-slicing", "resources": shared, "rename": rename}
            yield {"mig": {"strategy": "mixed", "layout": layout}, "sharing": sharing}


@pytest.mark.parametrize("model", pools.catalog().gpu_ids())
def test_a_server_takes_the_names_of_every_model(plane: Plane, model: str) -> None:
    """Labels and resources of a node, and pods that ask for them, by the server's grammar."""
    tried = 0
    for settings in model_settings(pools.catalog().gpu(model)):
        data = pools.spec_of(pools.catalog().gpu(model), 4, **settings)
        if pools.errors(data):
            continue  # refused before anything is rendered
        spec = pools.resolved(data)
        (node,) = nodes(spec, assemble(spec), 1)
        plane.api.post(NODES, node, dryRun="All")
        asks = {resource.name: "1" for resource in spec.pools[0].prediction.resources}
        workloads.create(plane.api, [workloads.pod("asks", asks)], dryRun="All")
        tried += 1
    assert tried


@pytest.mark.parametrize("length", [63, 64])
def test_the_name_of_a_node_is_a_label_too(plane: Plane, length: int) -> None:
    """The server takes what the checks take, by the longest name of a range."""
    data = pools.spec_of(pools.catalog().gpu("t4"), 1)
    domain = ".a-domain-of-many-words.and-a-region-too.datacentre"
    data["access"] = {"kubeconfigContext": "lab", "nodeNames": "fqdn"}
    data["pools"][0]["hosts"] = [f"{'n' * (length - 2 - len(domain))}[8:10]{domain}"]
    spec = pools.resolved(data)
    *_, node = nodes(spec, assemble(spec))
    assert len(node["metadata"]["name"]) == length
    answer = plane.api.call("POST", NODES, node, query={"dryRun": "All"})
    assert answer.is_good is (length == 63)
    assert bool(pools.errors(data)) is not answer.is_good


# ---------------------------------------------------------------- DaemonSets


@pytest.mark.parametrize("name", examples())
def test_agents_run_on_exactly_their_pools(
    api: Api, delivery: Delivery, simulate: Simulate, name: str
) -> None:
    put_nodes(api, [*simulate(name, "--nodes", "2"), workloads.PLAIN_NODE])
    delivery.deliver(example(name))
    assert_placed(api, example(name))


def test_agents_run_whatever_the_taints(
    api: Api, delivery: Delivery, simulate: Simulate, tmp_path: Path
) -> None:
    tree = edited("lab", {"/pools/0/taints": TAINTS, "/pools/1/taints": TAINTS}, tmp_path)
    nodes = simulate("lab", "--nodes", "2", root=tmp_path)
    assert all(len(node["spec"]["taints"]) == 3 for node in nodes)
    put_nodes(api, nodes)
    delivery.deliver(tree)
    assert_placed(api, tree, controllers=False)  # those tolerate no such taint, and need not


def assert_placed(api: Api, tree: Rendered, *, controllers: bool = True) -> None:
    """Wait until every agent runs, and compare where with the plan; then the controllers."""
    nodes = api.items(NODES)
    pools = {n["metadata"]["name"]: n["metadata"]["labels"].get("gpugen/pool") for n in nodes}
    for placed in tree.plan.objects:
        if placed.object["kind"] != "DaemonSet":
            continue
        wanted = {node for node, pool in pools.items() if pool and placed.pool in ("", pool)}
        name = placed.object["metadata"]["name"]
        wait_until(
            f"{name} on {sorted(wanted)}",
            lambda name=name, wanted=wanted: running(api, name) == wanted,
        )
        wait_until(
            f"status of {name}",
            lambda item=placed.object, wanted=wanted: _desired(api, item) == len(wanted),
        )
    if controllers:
        for item in tree.of_kind("Deployment"):
            wait_until(item["metadata"]["name"], lambda item=item: _is_available(api, item))
            assert running(api, item["metadata"]["name"]) == {"plain"}, "a wish of ours"


def running(api: Api, owner: str) -> set[str]:
    """Return the nodes on which pods of a DaemonSet or Deployment run."""
    return {
        found["spec"]["nodeName"]
        for found in api.items(PODS, fieldSelector="status.phase=Running")
        for by in found["metadata"].get("ownerReferences", ())
        if by["name"] == owner or (by["kind"] == "ReplicaSet" and by["name"][:-11] == owner)
    }


def _desired(api: Api, item: Object) -> int:
    """Return on how many nodes the controller wants a DaemonSet's pods."""
    return int(api.get(api.path(item)).get("status", {}).get("desiredNumberScheduled", -1))


def _is_available(api: Api, item: Object) -> bool:
    status: dict[str, Any] = api.get(api.path(item)).get("status", {})
    return bool(status.get("availableReplicas", 0) == item["spec"]["replicas"])


def test_the_mig_manager_pauses_agents_by_labels(
    api: Api, delivery: Delivery, simulate: Simulate
) -> None:
    """A label that it flips takes the agent from that node only; flipped back, it returns."""
    put_nodes(api, simulate("lab", "--nodes", "2"))
    delivery.deliver(example("lab"))
    both = {"gpu-nb-01", "gpu-nb-02"}
    agents = ("device-plugin", "gpu-feature-discovery", "dcgm-exporter")
    for agent in agents:
        wait_until(agent, lambda agent=agent: running(api, f"{agent}-notebooks") == both)
    for value, left in (("paused-for-mig-change", {"gpu-nb-02"}), ("true", both)):
        for agent in agents:
            labels = {f"nvidia.com/gpu.deploy.{agent}": value}
            api.merge(f"{NODES}/gpu-nb-01", {"metadata": {"labels": labels}})
        for agent in agents:
            wait_until(
                f"{agent} {value}",
                lambda agent=agent, left=left: running(api, f"{agent}-notebooks") == left,
            )
        assert running(api, "mig-manager-notebooks") == both


# ---------------------------------------------------------------- workloads


@pytest.mark.parametrize(("name", "pool"), POOLS)
def test_units_bind_up_to_the_capacity(
    api: Api, simulate: Simulate, name: str, pool: NodePool
) -> None:
    """One node of each pool: all predicted units find a place, and one more does not."""
    put_nodes(api, simulate(name, "--nodes", "1"))
    for resource, count in pool.prediction.capacity.items():
        units = [workloads.pod(f"unit-{n}", {resource: "1"}, pool=pool) for n in range(count)]
        workloads.create(api, units)
        wait_until(
            f"{count} of {resource}", lambda count=count: len(workloads.nodes_of(api)) == count
        )
        workloads.create(api, [workloads.pod("more", {resource: "1"}, pool=pool)])
        assert f"Insufficient {resource}" in refusal(api, "more")
        workloads.clear(api)
        whole = workloads.pod("whole", {resource: str(count)}, pool=pool)
        beyond = workloads.pod("beyond", {resource: str(count + 1)}, pool=pool)
        workloads.create(api, [beyond, whole])
        wait_until("the whole", lambda: "whole" in workloads.nodes_of(api))
        assert f"Insufficient {resource}" in refusal(api, "beyond")
        workloads.clear(api)


def test_more_units_than_a_kubelet_takes_pods_by_default(api: Api) -> None:
    """A pod for each of 128 units; the checks say what the real nodes need for that."""
    sharing = {"mode": "time-slicing", "resources": {GPU: 16}}
    data = pools.spec_of(pools.catalog().gpu("t4"), 8, sharing=sharing)
    assert [finding.id for finding in pools.findings(data)] == ["pool-more-units-than-pods"]
    spec = pools.resolved(data)
    put_nodes(api, list(nodes(spec, assemble(spec))))
    units = spec.pools[0].prediction.capacity[GPU]
    workloads.create(api, [workloads.pod(f"unit-{n}", {GPU: "1"}) for n in range(units)])
    wait_until(f"{units} pods", lambda: len(workloads.nodes_of(api)) == units)
    workloads.create(api, [workloads.pod("more", {GPU: "1"})])
    assert f"Insufficient {GPU}" in refusal(api, "more")
    workloads.clear(api)


@pytest.mark.parametrize(("name", "pool"), [p for p in POOLS if p.values[1].taints])
def test_taints_must_be_tolerated(api: Api, simulate: Simulate, name: str, pool: NodePool) -> None:
    put_nodes(api, simulate(name, "--nodes", "1"))
    resource = pool.prediction.resources[0].name
    workloads.create(api, [workloads.pod("bold", {resource: "1"}, pool=pool, tolerates=False)])
    assert "untolerated taint" in refusal(api, "bold")
    workloads.create(api, [workloads.pod("meek", {resource: "1"}, pool=pool)])
    wait_until("node", lambda: "meek" in workloads.nodes_of(api))
    workloads.clear(api)


def test_a_renamed_resource_has_no_other_name(api: Api, simulate: Simulate) -> None:
    (pool, *_) = example("lab").spec.pools
    renamed = next(r for r in pool.prediction.resources if r.name != r.base)
    put_nodes(api, simulate("lab", "--nodes", "1"))
    workloads.create(api, [workloads.pod("old-name", {renamed.base: "1"}, pool=pool)])
    assert f"Insufficient {renamed.base}" in refusal(api, "old-name")
    workloads.clear(api)


def test_pods_of_jobs_complete(api: Api, simulate: Simulate) -> None:
    """The stages that gpugen ships: a Job's pod runs and is done, its GPU is free again."""
    (pool,) = example("train").spec.pools
    put_nodes(api, simulate("train", "--nodes", "1"))
    work = workloads.pod("work", {"nvidia.com/gpu": "8"}, pool=pool)["spec"]
    for name in ("first", "second"):
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": workloads.NAMESPACE},
            "spec": {"template": {"spec": {**work, "restartPolicy": "Never"}}},
        }
        workloads.create(api, [])
        api.apply(job)
        wait_until(name, lambda job=job: _succeeded(api, job))
        api.delete(api.path(job))
    workloads.clear(api)


def _succeeded(api: Api, job: Object) -> bool:
    return bool(api.get(api.path(job)).get("status", {}).get("succeeded"))


def refusal(api: Api, name: str) -> str:
    """Return why a pod stays pending."""
    wait_until(f"refusal of {name}", lambda: name in workloads.refusals(api))
    assert name not in workloads.nodes_of(api)
    return workloads.refusals(api)[name]
