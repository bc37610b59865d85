"""The DCGM exporters as others see them: their name, their port, and whose network they are in."""

from __future__ import annotations

from gpugen.model.host_services import DcgmMode
from gpugen.model.options import Prometheus
from gpugen.model.spec import ClusterSpec, NodePool

NAME = "dcgm-exporter"  # the component, its workloads, its Service and the scrape job
PORT = 9400
PORT_NAME = "metrics"


def uses_host_engine(pool: NodePool) -> bool:
    """Tell whether the pool's hosts run a DCGM engine; there must be one per host (DCG-02)."""
    return pool.host.dcgm is not None and pool.host.dcgm.mode is DcgmMode.HOST


def shares_host_network(spec: ClusterSpec, pool: NodePool) -> bool:
    """Tell whether the exporter listens on the node's own address.

    For the host's engine, which listens nowhere else, and for a Prometheus outside of the cluster.
    """
    prometheus = spec.find(Prometheus)
    is_static = prometheus is not None and prometheus.mode == "static"
    return is_static or uses_host_engine(pool)
