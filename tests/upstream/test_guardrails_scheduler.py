"""The guardrails against the real scheduler: what is refused never starts, all else does.

Pods at random on one empty node a pool, as ``gpugen simulate`` shows them. A pod is asked about
where the policies work, completed by them, and then created where they leave it alone.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.model.spec import ClusterSpec
from gpugen.render.simulation import nodes
from support.guarded import GPU, GPU_TAINT, MIG, SPACE, Guarded, made_by, opened, pod, spec_of, told
from support.lab.cluster import workloads
from support.lab.cluster.api import Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until

pytestmark = [
    pytest.mark.xdist_group(GROUP),
    pytest.mark.usefixtures("controllers", "kwok", "scheduler"),
]
PODS = 100
EXEMPT = {"exemptNamespaces": [workloads.NAMESPACE]}
BY_THE_PLUGIN = "more-than-one-share"  # the scheduler places those, the kubelet fails them
BY_THE_SCHEDULER = frozenset(
    {"unknown-resource", "too-many", "no-single-node", "wrong-pool", "untolerated-taint"}
)
WRONG = [f"{MIG}1g.5gb", f"{GPU}.shared"]
COUNTS = ["0", *["1"] * 8, "2", "2", "3", "4", "8", "9"]
PRODUCTS = ["NVIDIA-H100-80GB-HBM3", "Tesla-T4", "NVIDIA-A100-SXM4-40GB", "NVIDIA-L4"]
# Only labels that every pool has: of others the policies do not claim that a node has none.
SELECTORS: list[dict[str, str]] = [
    {"gpugen/pool": "hgx"},
    {"gpugen/pool": "t4"},
    {"gpugen/pool": "mig", "nvidia.com/gpu.product": PRODUCTS[2]},
    {"gpugen/pool": "none"},
    {"nvidia.com/gpu.product": PRODUCTS[1]},
]
TOLERATIONS: list[dict[str, Any]] = [
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"key": GPU, "operator": "Exists", "effect": "NoExecute"},
    {"key": GPU, "value": "other", "effect": "NoSchedule"},
    {"key": "lab.example/team", "operator": "Exists"},
    {"key": "lab.example/team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"},
    {"key": "lab.example/team", "value": "audio"},
]


@pytest.fixture(scope="module")
def server(plane: Plane) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        yield found


@pytest.mark.parametrize("cluster", ["lab", "older"])
def test_agrees_with_the_scheduler(server: Guarded, cluster: str) -> None:
    spec = spec_of(cluster, EXEMPT)
    names = bring(server, spec)
    try:
        server.use(spec)
        resources = sorted({name for pool in spec.pools for name in pool.prediction.capacity})
        seen = compare(server, random.Random(cluster), resources)
    finally:
        for name in names:
            server.api.delete(f"/api/v1/nodes/{name}")
    # One pool with one resource has either all that is asked for or too few.
    possible = BY_THE_SCHEDULER if cluster == "lab" else BY_THE_SCHEDULER - {"no-single-node"}
    assert set(seen) == possible | {"bound"}, seen


def test_no_pod_is_made_that_could_be_given_tolerations(server: Guarded) -> None:
    """The controller goes by a DaemonSet's template; the completion is for pods alone."""
    spec = spec_of("lab")
    names = bring(server, spec)
    item = made_by("DaemonSet", pod({GPU: "1"}, nodeSelector={"gpugen/pool": "hgx"}))
    item["metadata"]["namespace"] = SPACE
    path = server.api.path(item)

    def wanted() -> int:
        found = server.api.get(path)
        is_seen = found["status"].get("observedGeneration") == found["metadata"]["generation"]
        return int(found["status"]["desiredNumberScheduled"]) if is_seen else -1

    try:
        server.use(spec)
        assert any("[template-taint]" in text for text in told(server.ask(item)))
        for tolerations, nodes_of_it in (([], 0), ([GPU_TAINT], 1)):
            item["spec"]["template"]["spec"]["tolerations"] = tolerations
            assert server.api.try_apply(item).is_good
            wait_until(f"{nodes_of_it} nodes", lambda count=nodes_of_it: wanted() == count)
    finally:
        server.api.delete(path)
        for name in names:
            server.api.delete(f"/api/v1/nodes/{name}")


def compare(server: Guarded, dice: random.Random, resources: list[str]) -> Counter[str]:
    """Ask for pods at random and create them; return how often each rule was right."""
    seen: Counter[str] = Counter()
    for number in range(PODS):
        item = chance(dice, resources)
        item["metadata"]["name"] = f"work-{number}"  # KWOK may still be ending the one before
        answer = server.ask(item)
        assert answer.is_good, answer.message
        rules = {text.partition("[")[2].partition("]")[0] for text in told(answer)}
        if BY_THE_PLUGIN in rules or not asks(item):
            continue
        foretold = not rules & BY_THE_SCHEDULER
        completed = {**item, "spec": {**item["spec"], **kept(answer.body)}}
        assert is_bound(server, completed, foretold) is foretold, (rules, completed)
        seen.update(rules & BY_THE_SCHEDULER or {"bound"})
    return seen


def bring(server: Guarded, spec: ClusterSpec) -> list[str]:
    """Create one node a pool, and wait until they take pods."""
    made = list(nodes(spec, assemble(spec), 1))
    for node in made:
        server.api.post("/api/v1/nodes", node)
    names = [node["metadata"]["name"] for node in made]
    wait_until("nodes", lambda: all(map(_is_ready, map(_node(server), names))))
    return names


def _node(server: Guarded) -> Any:
    return lambda name: server.api.get(f"/api/v1/nodes/{name}")


def _is_ready(node: Object) -> bool:
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
    keys = {taint["key"] for taint in node["spec"].get("taints", ())}
    return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in keys


def chance(dice: random.Random, resources: list[str]) -> Object:
    """Return a pod at random, mostly a sensible one."""
    limits = [_limits(dice, resources) for _ in range(dice.choice([1, 1, 1, 2, 3]))]
    item = pod(*limits)
    spec = item["spec"]
    if dice.random() < 0.3:
        spec["initContainers"] = [
            copy.deepcopy(spec["containers"][0])
            | {"name": f"first-{index}", "resources": {"limits": _limits(dice, resources)}}
            | ({"restartPolicy": "Always"} if dice.random() < 0.5 else {})
            for index in range(dice.choice([1, 2, 3]))
        ]
    if dice.random() < 0.3:
        spec["nodeSelector"] = dice.choice(SELECTORS)
    if dice.random() < 0.3:
        spec["affinity"] = {"nodeAffinity": _affinity(dice)}
    if dice.random() < 0.6:
        spec["tolerations"] = dice.sample(TOLERATIONS, dice.choice([0, 1, 1, 2]))
    return item


def asks(item: Object) -> bool:
    """Tell whether a pod asks for a GPU at all; others are not checked."""
    spec = item["spec"]
    each = [
        c["resources"]["limits"] for c in [*spec["containers"], *spec.get("initContainers", ())]
    ]
    return any(count != "0" for limits in each for count in limits.values())


def _limits(dice: random.Random, resources: list[str]) -> dict[str, str]:
    several = len(resources) > 1 and dice.random() < 0.1
    names = dice.sample([GPU, *resources], 2 if several else 1)
    if dice.random() < 0.05:
        names.append(dice.choice(WRONG))
    return {name: dice.choice(COUNTS) for name in names}


def _affinity(dice: random.Random) -> Object:
    terms = []
    for _ in range(dice.choice([1, 1, 2])):
        operator = dice.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        key = dice.choice(["nvidia.com/gpu.product", "gpugen/pool"])
        values = dice.sample([*PRODUCTS, "hgx", "t4"], 2)
        expression = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = values  # type: ignore[assignment]
        terms.append({"matchExpressions": [expression]} if dice.random() < 0.9 else {})
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def kept(answered: Object) -> dict[str, Any]:
    """Return what the completion gave a pod; the second scheduler does not run here."""
    spec = answered["spec"]
    return {key: spec[key] for key in ("tolerations", "runtimeClassName") if key in spec}


def is_bound(server: Guarded, item: Object, foretold: bool) -> bool:
    """Create a pod and see what the scheduler makes of it.

    Until a foretold pod is bound the scheduler gets some time to forget the one before.
    """
    workloads.create(server.api, [item])
    path = f"{workloads.PODS}/{item['metadata']['name']}"

    def verdict() -> str:
        found = server.api.get(path)
        if "nodeName" in found["spec"]:
            return "bound"
        conditions = found.get("status", {}).get("conditions", ())
        return "left" if any(c.get("reason") == "Unschedulable" for c in conditions) else ""

    try:
        wait_until("verdict", lambda: verdict() == "bound" or (not foretold and verdict() != ""))
        return verdict() == "bound"
    except TimeoutError:
        return False
    finally:
        workloads.clear(server.api)
