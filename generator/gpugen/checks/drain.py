"""Checks of how plays empty nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec


@check("drain-without-context", "DRV-15", severity=Severity.WARNING)
def drain_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """Plays drain nodes through kubectl, which needs a context; without one they stop there.

    A driver is then not changed, and a host not rebooted, while its kubelet runs.
    """
    if ROOT / "drain" in spec.stated and not spec.access.kubeconfig_context:
        yield Problem(
            at=ROOT / "drain",
            message="drain has no effect: the plays have no context by which to reach the cluster",
            hint="write access: {kubeconfigContext: ...}, or remove drain",
        )
