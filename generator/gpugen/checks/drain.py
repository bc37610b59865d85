"""Checks of how plays drain nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec


@check("drain-without-context", "DRV-15", severity=Severity.WARNING)
def drain_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """Plays drain nodes with kubectl, which needs a context; without one they stop at that step.

    They then change no driver and reboot no host whose kubelet runs.
    """
    if ROOT / "drain" in spec.stated and not spec.access.kubeconfig_context:
        yield Problem(
            at=ROOT / "drain",
            message="drain has no effect: no access.kubeconfigContext, so plays cannot reach the"
            " cluster",
            hint="write access: {kubeconfigContext: ...}, or remove drain",
        )
