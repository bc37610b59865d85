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


_NOBODYS = {
    "nvidia.com/gpu"
}  # label of hand-written clusters; GPU feature discovery has nvidia.com/gpu.*
_FOREIGN_TAINTS = {
    "node.kubernetes.io": "Kubernetes sets and removes it",
    "node.cloudprovider.kubernetes.io": "the cloud's controller sets and removes it",
    "gpugen": "gpugen sets it from the spec",
}


@check("pools-same-name")
def same_name(spec: ClusterSpec) -> Iterator[Problem]:
    """A pool's name is a folder, a node label and an inventory group, so it must be unique."""
    seen: set[str] = set()
    for pool in spec.pools:
        if pool.name in seen:
            yield Problem(
                at=pool.at / "name",
                message=f"two pools have the name {POOL}",
                hint="rename one, or move their hosts into one pool",
                pool=pool.name,
            )
        seen.add(pool.name)


@check("pool-label-not-free", "GG-13", "DIST-17", at_key=True)
def labels(spec: ClusterSpec) -> Iterator[Problem]:
    """Plays set the spec's labels on every run, so they must not have another owner."""
    for pool in spec.pools:
        for key in pool.labels:
            prefix = key.rpartition("/")[0]
            owner = _owner(prefix)
            if owner and key not in _NOBODYS:
                yield Problem(
                    at=pool.at / "labels" / key,
                    message=f"label {key!r} is reserved: {owner}",
                    hint="use a prefix of your own, such as example.com/team",
                    pool=pool.name,
                )


@check("pool-taint-twice")
def taints(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes rejects a node with two taints of the same key and effect."""
    for pool in spec.pools:
        seen: set[tuple[str, str]] = set()
        for taint in pool.taints:
            if (taint.key, taint.effect) in seen:
                yield Problem(
                    at=taint.at,
                    message=f"duplicate taint {taint.key!r} with effect {taint.effect}",
                    hint="remove one of them",
                    pool=pool.name,
                )
            seen.add((taint.key, taint.effect))


@check("pool-taint-not-free")
def taint_not_free(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes sets and removes the taints of its own domain itself.

    Source: Kubernetes documentation, taints and tolerations, "Taint based evictions".
    """
    for pool in spec.pools:
        for taint in pool.taints:
            prefix = taint.key.rpartition("/")[0]
            if prefix in _FOREIGN_TAINTS:
                yield Problem(
                    at=taint.at / "key",
                    message=f"taint {taint.key!r} is reserved: {_FOREIGN_TAINTS[prefix]}",
                    hint="use another key, such as nvidia.com/gpu or example.com/team",
                    pool=pool.name,
                )


@check("pool-architecture")
def architecture(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model does not exist in hosts of that CPU architecture. Source: the catalogue."""
    for pool in spec.pools:
        known = pool.gpu.host_architectures
        if pool.host.architecture not in known:
            yield Problem(
                at=host_setting(spec, pool, "architecture"),
                message=f"{pool.gpu.id} exists in {' and '.join(known)} hosts only, not in"
                f" {pool.host.architecture}",
                hint="correct architecture or gpu.model",
                pool=pool.name,
            )


@check("pool-more-units-than-pods", severity=Severity.WARNING)
def more_units_than_pods(spec: ClusterSpec) -> Iterator[Problem]:
    """A kubelet runs at most 110 pods by default, agents included.

    If each unit is to have its own pod, units beyond that stay idle: the scheduler leaves the pods
    Pending with "Too many pods". Source: kubernetes v1.36.3, KubeletConfiguration.
    """
    for pool in spec.pools:
        units = sum(pool.prediction.capacity.values())
        if units > PODS:
            yield Problem(
                at=pool.sharing.at / "resources"
                if pool.sharing.resources
                else pool.mig.at / "layout",
                message=f"a node of pool {POOL} advertises {units} units, but a kubelet runs at"
                f" most {PODS} pods by default",
                hint="raise maxPods in the kubelets' configuration, or reduce the number of units",
                pool=pool.name,
            )


def _owner(prefix: str) -> str:
    """Return who owns labels with a prefix or in a domain below it; empty if nobody does."""
    for domain, why in _FOREIGN_LABELS.items():
        if prefix == domain or prefix.endswith(f".{domain}"):
            return why
    return ""
