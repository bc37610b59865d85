"""Alerts from the algebra: what a pool's nodes should show, beside what they do show.

Nodes are found by the label ``gpugen/pool`` as kube-state-metrics passes it on. Where it does not,
these rules see nothing, and an alert of its own says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.components.monitoring.prometheus import mig
from gpugen.components.monitoring.prometheus.alert import ALLOW_LIST, Alert, Level, either
from gpugen.gpu import metrics
from gpugen.kube import gpu_access, scheduling
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

ALL_NODES = 'kube_node_labels{label_gpugen_pool!=""}'
_NODE = "{{ $labels.node }}"


def cluster_alerts(spec: ClusterSpec) -> Iterator[Alert]:
    """Yield the alert on which the others depend, and the one about the cluster's scheduler."""
    yield Alert(
        "GpuPoolLabelsMissing",
        Level.WARNING,
        f"absent({ALL_NODES})",
        "15m",
        "kube-state-metrics does not pass on the label gpugen/pool",
        "No rule can compare nodes with the spec: either no node carries the label, or "
        "kube-state-metrics is missing or not allowed to show it.",
        f"Start kube-state-metrics with '{ALLOW_LIST}' (kube-prometheus-stack: "
        "kube-state-metrics.metricLabelsAllowlist), or run the host play, which sets the label.",
    )
    yield from _scheduler(spec)


def _scheduler(spec: ClusterSpec) -> Iterator[Alert]:
    """Yield the alert on pods that wait for a scheduler which nobody runs.

    Whoever serves the name gives a pod the condition PodScheduled, true or false; so does the API
    server where a pod has gates. Without a scheduler there is no condition, hence no series.
    Source: kube-state-metrics, internal/store/pod.go (kube_pod_scheduler is in no stable class).
    """
    name = scheduling.name(spec)
    if not name:
        return
    is_main = scheduling.is_main(spec, spec.options[scheduling.COMPONENT])
    whose = "the main scheduler's profile" if is_main else f"deployment/{scheduling.DEPLOYMENT}"
    remedy = (
        "Run ansible/site.yml --tags kube_scheduler; an upgrade of the control plane may have "
        "dropped the profile."
        if is_main
        else f"kubectl -n {spec.namespaces.controllers} describe deployment {scheduling.DEPLOYMENT}"
    )
    yield Alert(
        "GpuPodsWithoutScheduler",
        Level.CRITICAL,
        f'max by (namespace, pod) (kube_pod_scheduler{{name="{name}"}})\n'
        'and on (namespace, pod) (kube_pod_status_phase{phase="Pending"} == 1)\n'
        "unless on (namespace, pod) kube_pod_status_scheduled",
        "10m",
        f"{{{{ $labels.namespace }}}}/{{{{ $labels.pod }}}} waits for scheduler {name}, which "
        "nobody runs",
        f"Nobody has looked at the pod: {whose} does not serve the name {name}. Such pods stay "
        "Pending without condition or event.",
        f"{remedy} Pods that must not wait are created anew without schedulerName.",
    )


def pool_alerts(spec: ClusterSpec, pool: NodePool, exported: frozenset[str]) -> Iterator[Alert]:
    """Yield the alerts of one pool; exported: the series that its exporters serve."""
    yield from _nodes(pool)
    yield from _allocatable(pool)
    yield from _agents(spec, pool)
    if gpu_access.is_paused_for_mig(pool):
        yield from mig.alerts(pool)
    if metrics.EXPORTER in spec.options:
        yield from _exporter(pool)
        yield from _boards(pool, exported)


def agents(spec: ClusterSpec, pool: NodePool) -> tuple[str, ...]:
    """Return the agents that every node of the pool runs, sorted."""
    due = {
        "device-plugin": True,
        "gpu-feature-discovery": True,
        "mps-control-daemon": pool.sharing.mode is SharingMode.MPS,
        "mig-manager": gpu_access.is_paused_for_mig(pool),
        metrics.EXPORTER: True,
    }
    return tuple(sorted(name for name, is_due in due.items() if is_due and name in spec.options))


def host_count(pool: NodePool) -> int:
    """Count the hosts that the spec names."""
    return sum(len(line.hosts) for line in pool.hosts)


def _of(pool: NodePool) -> tuple[tuple[str, str], ...]:
    return (("pool", pool.name),)


def _nodes(pool: NodePool) -> Iterator[Alert]:
    hosts = host_count(pool)
    yield Alert(
        "GpuNodesMissing",
        Level.WARNING,
        f"(count({metrics.nodes_of(pool.name)}) or vector(0)) < {hosts}"
        f"\nunless on () absent({ALL_NODES})",
        "1h",
        f"Pool {pool.name} has {{{{ $value }}}} of {hosts} nodes",
        "Hosts of the spec have not joined the cluster, or lost the label gpugen/pool.",
        f"Compare 'kubectl get nodes -l gpugen/pool={pool.name}' with the spec; run the host play.",
        _of(pool),
    )


def _allocatable(pool: NodePool) -> Iterator[Alert]:
    nodes = metrics.nodes_of(pool.name)
    waits = mig.waiting(pool) if gpu_access.is_paused_for_mig(pool) else ""
    unless = f"\nunless on (node) {waits}" if waits else ""
    for resource in pool.prediction.resources:
        series = f'kube_node_status_allocatable{{resource="{metrics.state_name(resource.name)}"}}'
        labels = (*_of(pool), ("resource", resource.name))
        units = f"max by (node) ({series})\nand on (node) {nodes}"
        yield Alert(
            "GpuAllocatableBelowSpec",
            Level.CRITICAL,
            f"(\n{units}\nor {nodes} * 0\n) < {resource.units}{unless}",
            "15m",
            f"{_NODE} offers {{{{ $value }}}} of {resource.units} {resource.name}",
            "The spec predicts more than the kubelet has: GPUs are unhealthy or gone, MIG is cut "
            "otherwise, or the device plugin does not run.",
            f"Look at the device plugin's log on {_NODE}, then at the GPUs with nvidia-smi.",
            labels,
        )
        yield Alert(
            "GpuAllocatableAboveSpec",
            Level.WARNING,
            f"(\n{units}\n) > {resource.units}{unless}",
            "30m",
            f"{_NODE} offers {{{{ $value }}}} {resource.name}, the spec says {resource.units}",
            "The node has other boards than the spec, is cut or shared otherwise, or a second "
            "device plugin runs there.",
            "Correct the spec, or find who else advertises nvidia.com/* on the node.",
            labels,
        )


def _agents(spec: ClusterSpec, pool: NodePool) -> Iterator[Alert]:
    names = agents(spec, pool)
    if not names:
        return
    either_of = "|".join(f"{name}-{pool.name}" for name in names)
    ready = (
        "kube_daemonset_status_number_ready"
        f'{{namespace="{spec.namespaces.agents}",daemonset=~"{either_of}"}}'
    )
    nodes = f"count({metrics.nodes_of(pool.name)})"
    yield Alert(
        "GpuAgentMissing",
        Level.WARNING,
        f"max by (daemonset) ({ready})\n< on () group_left () {nodes}",
        "15m",
        f"{{{{ $labels.daemonset }}}} is ready on {{{{ $value }}}} nodes only, pool {pool.name}",
        "Some nodes of the pool run without one of gpugen's agents.",
        f"kubectl -n {spec.namespaces.agents} get pods -o wide -l gpugen/pool={pool.name}",
        _of(pool),
    )
    yield Alert(
        "GpuAgentNotDeployed",
        Level.WARNING,
        f"(count(max by (daemonset) ({ready})) or vector(0)) < {len(names)}"
        f"\nunless on () absent({ALL_NODES})",
        "15m",
        f"Pool {pool.name} has {{{{ $value }}}} of {len(names)} agents",
        f"Expected are {', '.join(names)}.",
        "Look at the delivery: the wave of the missing one was not applied.",
        _of(pool),
    )


def _exporter(pool: NodePool) -> Iterator[Alert]:
    up = f'max by (node) (up{{job="{metrics.EXPORTER}",pool="{pool.name}"}})'
    yield Alert(
        "GpuExporterDown",
        Level.WARNING,
        f"{up} == 0\nor {metrics.nodes_of(pool.name)} unless on (node) {up}",
        "15m",
        f"The GPUs of {_NODE} are not watched",
        "The DCGM exporter does not run there or Prometheus does not reach it; no alert about this "
        "node's hardware can fire.",
        f"Look at the dcgm-exporter on {_NODE} and at Prometheus' targets.",
        _of(pool),
    )


def _boards(pool: NodePool, exported: frozenset[str]) -> Iterator[Alert]:
    """Yield what needs the exporter's series, as far as this pool's exporter has them."""
    seen = f'count by (pool, node, gpu) (DCGM_FI_DEV_GPU_TEMP{{pool="{pool.name}"}})'
    none = f'max by (pool, node) (up{{job="{metrics.EXPORTER}",pool="{pool.name}"}} == 1) * 0'
    count = f"(\ncount by (pool, node) ({seen})\nor {none}\n)"
    missing = either(exported, f"{count} < {pool.gpu_count}")
    idle = either(exported, _idle(pool))
    if missing:
        yield Alert(
            "GpuMissing",
            Level.CRITICAL,
            missing,
            "10m",
            f"{_NODE} shows {{{{ $value }}}} of {pool.gpu_count} GPUs",
            "A board fell off the bus, was taken out, or is held by another driver.",
            f"Look for the board with lspci and for XID 79 in 'dmesg' on {_NODE}.",
        )
    if idle:
        yield Alert(
            "GpuIdle",
            Level.INFO,
            idle,
            "1h",
            f"GPU {{{{ $labels.gpu }}}} of {_NODE} is held by a pod and does nothing",
            "No work for an hour, by {{ $labels.namespace }}/{{ $labels.pod }} where one pod has "
            "the GPU for itself.",
            "Ask the pod's owner; a forgotten notebook is the usual reason.",
        )


def _idle(pool: NodePool) -> str:
    """Return PromQL for devices that a pod holds and nothing uses.

    Utilisation is not measured per MIG instance, and on shared GPUs it reads 0 for each pod.
    """
    held = f'{{pool="{pool.name}",pod!=""}}'
    labels = "pool, node, gpu, UUID" + (", GPU_I_ID" if pool.mig.is_cut else "")
    if pool.mig.is_cut or metrics.is_shared(pool):
        whose = "" if metrics.is_shared(pool) else ", namespace, pod"
        return f"max by ({labels}{whose}) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{held}) == 0"
    return f"max by ({labels}, namespace, pod) (DCGM_FI_DEV_GPU_UTIL{held}) == 0"
