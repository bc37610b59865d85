"""Pods that ask for GPUs, and where they end up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gpugen.model.spec import NodePool
from support.lab.cluster.api import Api, Object
from support.lab.cluster.programs import wait_until

NAMESPACE = "workloads"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PLAIN_NODE = {  # a node that belongs to no pool
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "plain",
        "labels": {"kubernetes.io/hostname": "plain", "kubernetes.io/os": "linux"},
        "annotations": {"kwok.x-k8s.io/node": "fake"},
    },
    "status": {
        "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
    },
}


def pod(
    name: str,
    limits: Mapping[str, str],
    *,
    pool: NodePool | None = None,
    tolerates: bool = True,
    scheduler: str = "default-scheduler",
) -> Object:
    """Return a pod of one container. pool: whose nodes it selects and whose taints it tolerates."""
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "automountServiceAccountToken": False,
        "containers": [{"name": "work", "image": "work", "resources": {"limits": dict(limits)}}],
    }
    if pool is not None:
        spec["nodeSelector"] = {"gpugen/pool": pool.name}
    if pool is not None and tolerates:
        spec["tolerations"] = [
            {"key": taint.key, "operator": "Exists", "effect": taint.effect}
            for taint in pool.taints
        ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def create(api: Api, pods: Iterable[Object], **query: str) -> None:
    """Create pods in the workloads' namespace, and it if need be. query: as dryRun="All"."""
    if api.find(f"/api/v1/namespaces/{NAMESPACE}") is None:
        api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    wait_until("default account", lambda: api.find(account) is not None)
    for item in pods:
        api.post(PODS, item, **query)


def nodes_of(api: Api) -> dict[str, str]:
    """Return pod -> node for the pods that are bound."""
    return {
        found["metadata"]["name"]: found["spec"]["nodeName"]
        for found in api.items(PODS)
        if "nodeName" in found["spec"]
    }


def refusals(api: Api) -> dict[str, str]:
    """Return pod -> why the scheduler left it pending."""
    return {
        found["metadata"]["name"]: condition["message"]
        for found in api.items(PODS)
        for condition in found.get("status", {}).get("conditions", ())
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


def fill(api: Api, pods: Iterable[Object]) -> Counter[str]:
    """Create pods one after the other, each when the last one is bound; return node -> pods."""
    for item in pods:
        create(api, [item])
        name = item["metadata"]["name"]
        wait_until(f"node for {name}", lambda name=name: name in nodes_of(api))
    return Counter(nodes_of(api).values())


def clear(api: Api) -> None:
    """Delete all pods of the workloads."""
    for found in api.items(PODS):
        api.delete(f"{PODS}/{found['metadata']['name']}")
    wait_until("end of the pods", lambda: not api.items(PODS))
