"""A cluster's nodes for KWOK, as they would be once everything is rolled out.

Names, labels, taints and GPU resources follow from the spec. Processors and memory are not in the
spec; a node gets round figures per GPU, so that workloads with usual requests fit. Source: kwok
v0.8.0, pkg/kwok (which nodes it plays), pkg/config (what it reads), kustomize/stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from gpugen import assets, kube
from gpugen.checks.mig_names import LABEL_LIMIT
from gpugen.checks.pools import PODS
from gpugen.hosts import ranges
from gpugen.model.assembly import Assembly, KubeObject
from gpugen.model.options import NodeFeatureDiscovery
from gpugen.model.spec import ClusterSpec, NodePool

PLAYED = {"kwok.x-k8s.io/node": "fake"}  # KWOK plays the kubelets of nodes with this annotation
CORES_PER_GPU = 16
MEMORY_GIB_PER_GPU = 128
STORAGE_GIB = 1024
ROOM = 30  # pods of agents, if every unit has its own pod
NVIDIA_PCI = "feature.node.kubernetes.io/pci-10de.present"
MIG_CONFIG = "nvidia.com/mig.config"


def nodes(spec: ClusterSpec, assembly: Assembly, most: int | None = None) -> Iterator[KubeObject]:
    """Yield the nodes of every pool in the spec's order. most: of each pool; None takes all."""
    for pool in spec.pools:
        labels = _labels(spec, assembly, pool)
        status = _status(spec, pool)
        for name in islice(_names(spec, pool), most):
            yield _node(name, {"kubernetes.io/hostname": name, **labels}, pool, status)


def _names(spec: ClusterSpec, pool: NodePool) -> Iterator[str]:
    for line in pool.hosts:
        for host in line.hosts:
            yield ranges.node_name(spec, line, host)


def _node(name: str, labels: dict[str, str], pool: NodePool, status: dict[str, Any]) -> KubeObject:
    node: KubeObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": PLAYED},
    }
    if pool.taints:
        node["spec"] = {"taints": [_taint(t.key, t.value, t.effect) for t in pool.taints]}
    return {**node, "status": status}


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def _labels(spec: ClusterSpec, assembly: Assembly, pool: NodePool) -> dict[str, str]:
    """Return a node's labels: those of kubelet, play and components."""
    labels = {
        "kubernetes.io/arch": pool.host.architecture,
        "kubernetes.io/os": "linux",
        **pool.labels,
        kube.POOL_LABEL: pool.name,
        **assembly.node_labels[pool.name],
        **assembly.initial_labels[pool.name],
    }
    if MIG_CONFIG in labels:
        labels[f"{MIG_CONFIG}.state"] = "success"
    if "gpu-feature-discovery" in spec.options:
        labels |= _kept(pool.prediction.labels)
    discovery = spec.find(NodeFeatureDiscovery)
    # Labels of an existing worker are not predicted.
    is_ours = discovery is not None and discovery.mode == "own"
    if discovery and is_ours and discovery.worker and "pci" in discovery.sources:
        labels[NVIDIA_PCI] = "true"
    return dict(sorted(labels.items()))


def _kept(labels: Mapping[str, str]) -> dict[str, str]:
    """Drop the labels that node feature discovery drops because they are too long."""
    return {key: value for key, value in labels.items() if len(value) <= LABEL_LIMIT}


def _status(spec: ClusterSpec, pool: NodePool) -> dict[str, Any]:
    """Return capacity and identity; KWOK writes conditions and addresses.

    Every unit can have its own pod, as with the maxPods that a check then recommends.
    """
    units = sum(pool.prediction.capacity.values())
    resources = {
        "cpu": str(CORES_PER_GPU * pool.gpu_count),
        "memory": f"{MEMORY_GIB_PER_GPU * pool.gpu_count}Gi",
        "ephemeral-storage": f"{STORAGE_GIB}Gi",
        "pods": str(max(PODS, units + ROOM)),
    }
    if "device-plugin" in spec.options:
        resources |= {name: str(count) for name, count in pool.prediction.capacity.items()}
    return {
        "capacity": resources,
        "allocatable": resources,
        "nodeInfo": {
            "architecture": pool.host.architecture,
            "bootID": "",
            "containerRuntimeVersion": f"{spec.kubernetes.container_runtime}://simulated",
            "kernelVersion": "simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": f"v{spec.kubernetes.version}.0-simulated",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": f"{pool.host.os.id} (simulated)",
            "systemUUID": "",
        },
    }


def stages() -> str:
    """Return what KWOK does with nodes and pods; ``kwok`` exits without any stages."""
    return (assets.PACKAGE / "render" / "kwok-stages.yaml").read_text(encoding="utf-8")
