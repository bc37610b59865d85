"""Checks of the RuntimeClass."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("runtime-class-second-owner", "GG-14", "DIST-07", component="runtime-class")
def second_owner(spec: ClusterSpec) -> Iterator[Problem]:
    """RuntimeClass nvidia has one owner; some distributions bring it.

    k3s applies it as an add-on at each start, RKE2 by a Helm chart that takes over what it finds:
    the delivery engine and the distribution would change its fields and labels to and fro.
    Source: k3s add-on runtimes, RKE2 chart rke2-runtimeclasses (takeOwnership).
    """
    distribution = spec.kubernetes.distribution
    if distribution.has_runtime_class:
        yield Problem(
            at=spec.at / "components" / "runtime-class",
            message=f"{distribution.id} brings RuntimeClass nvidia itself",
            hint="leave runtime-class out",
        )


@check("runtime-class-missing", "GG-15", "DIST-07", severity=Severity.WARNING)
def missing(spec: ClusterSpec) -> Iterator[Problem]:
    """Every pod of gpugen that sees a GPU names RuntimeClass nvidia, so somebody has to bring it.

    A pod that names a missing class is refused, and the DaemonSet only shows that it has none.
    Source: Kubernetes documentation, Runtime Class, "Usage".
    """
    if "runtime-class" not in spec.options and not spec.kubernetes.distribution.has_runtime_class:
        yield Problem(
            at=spec.at / "components" / "runtime-class",
            message="runtime-class is switched off: RuntimeClass nvidia must come from elsewhere, "
            "or no agent starts",
            hint="leave runtime-class out, unless another owner makes the class with handler"
            " nvidia",
        )
