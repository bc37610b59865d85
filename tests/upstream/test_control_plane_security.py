"""Pod Security: each namespace's level admits our pods, and no weaker level would do.

A DaemonSet in a namespace that refuses its pods is accepted and never gets one, so what is tried
is a pod of each template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.lab.cluster.api import Answer, Api, Object
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import Rendered, edited, example, examples

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]

TRIED = {"dryRun": "All", "fieldValidation": "Strict"}
LEVELS = ("baseline", "restricted")
LEVEL = "pod-security.kubernetes.io/enforce"
PRIVILEGES = {  # of the level restricted, by the words with which the server names them
    "host namespaces (": "host namespaces",
    "privileged (": "privileged",
    "capabilities (": "capabilities",
    "allowPrivilegeEscalation != false (": "escalation",
    "hostPort (": "host port",
    "restricted volume types (": "host path",
    "runAsNonRoot != true (": "root",
    "seccompProfile (": "no seccomp profile",
}
ALL = frozenset(PRIVILEGES.values())
PLAIN = {"host path", "root"}
ADMINISTRATOR = {*PLAIN, "capabilities", "escalation"}
PRIVILEGED = set(ALL) - {"host port"}
# What each agent of the examples has beyond the level restricted, and nothing has more. Reasons
# are with the components; SYS_ADMIN is where GPUs are partitioned, or profiling counters are read.
EXPECTED = {
    "nfd-worker": {"host path"},
    "device-plugin": PLAIN,
    "device-plugin of MIG": ADMINISTRATOR,
    "gpu-feature-discovery": PLAIN,
    "gpu-feature-discovery of MIG": ADMINISTRATOR,
    "mps-control-daemon": PRIVILEGED,
    "mig-manager of MIG": PRIVILEGED,
    "dcgm-exporter": PLAIN,
    "dcgm-exporter of MIG": {*PLAIN, "capabilities"},
    "dcgm-exporter by host port": {*PLAIN, "host namespaces", "host port"},
}


@pytest.fixture
def levels(plane: Plane) -> Api:
    """Bring a namespace of each stricter level, named like the level."""
    for level in LEVELS:
        meta = {"name": level, "labels": {LEVEL: level}}
        plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        account = f"/api/v1/namespaces/{level}/serviceaccounts/default"
        wait_until("default account", lambda account=account: bool(plane.api.find(account)))
    return plane.api


@pytest.mark.parametrize("name", examples())
def test_levels_are_the_least(delivery: Delivery, levels: Api, name: str) -> None:
    rendered = example(name)
    delivery.deliver(rendered)
    agents = rendered.spec.namespaces.agents
    found = {}
    for workload in rendered.of_kind("DaemonSet", "Deployment"):
        label = workload["metadata"]["name"]
        admitted = tried_at_home(levels, workload)
        assert admitted.is_good, f"{label}: {admitted.message}"
        assert not admitted.warnings, label
        if workload["metadata"]["namespace"] == agents:
            at_baseline = tried(levels, workload, "baseline")
            assert "violates PodSecurity" in at_baseline.message, f"{label} needs no privileges"
            found[kind_of(rendered, workload)] = privileges(levels, workload)
        else:
            assert tried(levels, workload, "restricted").is_good, label
    assert found == {key: EXPECTED[key] for key in found}


def test_every_expectation_is_met_somewhere() -> None:
    kinds = {
        kind_of(example(name), workload)
        for name in examples()
        for workload in example(name).of_kind("DaemonSet")
    }
    assert kinds == set(EXPECTED)


@pytest.mark.parametrize("name", examples())
def test_tokens_only_where_there_are_rights(delivery: Delivery, levels: Api, name: str) -> None:
    """The server mounts a token into pods that name an account of ours, and into no other."""
    rendered = example(name)
    delivery.deliver(rendered)
    for workload in rendered.of_kind("DaemonSet", "Deployment"):
        spec = tried_at_home(levels, workload).body["spec"]
        has_token = any("projected" in volume for volume in spec.get("volumes", ()))
        assert has_token is (spec["serviceAccountName"] != "default"), workload["metadata"]


def test_options_that_take_and_give_privileges(
    delivery: Delivery, levels: Api, tmp_path: Path
) -> None:
    """Privileges follow options: profiling, a capability; device specs, all of them."""
    options = {
        "/components/dcgm-exporter": {"profiling": True},
        "/components/device-plugin": {"passDeviceSpecs": True},
    }
    rendered = edited("lab", options, tmp_path)
    delivery.deliver(rendered)
    found = {kind_of(rendered, o): privileges(levels, o) for o in rendered.of_kind("DaemonSet")}
    assert found["dcgm-exporter"] == {*PLAIN, "capabilities"}
    assert found["device-plugin"] == PRIVILEGED - {"host namespaces"}


def test_our_levels_are_heard(delivery: Delivery, levels: Api) -> None:
    """The check itself: the namespace of the controllers refuses an agent."""
    rendered = example("lab")
    delivery.deliver(rendered)
    (plugin, *_) = [o for o in rendered.of_kind("DaemonSet") if "plugin" in o["metadata"]["name"]]
    answer = tried(levels, plugin, rendered.spec.namespaces.controllers)
    assert 'violates PodSecurity "restricted:latest"' in answer.message


def kind_of(rendered: Rendered, workload: Object) -> str:
    """Return which of the expectations an agent falls under."""
    template = workload["spec"]["template"]
    labels = template["metadata"]["labels"]
    name = str(labels["app.kubernetes.io/name"])
    pool = next((p for p in rendered.spec.pools if p.name == labels.get("gpugen/pool")), None)
    if any("hostPort" in p for c in template["spec"]["containers"] for p in c.get("ports", ())):
        return f"{name} by host port"
    return f"{name} of MIG" if pool and pool.mig.layout else name


def tried_at_home(api: Api, workload: Object) -> Answer:
    """Try a pod of a template where its controller would make it."""
    return _try(api, workload, workload["metadata"]["namespace"], workload["spec"]["template"])


def tried(api: Api, workload: Object, namespace: str) -> Answer:
    """Try a pod of a template in another namespace, without the pod's account."""
    template = workload["spec"]["template"]
    spec = {k: v for k, v in template["spec"].items() if k != "serviceAccountName"}
    return _try(api, workload, namespace, {**template, "spec": spec})


def _try(api: Api, workload: Object, namespace: str, template: dict[str, Any]) -> Answer:
    meta = {**template["metadata"], "name": workload["metadata"]["name"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
    return api.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod, query=TRIED)


def privileges(api: Api, workload: Object) -> set[str]:
    """Return what a pod of a template has beyond the level restricted."""
    message = tried(api, workload, "restricted").message
    return {name for words, name in PRIVILEGES.items() if words in message}
