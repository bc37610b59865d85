"""Checks of the second scheduler: whether it does anything, and whom it gets in the way of."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components.scheduler import COMPONENT_NAME
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec

AT = ROOT / "components" / COMPONENT_NAME
KEEPS_PODS_AWAY = frozenset({"NoSchedule", "NoExecute"})


@check("scheduler-double-booking", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME)
def double_booking(spec: ClusterSpec) -> Iterator[Problem]:
    """Two schedulers fill the same nodes and do not see each other's decisions.

    Both may give the last GPU of a node away; the kubelet then refuses the second pod, which ends
    with UnexpectedAdmissionError or OutOfnvidia.com/gpu. A taint of the pool keeps the pods away
    that do not tolerate it; those that do should all name this scheduler.
    """
    name = spec.options[COMPONENT_NAME]["schedulerName"]
    for pool in spec.pools:
        if not any(taint.effect in KEEPS_PODS_AWAY for taint in pool.taints):
            yield (
                pool.at / "taints",
                f"pool {pool.name!r} has no taint that keeps pods away, so the main scheduler "
                f"fills its nodes beside {name!r}: they can give the same GPU to two pods",
                "give the pool a taint (effect NoSchedule) and let the pods that tolerate it name "
                f"schedulerName: {name}; where the distribution allows it, configuring the main "
                "scheduler is the better way",
            )


@check(
    "scheduler-without-bin-packing", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME
)
def without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Without bin packing the second scheduler places pods exactly as the main one does."""
    options = spec.options[COMPONENT_NAME]
    if options["binPacking"]:
        return
    yield (
        AT / "binPacking",
        f"with binPacking: false scheduler {options['schedulerName']!r} has no effect: it places "
        "pods as the main scheduler does",
        "remove the component, or set binPacking: true",
    )


@check("scheduler-weights-without-bin-packing", "GG-05", component=COMPONENT_NAME, at_key=True)
def weights_without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Weights say how nodes are packed; with bin packing off the scheduler's own defaults hold."""
    stated = spec.stated["components"][COMPONENT_NAME]
    if spec.options[COMPONENT_NAME]["binPacking"] or not isinstance(stated, dict):
        return
    for key in ("scoreWeight", "weights"):
        if key in stated:
            yield (
                AT / key,
                f"{key} has no effect with binPacking: false",
                f"leave {key} out, or set binPacking: true",
            )
