"""The dashboard of capacity: what the spec predicts, beside what the cluster offers and uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpugen.components.monitoring.grafana.panels import (
    Panel,
    dashboard,
    datasource_variable,
    laid_out,
    query,
    stat,
    table,
    time_series,
)
from gpugen.gpu import metrics
from gpugen.model.spec import ClusterSpec, NodePool

_ALL = 'label_gpugen_pool!=""'
_RESOURCES = 'resource=~"nvidia_com_.+"'
PER_ROW = 3


def capacity_dashboard(spec: ClusterSpec, uid: str) -> str:
    """Return the dashboard; predicted numbers are constants from the spec."""
    return dashboard(
        uid,
        f"GPU capacity: {spec.name}",
        "Predicted by the spec, allocatable and requested, per pool and resource. Resources are "
        "spelled as kube-state-metrics does.",
        [datasource_variable()],
        laid_out(_rows(spec)),
    )


def _rows(spec: ClusterSpec) -> Iterator[tuple[int, list[Panel]]]:
    predicted = dict(_units(spec))
    hosts = {(pool.name, ""): _host_count(pool) for pool in spec.pools}
    expected, offered = _constants(predicted), _by_pool(_ALLOCATABLE)
    seen = f"count by (pool) ({_node_labels()})"
    missing = (
        f"clamp_min(({expected})\n- on (pool, resource) {offered}, 0)"
        f"\nor on (pool, resource) ({expected})"
    )
    yield (
        4,
        [
            stat("Nodes in the spec", f"vector({sum(hosts.values())})"),
            stat("Nodes seen", f"sum({seen}) or vector(0)"),
            stat("Units missing", f"sum({missing})"),
        ],
    )
    columns = [
        ("Predicted", expected),
        ("Allocatable", offered),
        ("Requested", _by_pool(_REQUESTED)),
    ]
    yield 4 + len(predicted), [table("Units", columns, ("pool", "resource"))]
    nodes = [("In the spec", _constants(hosts)), ("Seen", seen)]
    yield 4 + len(hosts), [table("Nodes", nodes, ("pool",))]
    panels = list(_per_resource(predicted))
    for start in range(0, len(panels), PER_ROW):
        yield 8, panels[start : start + PER_ROW]


def _units(spec: ClusterSpec) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield (pool, resource) and the units that all hosts of the pool have together."""
    for pool in spec.pools:
        for resource in pool.prediction.resources:
            name = metrics.state_name(resource.name)
            yield (pool.name, name), _host_count(pool) * resource.units


def _host_count(pool: NodePool) -> int:
    return sum(len(line.hosts) for line in pool.hosts)


def _constants(numbers: dict[tuple[str, str], int]) -> str:
    """Return PromQL for constant series labelled pool and, unless empty, resource."""
    return "\nor ".join(_constant(pool, resource, n) for (pool, resource), n in numbers.items())


def _constant(pool: str, resource: str, number: int) -> str:
    series = f'label_replace(vector({number}), "pool", "{pool}", "", "")'
    return f'label_replace({series}, "resource", "{resource}", "", "")' if resource else series


_ALLOCATABLE = f"max by (node, resource) (kube_node_status_allocatable{{{_RESOURCES}}})"
_REQUESTED = (
    "sum by (node, resource) (max by (namespace, pod, container, node, resource) "
    f"(kube_pod_container_resource_requests{{{_RESOURCES}}})\n"
    "and on (namespace, pod) "
    '(max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"}) == 1))'
)


def _node_labels() -> str:
    """Return PromQL for one series per node, labelled ``node`` and ``pool``; value 1."""
    series = f"max by (node, label_gpugen_pool) (kube_node_labels{{{_ALL}}})"
    return f'label_replace({series}, "pool", "$1", "label_gpugen_pool", "(.+)")'


def _by_pool(per_node: str) -> str:
    return (
        f"sum by (pool, resource) (\n{per_node}\n* on (node) group_left (pool) {_node_labels()}\n)"
    )


def _per_resource(predicted: dict[tuple[str, str], int]) -> Iterator[Panel]:
    """Yield one graph per resource, over all pools that have it."""
    by_resource: defaultdict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for (pool, resource), number in predicted.items():
        by_resource[resource][pool, resource] = number
    for resource, numbers in sorted(by_resource.items()):
        only = f'resource="{resource}"'
        queries = [
            query(_constants(numbers), "{{pool}} predicted"),
            query(_by_pool(_ALLOCATABLE.replace(_RESOURCES, only)), "{{pool}} allocatable"),
            query(_by_pool(_REQUESTED.replace(_RESOURCES, only)), "{{pool}} requested"),
        ]
        yield time_series(resource, queries, "none", min=0)
