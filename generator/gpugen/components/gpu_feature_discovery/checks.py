"""Checks of GPU feature discovery."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.spec import ClusterSpec


@check("gpu-feature-discovery-without-nfd", "GG-04", "GG-15", component="gpu-feature-discovery")
def without_nfd(spec: ClusterSpec) -> Iterator[Problem]:
    """GPU feature discovery writes NodeFeatures; node feature discovery makes labels of them.

    Without it the kind NodeFeature does not exist, so feature discovery ends with an error and
    starts again for ever, and no node gets a label. MPS does not depend on it here: the daemon
    selects the pool and not the label nvidia.com/mps.capable.
    Source: k8s-device-plugin v0.19.3, internal/lm/output.go.
    """
    if "node-feature-discovery" not in spec.options:
        yield (
            spec.at / "components" / "node-feature-discovery",
            "gpu-feature-discovery is on and node-feature-discovery is off",
            "where the cluster has one already, write node-feature-discovery: {mode: existing}; "
            "otherwise leave it out, or switch gpu-feature-discovery off as well",
        )
