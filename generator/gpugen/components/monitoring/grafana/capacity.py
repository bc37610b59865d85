"""The dashboard of capacity: what the spec predicts, beside what the cluster offers and uses.

It names no pool and no resource; both are read off the series that the pools record.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.components.monitoring.grafana.panels import (
    Panel,
    dashboard,
    datasource_variable,
    label_variable,
    laid_out,
    query,
    repeated,
    stat,
    table,
    time_series,
)
from gpugen.model.spec import ClusterSpec

PER_ROW = 3
_EXPECTED = "gpugen:pool_units:spec * on (pool) group_left () gpugen:pool_hosts:spec"
_PREDICTED = f"sum by (pool, resource) ({_EXPECTED})"
_OFFERED = (
    "sum by (pool, resource) (max by (node, resource)"
    ' (kube_node_status_allocatable{resource=~"nvidia_com_.+"})'
    "\n* on (node) group_left (pool) max by (node, pool) (gpugen:node:seen))"
)
_REQUESTED = (
    "sum by (pool, resource) (sum by (node, resource) ("
    "max by (namespace, pod, container, node, resource)"
    ' (kube_pod_container_resource_requests{resource=~"nvidia_com_.+"})'
    "\nand on (namespace, pod)"
    ' (max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"}) == 1))'
    "\n* on (node) group_left (pool) max by (node, pool) (gpugen:node:seen))"
)


def capacity_dashboard(spec: ClusterSpec, uid: str) -> str:
    """Return the dashboard; predicted numbers are recorded by the rules of each pool."""
    return dashboard(
        uid,
        f"GPU capacity: {spec.name}",
        "Predicted by the spec, allocatable and requested, per pool and resource. Resources are "
        "spelled as kube-state-metrics does.",
        [datasource_variable(), label_variable("resource", "gpugen:pool_units:spec")],
        laid_out(_rows()),
    )


def _rows() -> Iterator[tuple[int, list[Panel]]]:
    hosts, seen = "gpugen:pool_hosts:spec", "count by (pool) (gpugen:node:seen)"
    missing = (
        f"clamp_min({_PREDICTED}\n- on (pool, resource) {_OFFERED}, 0)"
        f"\nor on (pool, resource) {_PREDICTED}"
    )
    yield (
        4,
        [
            stat("Nodes in the spec", f"sum({hosts})"),
            stat("Nodes seen", f"sum({seen}) or vector(0)"),
            stat("Units missing", f"sum({missing})"),
        ],
    )
    columns = [("Predicted", _PREDICTED), ("Allocatable", _OFFERED), ("Requested", _REQUESTED)]
    yield 10, [table("Units", columns, ("pool", "resource"))]
    nodes = [("In the spec", f"sum by (pool) ({hosts})"), ("Seen", seen)]
    yield 8, [table("Nodes", nodes, ("pool",))]
    yield 8, [repeated(_of_resource(), "resource", PER_ROW)]


def _of_resource() -> Panel:
    """Return the graph of one resource, over all pools that have it."""

    def chosen(expression: str) -> str:
        return expression.replace('resource=~"nvidia_com_.+"', 'resource=~"$resource"')

    units = 'gpugen:pool_units:spec{resource=~"$resource"}'
    queries = [
        query(_PREDICTED.replace("gpugen:pool_units:spec", units), "{{pool}} predicted"),
        query(chosen(_OFFERED), "{{pool}} allocatable"),
        query(chosen(_REQUESTED), "{{pool}} requested"),
    ]
    return time_series("$resource", queries, "none", min=0)
