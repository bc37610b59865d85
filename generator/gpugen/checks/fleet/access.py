"""Access to a Kubernetes cluster that two specs share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpugen.checks.fleet.members import Member
from gpugen.model.finding import ROOT, Finding, Severity

_ACCESS = ROOT / "access"


def same_uid(members: Sequence[Member]) -> Iterator[tuple[int, Finding]]:
    for member, other in _sharing(members, {m.number: m.spec.access.cluster_uid for m in members}):
        at = _ACCESS / "clusterUID"
        yield (
            member.number,
            Finding(
                "fleet-same-cluster-uid",
                f"clusters {other.spec.name!r} ({other.place(at)}) and {member.spec.name!r} have"
                " the same clusterUID: one cluster with two specs",
                "write each cluster's own uid: kubectl get namespace kube-system -o"
                " jsonpath={.metadata.uid}",
                at,
            ),
        )


def same_context(members: Sequence[Member]) -> Iterator[tuple[int, Finding]]:
    contexts = {m.number: m.spec.access.kubeconfig_context for m in members}
    uids = {m.number: m.spec.access.cluster_uid for m in members}
    for member, other in _sharing(members, contexts, uids):
        at = _ACCESS / "kubeconfigContext"
        unproven = [m.spec.name for m in (other, member) if not uids[m.number]]
        yield (
            member.number,
            Finding(
                "fleet-same-context",
                f"clusters {other.spec.name!r} ({other.place(at)}) and {member.spec.name!r} have"
                f" the same kubeconfigContext, and {' and '.join(map(repr, unproven))} no"
                " clusterUID",
                "write another context, or access.clusterUID in both, so that plays stop if they"
                " reach the wrong cluster",
                at,
                Severity.WARNING,
            ),
        )


def _sharing(
    members: Sequence[Member],
    values: Mapping[int, str],
    proofs: Mapping[int, str] | None = None,
) -> Iterator[tuple[Member, Member]]:
    """Yield each member with the first one before it that has the same value.

    proofs: where both have one, a shared value is allowed; then a member without one is sought.
    """
    first: dict[str, Member] = {}
    unproven: dict[str, Member] = {}
    for member in members:
        value = values[member.number].lower() if proofs is None else values[member.number]
        if not value:
            continue
        has_proof = proofs is not None and bool(proofs[member.number])
        other = unproven.get(value) if has_proof else first.get(value)
        if other is not None:
            yield member, other
        first.setdefault(value, member)
        if not has_proof:
            unproven.setdefault(value, member)
