"""What clusters must not share: hosts, the cluster itself, the context that leads to it.

Linear in the hosts of all specs. Only specs of one run are compared, so a run of one cluster costs
what that cluster costs, and compares nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from gpugen.checks.fleet.access import same_context, same_uid
from gpugen.checks.fleet.hosts import same_hosts
from gpugen.checks.fleet.members import Member
from gpugen.load import Document
from gpugen.model.finding import Finding
from gpugen.model.spec import ClusterSpec

WHY = {
    "fleet-same-host": (
        "A host of two clusters would be installed, rebooted and labelled by the"
        " plays of both. Two hosts are the same if they have one name, or one"
        " address with the same port and jump hosts. Short names with different"
        " addresses are different hosts. The specs of one run are compared: all of"
        " the repository, unless the command names clusters."
    ),
    "fleet-too-many-hosts": (
        "The hosts of all specs are compared with one another, so their"
        " number is limited. A range that is too long is the usual cause."
    ),
    "fleet-same-cluster-uid": (
        "access.clusterUID is the uid of a cluster's namespace kube-system."
        " Two specs with the same uid would be applied to one cluster, each"
        " reverting the other."
    ),
    "fleet-same-context": "One kubeconfig context leads to one cluster. Where access.clusterUID is"
    " missing, nothing stops the plays of one spec from draining and labelling the nodes of the"
    " other's cluster.",
}
WARNINGS = frozenset({"fleet-same-context"})


class Resolved(Protocol):
    """One spec file after load and resolve."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def document(self) -> Document | None:
        """The spec as loaded, if it could be."""

    @property
    def spec(self) -> ClusterSpec | None:
        """The spec, if its names are known."""


def compare(specs: Sequence[Resolved], root: Path) -> Iterator[tuple[int, Finding]]:
    """Yield what clusters share and must not, with the number of the spec that it concerns.

    Specs that could not be read are left out. The finding's place is in the later of two clusters.
    """
    members = [
        Member(number, one.spec, one.document, root)
        for number, one in enumerate(specs)
        if one.spec is not None and one.document is not None
    ]
    if len(members) < 2:
        return
    yield from same_hosts(members)
    yield from same_uid(members)
    yield from same_context(members)
