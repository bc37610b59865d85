"""Checks of the RuntimeClass."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("runtime-class-second-owner", "GG-14", "DIST-07", component="runtime-class")
def second_owner(spec: ClusterSpec) -> Iterator[Problem]:
    """RuntimeClass nvidia must have one owner; some distributions ship it.

    k3s applies it as an add-on at each start, RKE2 by a Helm chart that adopts an existing one:
    delivery engine and distribution would overwrite each other's fields and labels. Source: k3s
    add-on runtimes, RKE2 chart rke2-runtimeclasses (takeOwnership).
    """
    distribution = spec.kubernetes.distribution
    if distribution.has_runtime_class:
        yield Problem(
            at=spec.at / "components" / "runtime-class",
            message=f"{distribution.id} ships RuntimeClass nvidia itself",
            hint="remove runtime-class",
        )


@check("runtime-class-missing", "GG-15", "DIST-07", severity=Severity.WARNING)
def missing(spec: ClusterSpec) -> Iterator[Problem]:
    """gpugen's pods that see GPUs use RuntimeClass nvidia, so it has to exist.

    Pods with a missing RuntimeClass are rejected, and the DaemonSet only shows that it has none.
    Source: Kubernetes documentation, Runtime Class, "Usage".
    """
    if "runtime-class" not in spec.options and not spec.kubernetes.distribution.has_runtime_class:
        yield Problem(
            at=spec.at / "components" / "runtime-class",
            message="runtime-class is off: without RuntimeClass nvidia from elsewhere no agent"
            " starts",
            hint="remove runtime-class: false, unless the class with handler nvidia is created"
            " elsewhere",
        )
