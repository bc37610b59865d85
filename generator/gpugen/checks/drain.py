"""Checks of how plays empty nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec


@check("drain-without-effect", "DRV-15", severity=Severity.WARNING)
def drain_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """The plays do not drain nodes yet: where a node would have to be emptied, they stop.

    An installed driver is not changed, and a node not rebooted, while its kubelet runs. Source:
    the roles nvidia_driver and gpu_node.
    """
    if "drain" in spec.stated:
        yield (
            ROOT / "drain",
            "drain has no effect: the plays of this version stop where a node must be emptied",
            "drain the node by hand there, then run the play again",
        )
