"""Series as a healthy cluster has them.

The exporter's labels are those of its own templates (NVIDIA/dcgm-exporter 4.5.3-4.8.2
internal/pkg/rendermetrics, collector, transformation), merged with those of our scrape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.prometheus.records import agents
from gpugen.model.assembly import Assembly
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.resolve import resolve

FOREVER = "x240"  # samples, one per minute
HEALTHY = {
    "DCGM_FI_DEV_SM_CLOCK": "1410",
    "DCGM_FI_DEV_MEM_CLOCK": "1215",
    "DCGM_FI_DEV_GPU_TEMP": "50",
    "DCGM_FI_DEV_MEMORY_TEMP": "55",
    "DCGM_FI_DEV_GPU_MAX_OP_TEMP": "85",
    "DCGM_FI_DEV_MEM_MAX_OP_TEMP": "95",
    "DCGM_FI_DEV_GPU_TEMP_LIMIT": "30",
    "DCGM_FI_DEV_POWER_USAGE": "250",
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": "400",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "0+15000000",
    "DCGM_FI_DEV_POWER_VIOLATION": "0+9000000",
    "DCGM_FI_DEV_FB_FREE": "30000",
    "DCGM_FI_DEV_FB_USED": "10000",
    "DCGM_FI_DEV_FB_RESERVED": "500",
    "DCGM_FI_DEV_GPU_UTIL": "40",
    "DCGM_FI_DEV_MEM_COPY_UTIL": "20",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": "0+1",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "3",
    "DCGM_FI_DEV_FABRIC_MANAGER_STATUS": "3",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "0.4",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "0.2",
    "DCGM_FI_PROF_DRAM_ACTIVE": "0.3",
    "DCGM_FI_PROF_PCIE_TX_BYTES": "1000000",
    "DCGM_FI_PROF_PCIE_RX_BYTES": "1000000",
}
"""Values that are not 0 on a healthy, busy GPU; ``a+b`` grows by b a minute."""


class Series(NamedTuple):
    """One series; values in promtool's notation."""

    name: str
    labels: Mapping[str, str]
    values: str

    def text(self) -> dict[str, str]:
        labels = ",".join(f'{k}="{v}"' for k, v in self.labels.items())
        return {"series": f"{self.name}{{{labels}}}", "values": self.values}

    def has(self, name: str, /, **labels: str) -> bool:
        wanted = labels.items() <= self.labels.items()
        return self.name == name and wanted


def cluster(*pools: Any, mode: str = "scrape-config") -> tuple[ClusterSpec, Assembly]:
    """Resolve a spec with these pools and all that watches them."""
    prometheus = {"mode": mode}
    if mode == "service-monitor":
        prometheus["selectorLabels"] = {"release": "monitoring"}
    data = {
        "apiVersion": "gpugen/v1",
        "kind": "Cluster",
        "name": "watched",
        "release": "2026.11",
        "kubernetes": {"version": "1.36"},
        "hostDefaults": {
            "os": "ubuntu-24.04",
            "driver": {"version": "580.178.04"},
            "containerToolkit": {"version": "1.20.0"},
        },
        "pools": list(pools),
        "components": {
            "prometheus": prometheus,
            "grafana": {},
            "dcgm-exporter": {"profiling": True},
        },
    }
    spec, findings = resolve(_scheduled(data), Catalog(), "inventories/watched/cluster.yaml")
    assert spec is not None, findings
    return spec, assemble(spec)


def _scheduled(data: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with a second scheduler, about which there is an alert."""
    return {**data, "components": {**data["components"], "scheduler": {}}}


def nodes(pool: NodePool) -> list[str]:
    """Return the names of a pool's two nodes."""
    return [f"{pool.name}-01", f"{pool.name}-02"]


def healthy(spec: ClusterSpec, pool: NodePool) -> list[Series]:
    """Return everything that Prometheus has about a healthy pool."""
    return [
        *state(spec, pool),
        *(s for node in nodes(pool) for s in gpu_series(spec, pool, node)),
    ]


def state(spec: ClusterSpec, pool: NodePool) -> Iterator[Series]:
    """Yield what kube-state-metrics and Prometheus themselves say."""
    for node in nodes(pool):
        labels = {"node": node, "label_gpugen_pool": pool.name}
        if pool.prediction.mig_config_name:
            labels["label_nvidia_com_mig_config"] = pool.prediction.mig_config_name
            labels["label_nvidia_com_mig_config_state"] = "success"
        yield Series("kube_node_labels", labels, f"1{FOREVER}")
        target = {"job": "dcgm-exporter", "instance": node, "node": node, "pool": pool.name}
        yield Series("up", target, f"1{FOREVER}")
        for resource in pool.prediction.resources:
            yield from _resource(pool, node, resource.name, resource.units)
    yield from pending("waits-for-room")
    scheduled = {"namespace": "work", "pod": "waits-for-room"}
    for condition, value in (("true", 0), ("false", 1), ("unknown", 0)):
        labels = {**scheduled, "condition": condition}
        yield Series("kube_pod_status_scheduled", labels, f"{value}{FOREVER}")
    for agent in agents(spec, pool):
        labels = {"namespace": spec.namespaces.agents, "daemonset": f"{agent}-{pool.name}"}
        yield Series("kube_daemonset_status_number_ready", labels, f"{len(nodes(pool))}{FOREVER}")


def pending(name: str) -> Iterator[Series]:
    """Yield what kube-state-metrics says of a pod that the packing scheduler is to place.

    It has no kube_pod_status_scheduled before a scheduler has looked at it.
    """
    pod = {"namespace": "work", "pod": name, "uid": name}
    yield Series("kube_pod_scheduler", {**pod, "name": "gpu-binpack"}, f"1{FOREVER}")
    for phase in ("Pending", "Running", "Succeeded"):
        value = 1 if phase == "Pending" else 0
        yield Series("kube_pod_status_phase", {**pod, "phase": phase}, f"{value}{FOREVER}")


def _resource(pool: NodePool, node: str, resource: str, count: int) -> Iterator[Series]:
    name = metrics.state_name(resource)
    labels = {"node": node, "resource": name, "unit": "integer"}
    yield Series("kube_node_status_allocatable", labels, f"{count}{FOREVER}")
    pod = {"namespace": "work", "pod": f"job-{node}"}
    requested = {**pod, "container": "main", **labels}
    yield Series("kube_pod_container_resource_requests", requested, f"1{FOREVER}")
    for phase in ("Pending", "Running", "Succeeded"):
        value = 1 if phase == "Running" else 0
        yield Series("kube_pod_status_phase", {**pod, "phase": phase}, f"{value}{FOREVER}")


def gpu_series(spec: ClusterSpec, pool: NodePool, node: str) -> Iterator[Series]:
    """Yield what the exporter of a node says, as it arrives after the scrape."""
    for gpu in range(pool.gpu_count):
        for holder in _entities(pool, gpu):
            labels = {
                "gpu": str(gpu),
                "UUID": f"GPU-{node}-{gpu}",
                "pci_bus_id": f"00000000:{gpu:02X}:00.0",
                "device": f"nvidia{gpu}",
                "modelName": pool.gpu.product,
                "Hostname": node,
                "job": "dcgm-exporter",
                "instance": node,
                "node": node,
                "pool": pool.name,
                **holder,
            }
            yield from _readings(spec, pool, labels)


def _entities(pool: NodePool, gpu: int) -> Iterator[dict[str, str]]:
    """Yield the labels of a GPU's parts and holders: instances, pods, sharing pods."""
    shared = metrics.is_shared(pool)
    instances: list[dict[str, str]] = [{}]
    for entry in pool.mig.layout:
        if gpu in entry.gpus and entry.profiles:
            profiles = [p for p, n in entry.profiles.items() for _ in range(n)]
            instances = [
                {"GPU_I_PROFILE": p, "GPU_I_ID": str(7 + i)} for i, p in enumerate(profiles)
            ]
    for i, instance in enumerate(instances):
        pod = {"namespace": "work", "pod": f"job-{gpu}-{i}", "container": "main"}
        if shared:
            yield {**instance, **pod, "vgpu": "0"}
            yield {**instance, **pod, "pod": f"other-{gpu}-{i}", "vgpu": "1"}
        else:
            yield {**instance, **pod}


def _readings(spec: ClusterSpec, pool: NodePool, labels: Mapping[str, str]) -> Iterator[Series]:
    for name in sorted(metrics.exported(spec, pool)):
        own = dict(labels)
        if metrics.is_shared(pool) and name in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED"):
            if labels["vgpu"] != "0":
                continue  # what is measured per pod is dropped; the reading of the GPU remains
            own = {
                k: v for k, v in own.items() if k not in ("namespace", "pod", "container", "vgpu")
            }
        if name == "DCGM_FI_DEV_XID_ERRORS":
            own |= {"err_code": "0", "err_msg": "No Error"}
        if name == "DCGM_EXP_XID_ERRORS_COUNT":
            own |= {"window_size_in_ms": "300000"}
        value = HEALTHY.get(name, "0")
        yield Series(name, own, f"{value}{FOREVER}" if "+" in value else f"{value}+0{FOREVER}")


def panels(plan: Assembly) -> Iterator[tuple[str, str]]:
    """Yield the queries of all dashboards, Grafana's variables replaced by what All means."""
    for placed in plan.objects:
        for name, text in placed.object.get("data", {}).items():
            if name.endswith(".json"):
                for panel in json.loads(text)["panels"]:
                    for target in panel["targets"]:
                        query = re.sub(r"\$(pool|node|gpu|resource)\b", ".*", target["expr"])
                        yield f"{panel['title']} {target['refId']}", query
