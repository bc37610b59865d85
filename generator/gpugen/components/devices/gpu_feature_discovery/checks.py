"""Checks of GPU feature discovery."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components.devices.gpu_feature_discovery import Options
from gpugen.kube.gpu_access import sees_mig
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("gpu-feature-discovery-without-nfd", "GG-04", "GG-15", component="gpu-feature-discovery")
def without_nfd(spec: ClusterSpec) -> Iterator[Problem]:
    """GPU feature discovery writes NodeFeatures; node feature discovery makes them labels.

    Without it the kind NodeFeature does not exist: GPU feature discovery crash-loops, and nodes get
    no labels. MPS does not depend on it here: the daemon selects the pool and not the label
    nvidia.com/mps.capable. Source: k8s-device-plugin v0.19.3, internal/lm/output.go.
    """
    if "node-feature-discovery" not in spec.options:
        yield Problem(
            at=spec.at / "components" / "node-feature-discovery",
            message="gpu-feature-discovery is on and node-feature-discovery is off",
            hint="if the cluster has one already, write node-feature-discovery: {mode: existing};"
            " otherwise remove node-feature-discovery: false, or switch"
            " gpu-feature-discovery off as well",
        )


@check(
    "gpu-feature-discovery-option-without-effect",
    "GG-05",
    severity=Severity.WARNING,
    component="gpu-feature-discovery",
    at_key=True,
)
def option_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """vgpuLabels adds SYS_ADMIN, which GPU feature discovery has anyway to see MIG instances.

    It also has it with deviceListStrategy volume-mounts.
    """
    has_it = "volume-mounts" in spec.device_list_strategy or all(map(sees_mig, spec.pools))
    if spec.own(Options).vgpu_labels and has_it:
        yield Problem(
            at=spec.at / "components" / "gpu-feature-discovery" / "vgpuLabels",
            message="vgpuLabels has no effect: GPU feature discovery has SYS_ADMIN on every pool"
            " anyway",
            hint="remove vgpuLabels",
        )
