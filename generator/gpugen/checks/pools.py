"""Checks of pools: names, hosts, labels, taints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpugen import host_ranges
from gpugen.checks import Problem, check
from gpugen.host_ranges import RangeError, node_name
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec, HostLine

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_GROUPS = frozenset({"all", "ungrouped", "localhost"})
_OWN_VARIABLES = ("gpu_", "gpugen_", "nvidia_", "cuda_", "kube_scheduler_")
_SECRETS = ("password", "passwd", "secret", "token", "private_key", "vault")
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


@check("pools-same-name")
def same_name(spec: ClusterSpec) -> Iterator[Problem]:
    """A pool's name is a folder, a node label and an inventory group: two pools cannot share it."""
    seen: set[str] = set()
    for pool in spec.pools:
        if pool.name in seen:
            yield (
                pool.at / "name",
                f"two pools are called {pool.name!r}",
                "rename one, or join their hosts in one pool",
            )
        seen.add(pool.name)


@check("hosts-range-wrong")
def ranges(spec: ClusterSpec) -> Iterator[Problem]:
    """Ansible refuses the range or it names no host.

    Source: ansible-core 2.19, expand_hostname_range.
    """
    total = 0
    for pool in spec.pools:
        for line in pool.hosts:
            try:
                total += host_ranges.count(line.pattern)
            except RangeError as fault:
                yield _name_of(line, spec), str(fault), "write it low to high, such as [01:16]"
    if total > host_ranges.MOST:
        yield (
            spec.at / "pools",
            f"the spec names {total} hosts; one cluster has at most {host_ranges.MOST}",
            "look for a range that runs too far",
        )


@check("hosts-same-host")
def same_host(spec: ClusterSpec) -> Iterator[Problem]:
    """A host that stands in two places would get two configurations, one after the other."""
    seen: dict[str, str] = {}
    for pool in spec.pools:
        for line in pool.hosts:
            twice = []
            for host in _hosts(line):
                if host in seen:
                    twice.append((host, seen[host]))
                seen[host] = pool.name
            if twice:
                host, other = twice[0]
                where = f"also in pool {other!r}" if other != pool.name else "named twice"
                more = f" (and {len(twice) - 1} more hosts)" if len(twice) > 1 else ""
                yield (
                    _name_of(line, spec),
                    f"host {host!r} of pool {pool.name!r} is {where}{more}",
                    "a host belongs to one pool and is named once",
                )


@check("hosts-same-node")
def same_node(spec: ClusterSpec) -> Iterator[Problem]:
    """Two hosts would be the same Kubernetes node: the play would label one for both."""
    seen: dict[str, str] = {}
    for pool in spec.pools:
        for line in pool.hosts:
            for host in _hosts(line):
                node = node_name(spec, line, host)
                if seen.setdefault(node, host) != host:
                    yield (
                        _name_of(line, spec),
                        f"hosts {seen[node]!r} and {host!r} are both the node {node!r}",
                        "write access.nodeNames: fqdn, or a nodeName per host",
                    )
                    break


@check("hosts-name-wrong")
def host_names(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes takes a node's name only as DNS labels of at most 63 characters.

    The names of Ansible's own groups are no host names either.
    """
    for pool in spec.pools:
        for line in pool.hosts:
            host = next(_hosts(line), "")
            node = node_name(spec, line, host)
            if host in _GROUPS:
                yield (
                    _name_of(line, spec),
                    f"{host!r} means something else to Ansible",
                    "write the host's name",
                )
            elif host and (not _NODE_NAME.match(node) or any(len(p) > 63 for p in node.split("."))):
                yield (
                    _name_of(line, spec),
                    f"host {host!r} would be the node {node!r}, which Kubernetes does not allow",
                    "labels of a name have 1 to 63 letters, digits and inner hyphens",
                )


@check("hosts-range-with-own-values")
def range_with_own_values(spec: ClusterSpec) -> Iterator[Problem]:
    """An address or a node name is one host's own; a range would give it to many."""
    for pool in spec.pools:
        for line in pool.hosts:
            own = "address" if line.address else "nodeName" if line.node_name else ""
            if own and "[" in line.pattern:
                yield (
                    line.at / own,
                    f"{line.pattern!r} is a range, but {own} belongs to one host",
                    "name the hosts one by one",
                )


@check("hosts-variable-not-free")
def host_variables(spec: ClusterSpec) -> Iterator[Problem]:
    """Variables of our roles follow from the spec, and a secret does not belong into git."""
    for pool in spec.pools:
        for line in pool.hosts:
            for name in line.variables:
                at = line.at / "variables" / name
                if name.startswith(_OWN_VARIABLES):
                    yield (
                        at,
                        f"variable {name!r} belongs to gpugen's roles",
                        "state it through the spec, in the pool or its host settings",
                    )
                elif any(word in name for word in _SECRETS):
                    yield (
                        at,
                        f"variable {name!r} looks like a secret, and the output is committed",
                        "keep it in Ansible Vault or in the environment of the play",
                    )


@check("pool-label-not-free", "GG-13", "DIST-17")
def labels(spec: ClusterSpec) -> Iterator[Problem]:
    """A label of the spec is re-asserted by every play; its other owner would fight for it."""
    for pool in spec.pools:
        for key in pool.labels:
            prefix = key.rpartition("/")[0]
            owner = _owner(prefix)
            if owner:
                yield (
                    pool.at / "labels" / key,
                    f"label {key!r} is not free: {owner}",
                    "use a prefix of your own, such as example.com/team",
                )


@check("pool-taint-twice")
def taints(spec: ClusterSpec) -> Iterator[Problem]:
    """Kubernetes refuses a node on which one key and effect occur twice."""
    for pool in spec.pools:
        seen: set[tuple[str, str]] = set()
        for taint in pool.taints:
            if (taint.key, taint.effect) in seen:
                yield (
                    taint.at,
                    f"taint {taint.key!r} with effect {taint.effect} stands twice",
                    "keep one of them",
                )
            seen.add((taint.key, taint.effect))


@check("pool-architecture")
def architecture(spec: ClusterSpec) -> Iterator[Problem]:
    """The board does not occur in hosts of that processor architecture. Source: the catalogue."""
    for pool in spec.pools:
        known = pool.gpu.host_architectures
        if pool.host.architecture not in known:
            yield (
                pool.host.at / "architecture",
                f"{pool.gpu.id} occurs in {' and '.join(known)} hosts,"
                f" not in {pool.host.architecture}",
                "correct the architecture or the model",
            )


def _owner(prefix: str) -> str:
    """Say who owns labels of a prefix or of a domain below it; empty if nobody does."""
    for domain, why in _FOREIGN_LABELS.items():
        if prefix == domain or prefix.endswith(f".{domain}"):
            return why
    return ""


def _name_of(line: HostLine, spec: ClusterSpec) -> Pointer:
    """Return where a line's host name stands: the item itself, or its ``name``."""
    _, pool, _, index = line.at.parts
    stated = spec.stated["pools"][int(pool)]["hosts"][int(index)]
    return line.at / "name" if isinstance(stated, dict) else line.at


def _hosts(line: HostLine) -> Iterator[str]:
    """List a line's hosts; a range that is wrong has none (another check tells)."""
    try:
        yield from host_ranges.expand(line.pattern)
    except RangeError:
        return
