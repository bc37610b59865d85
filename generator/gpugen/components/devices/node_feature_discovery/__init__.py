"""Node feature discovery: turns the NodeFeatures of GPU feature discovery into node labels.

Master and garbage collector run once, the worker on the nodes of every pool. The worker is
optional: our agents select gpugen/pool and GPU feature discovery needs the master only. It is on by
default because other charts select the label feature.node.kubernetes.io/pci-10de.present, all that
it detects by default. Source: node-feature-discovery v0.18.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.components import Component
from gpugen.components.devices.node_feature_discovery import controllers, crds, worker
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import NodeFeatureDiscovery
from gpugen.model.spec import ClusterSpec


def contribute(spec: ClusterSpec, options: NodeFeatureDiscovery) -> Contribution:
    """Return CRDs, controllers and worker; nothing if the cluster has its own."""
    if options.mode == "existing":
        return Contribution()
    definitions = (crds.node_feature(), crds.node_feature_rule())
    return Contribution(
        (
            *(Placed(Wave.CRDS, item) for item in definitions),
            *(Placed(Wave.DEVICES, item) for item in _programs(spec, options)),
        )
    )


def _programs(spec: ClusterSpec, options: NodeFeatureDiscovery) -> Iterator[KubeObject]:
    yield from controllers.master(spec, options)
    yield from controllers.collector(spec, options)
    if options.worker:
        yield from worker.worker(spec, options)


COMPONENT = Component(contribute, NodeFeatureDiscovery)
