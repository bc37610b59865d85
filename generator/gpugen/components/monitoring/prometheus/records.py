"""Recorded series: what the spec predicts of a pool, beside its nodes as they are seen.

Each pool records its own, in a file of its own; alerts and dashboards join them by their labels.
Nodes are found by the label ``gpugen/pool``; where kube-state-metrics does not pass it on, nothing
is seen, and an alert says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.components.monitoring import metrics
from gpugen.kube import exporters, gpu_access, scheduling
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

_LAYOUT = "label_nvidia_com_mig_config"
# Nodes that carry another layout than the spec's, for which the host play is due. By no name at all
# nothing is said: kube-state-metrics may not pass it on.
_WAITING = (
    f'max by (pool, node) (gpugen:node_layout:seen{{{_LAYOUT}!=""}}'
    f" unless on (pool, {_LAYOUT}) gpugen:pool_layout:spec)"
)


def of_cluster(spec: ClusterSpec) -> Iterator[dict[str, Any]]:
    """Yield what belongs to no one pool; the scheduler only where pods must name it."""
    yield {"record": "gpugen:node_layout:waiting", "expr": _WAITING}
    if scheduler := scheduling.name(spec):
        yield _constant("gpugen:scheduler:spec", 1, {"name": scheduler})


def of_pool(spec: ClusterSpec, pool: NodePool) -> Iterator[dict[str, Any]]:
    """Yield the series of one pool; ``spec`` in their names is predicted, ``seen`` observed."""
    own = {"pool": pool.name}
    labels = f'{{label_gpugen_pool="{pool.name}"}}'
    yield _constant("gpugen:pool_hosts:spec", sum(len(line.hosts) for line in pool.hosts), own)
    kind = {"mig": "on" if pool.mig.has_instances else "off", "sharing": str(pool.sharing.mode)}
    yield _constant("gpugen:pool_gpus:spec", pool.gpu_count, {**own, **kind})
    for agent in agents(spec, pool):
        workload = {"namespace": spec.namespaces.agents, "daemonset": f"{agent}-{pool.name}"}
        yield _constant("gpugen:pool_agent:spec", 1, {**own, **workload})
    seen = f"max by (node) (kube_node_labels{labels})"
    yield {"record": "gpugen:node:seen", "expr": seen, "labels": own}
    for resource in pool.prediction.resources:
        named = {"resource": metrics.state_name(resource.name), "advertised": resource.name}
        yield _constant("gpugen:pool_units:spec", resource.units, {**own, **named})
        units = f"{resource.units} * {seen}"
        yield {"record": "gpugen:node_units:spec", "expr": units, "labels": {**own, **named}}
    if gpu_access.is_paused_for_mig(pool):
        layout = {_LAYOUT: pool.prediction.mig_config_name}
        yield _constant("gpugen:pool_layout:spec", 1, {**own, **layout})
        state = f"max by (node, {_LAYOUT}, {_LAYOUT}_state) (kube_node_labels{labels})"
        yield {"record": "gpugen:node_layout:seen", "expr": state, "labels": own}


def agents(spec: ClusterSpec, pool: NodePool) -> tuple[str, ...]:
    """Return the agents that every node of the pool runs, sorted."""
    due = {
        "device-plugin": True,
        "gpu-feature-discovery": True,
        "mps-control-daemon": pool.sharing.mode is SharingMode.MPS,
        "mig-manager": gpu_access.is_paused_for_mig(pool),
        exporters.NAME: True,
    }
    return tuple(sorted(name for name, is_due in due.items() if is_due and name in spec.options))


def names(spec: ClusterSpec) -> frozenset[str]:
    """Return the names of all series that are recorded."""
    rules = [*of_cluster(spec), *(rule for pool in spec.pools for rule in of_pool(spec, pool))]
    return frozenset(rule["record"] for rule in rules)


def _constant(name: str, value: int, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"record": name, "expr": f"vector({value})", "labels": dict(labels)}
