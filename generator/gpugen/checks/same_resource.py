"""Checks of resources that are a whole device in one pool and a share of one in another."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.model.finding import Severity
from gpugen.model.options import Guardrails
from gpugen.model.prediction import ResourcePrediction
from gpugen.model.spec import ClusterSpec, NodePool

KEEPS_AWAY = ("NoSchedule", "NoExecute")
OF_THE_VENDOR = "nvidia.com/"  # taints that every pod that requests a GPU tolerates


@check("sharing-same-name-as-whole", "GG-08", severity=Severity.WARNING)
def same_name(spec: ClusterSpec) -> Iterator[Problem]:
    """The scheduler counts units by name and does not know that some are shares of a device.

    A pod that requests eight may bind to a node whose eight units are shares of two devices. The
    kubelet rejects it there (UnexpectedAdmissionError), or, with failRequestsGreaterThanOne: false,
    it runs on fewer devices than it requested. A taint that only the shared pool has keeps such
    pods away, unless its key begins with nvidia.com/, which pods that request GPUs tolerate.
    Source: k8s-device-plugin v0.19.3, internal/rm and api/config/v1, replicas.
    """
    guardrails = spec.find(Guardrails)
    tolerated = frozenset(guardrails.tolerated_taints if guardrails else ())
    for pool in spec.pools:
        for resource in pool.prediction.resources:
            others = [
                other
                for other in spec.pools
                if _asks_for_several(other, resource) and not _is_apart(pool, other, tolerated)
            ]
            if resource.replicas > 1 and resource.units > 1 and others:
                what = (
                    "the kubelet rejects such a pod there"
                    if pool.sharing.fail_requests_greater_than_one
                    else "its units may be shares of one device"
                )
                yield Problem(
                    at=pool.sharing.at / "resources" / resource.base,
                    message=f"{resource.name} is a share in pool {POOL} and a whole device in"
                    f" {_named(others)}: a pod that requests several may bind here, and"
                    f" {what}",
                    hint="write rename: true here, or give this pool its own taint, such as {key:"
                    " example.com/shared, effect: NoSchedule}",
                    pool=pool.name,
                )


def _asks_for_several(pool: NodePool, shared: ResourcePrediction) -> bool:
    """Tell whether a node of the pool has several whole devices of that name."""
    return any(
        one.name == shared.name and one.replicas == 1 and one.units > 1
        for one in pool.prediction.resources
    )


def _is_apart(shared: NodePool, whole: NodePool, tolerated: frozenset[str]) -> bool:
    """Tell whether pods for whole devices are kept off the nodes with shares.

    tolerated: keys of taints that every pod with a GPU is made to tolerate.
    """
    known = {(taint.key, taint.value) for taint in whole.taints}
    return any(
        taint.effect in KEEPS_AWAY
        and not taint.key.startswith(OF_THE_VENDOR)
        and taint.key not in tolerated
        and (taint.key, taint.value) not in known
        for taint in shared.taints
    )


def _named(pools: list[NodePool]) -> str:
    names = ", ".join(f"{pool.name!r}" for pool in pools[:3])
    more = f" and {len(pools) - 3} more" if len(pools) > 3 else ""
    return f"{'pools' if len(pools) > 1 else 'pool'} {names}{more}"
