"""Checks of pools: names, labels, taints."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.hosts.places import host_setting
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec

PODS = 110  # of a node, by the kubelet's default
_FOREIGN_LABELS = {
    "gpugen": "gpugen sets it from the spec",
    "nvidia.com": "GPU feature discovery or the MIG manager owns it",
    "nfd.node.kubernetes.io": "node feature discovery owns it",
    "feature.node.kubernetes.io": "node feature discovery owns it",
    "node-restriction.kubernetes.io": "only administrators of the cluster may set it",
    "kubernetes.io": "Kubernetes owns it",
    "node.kubernetes.io": "Kubernetes owns it",
    "node-role.kubernetes.io": "Kubernetes owns it",
    "topology.kubernetes.io": "Kubernetes owns it",
}


_FOREIGN_TAINTS = {
    "node.kubernetes.io": "Kubernetes sets and removes it",
    "node.cloudprovider.kubernetes.io": "the cloud's controller sets and removes it",
    "gpugen": "gpugen sets it from the spec",
}


@check("pools-same-name")
def same_name(spec: ClusterSpec) -> Iterator[Problem]:
    """A pool's name is a folder, a node label and an inventory group: two pools cannot share it."""
    seen: set[str] = set()
    for pool in spec.pools:
        if pool.name in seen:
            yield Problem(
                at=pool.at / "name",
                message=f"two pools are called {POOL}",
                hint="rename one, or join their hosts in one pool",
                pool=pool.name,
            )
        seen.add(pool.name)


@check("pool-label-not-free", "GG-13", "DIST-17", at_key=True)
def labels(spec: ClusterSpec) -> Iterator[Problem]:
    """A label of the spec is re-asserted by every play; its other owner would fight for it."""
    for pool in spec.pools:
        for key in pool.labels:
            prefix = key.rpartition("/")[0]
            owner = _owner(prefix)
            if owner:
                yield Problem(
                    at=pool.at / "labels" / key,
                    message=f"label {key!r} is not free: {owner}",
                    hint="use a prefix of your own, such as example.com/team",
                    pool=pool.name,
                )


@check("pool-taint-twice")
def taints(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes refuses a node on which one key and effect occur twice."""
    for pool in spec.pools:
        seen: set[tuple[str, str]] = set()
        for taint in pool.taints:
            if (taint.key, taint.effect) in seen:
                yield Problem(
                    at=taint.at,
                    message=f"taint {taint.key!r} with effect {taint.effect} stands twice",
                    hint="keep one of them",
                    pool=pool.name,
                )
            seen.add((taint.key, taint.effect))


@check("pool-taint-not-free")
def taint_not_free(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes sets and removes the taints of its own domain, by what it sees of a node.

    Source: Kubernetes documentation, taints and tolerations, "Taint based evictions".
    """
    for pool in spec.pools:
        for taint in pool.taints:
            prefix = taint.key.rpartition("/")[0]
            if prefix in _FOREIGN_TAINTS:
                yield Problem(
                    at=taint.at / "key",
                    message=f"taint {taint.key!r} is not free: {_FOREIGN_TAINTS[prefix]}",
                    hint="use a key of your own, such as nvidia.com/gpu or example.com/team",
                    pool=pool.name,
                )


@check("pool-architecture")
def architecture(spec: ClusterSpec) -> Iterator[Problem]:
    """The board does not occur in hosts of that processor architecture. Source: the catalogue."""
    for pool in spec.pools:
        known = pool.gpu.host_architectures
        if pool.host.architecture not in known:
            yield Problem(
                at=host_setting(spec, pool, "architecture"),
                message=f"{pool.gpu.id} occurs in {' and '.join(known)} hosts,"
                f" not in {pool.host.architecture}",
                hint="correct the architecture or the model",
                pool=pool.name,
            )


@check("pool-more-units-than-pods", severity=Severity.WARNING)
def more_units_than_pods(spec: ClusterSpec) -> Iterator[Problem]:
    """A kubelet takes 110 pods unless its configuration says otherwise, those of agents included.

    Where every unit is to have a pod of its own, units beyond that stay idle: the scheduler leaves
    the pods Pending with "Too many pods". Source: kubernetes v1.36.3, KubeletConfiguration.
    """
    for pool in spec.pools:
        units = sum(pool.prediction.capacity.values())
        if units > PODS:
            yield Problem(
                at=pool.sharing.at / "resources"
                if pool.sharing.resources
                else pool.mig.at / "layout",
                message=f"a node of pool {POOL} advertises {units} units, and a kubelet takes"
                f" {PODS}"
                " pods by default",
                hint="raise maxPods in the kubelets' configuration, or make fewer units",
                pool=pool.name,
            )


def _owner(prefix: str) -> str:
    """Say who owns labels of a prefix or of a domain below it; empty if nobody does."""
    for domain, why in _FOREIGN_LABELS.items():
        if prefix == domain or prefix.endswith(f".{domain}"):
            return why
    return ""
