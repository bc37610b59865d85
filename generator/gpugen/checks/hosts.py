"""Checks of hosts: ranges and names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.checks.addresses import host_lines
from gpugen.checks.mig_names import LABEL_LIMIT
from gpugen.hosts.addresses import DNS_NAME, LABEL, not_a_hosts, parsed
from gpugen.hosts.names import ALL_HOSTS, CONTROL_HOST, CONTROL_PLANE, OF_ANSIBLE, pool_group
from gpugen.hosts.ranges import MOST, RangeError, TooManyHostsError, count, node_name
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec, HostLine

_NODE_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*\Z")


@check("hosts-range-wrong")
def ranges(spec: ClusterSpec) -> Iterator[Problem]:
    """Ansible rejects the range, or the range has no host.

    Source: ansible-core 2.19, expand_hostname_range.
    """
    total = 0
    for line in host_lines(spec):
        try:
            total += count(line.pattern)
        except RangeError as error:
            hint = "write it low to high, with as many digits on both sides, such as [01:16]"
            if isinstance(error, TooManyHostsError):
                hint = "check the range for an extra digit"
            yield Problem(at=_name_of(line, spec), message=str(error), hint=hint)
    if total > MOST:
        yield Problem(
            at=spec.at / "pools",
            message=f"the spec has {total} hosts; a cluster may have at most {MOST}",
            hint="check for a range that is too long",
        )


@check("hosts-same-host")
def same_host(spec: ClusterSpec) -> Iterator[Problem]:
    """A host that is listed twice would get two configurations, one after the other."""
    seen: dict[str, str] = {}
    for pool in spec.pools:
        for line in pool.hosts:
            twice = []
            for host in line.hosts:
                if host in seen:
                    twice.append((host, seen[host]))
                seen[host] = pool.name
            if twice:
                host, other = twice[0]
                where = f"also in pool {other!r}" if other != pool.name else "listed twice"
                more = f" (and {len(twice) - 1} more hosts)" if len(twice) > 1 else ""
                yield Problem(
                    at=_name_of(line, spec),
                    message=f"host {host!r} of pool {POOL} is {where}{more}",
                    hint="list each host once, in one pool",
                    pool=pool.name,
                )


@check("hosts-same-node")
def same_node(spec: ClusterSpec) -> Iterator[Problem]:
    """Two hosts would be the same Kubernetes node: the play would label one for both."""
    seen: dict[str, str] = {}
    for pool in spec.pools:
        for line in pool.hosts:
            for host in line.hosts:
                node = node_name(spec, line, host)
                if seen.setdefault(node, host) != host:
                    yield Problem(
                        at=_name_of(line, spec),
                        message=f"hosts {seen[node]!r} and {host!r} are both the node {node!r}",
                        hint="write access.nodeNames: fqdn, or a nodeName for each host",
                        pool=pool.name,
                    )
                    break


@check("hosts-name-wrong")
def host_names(spec: ClusterSpec) -> Iterator[Problem]:
    """A Kubernetes node name consists of DNS labels, 63 characters in all.

    Kubernetes allows more, but the kubelet also writes the name into the label
    kubernetes.io/hostname.
    """
    for line in host_lines(spec):
        host = max(line.hosts, key=len, default="")
        node = node_name(spec, line, host)
        if host and not DNS_NAME.match(host):
            yield Problem(
                at=_name_of(line, spec),
                message=f"{host!r} is not a valid host name",
                hint="use labels of 1 to 63 letters, digits and inner hyphens, separated by dots",
            )
        elif not_a_hosts(host):
            continue  # hosts-name-not-free says so
        elif parsed(host) is not None and not line.node_name and node != host:
            yield Problem(
                at=_name_of(line, spec),
                message=f"{host!r} is an address, and its node would be called {node!r}",
                hint=f"write {{name: <host name>, address: {host}}}, or add its nodeName",
            )
        elif host and not _NODE_NAME.match(node):
            yield Problem(
                at=_name_of(line, spec),
                message=f"host {host!r} would be the node {node!r}, which Kubernetes does not"
                " allow",
                hint="use labels of 1 to 63 letters, digits and inner hyphens, separated by dots",
            )
        elif len(node) > LABEL_LIMIT:
            yield Problem(
                at=_name_of(line, spec),
                message=f"the node name {node!r} has {len(node)} characters; at most"
                f" {LABEL_LIMIT} are allowed",
                hint="write access.nodeNames: short, or the nodeName that the cluster shows",
            )


@check("hosts-name-not-free")
def free_names(spec: ClusterSpec) -> Iterator[Problem]:
    """The name is already a group of the inventory, or means the control host.

    Source: ansible-core 2.19, constants.py, LOCALHOST: tasks delegated to one of these names follow
    a host of the inventory that is called so.
    """
    groups = {*OF_ANSIBLE, ALL_HOSTS, CONTROL_PLANE, *(pool_group(p.name) for p in spec.pools)}
    for line in host_lines(spec):
        for host in line.hosts:
            if host.lower() in groups:
                why, hint = "is a group of the inventory", "write the host's own name"
            elif host.lower() == CONTROL_HOST:
                why, hint = "is the control host, on which plays run", "write the host's own name"
            elif why := not_a_hosts(host):
                hint = "write the name and address at which other machines reach the host"
            else:
                continue
            yield Problem(at=_name_of(line, spec), message=f"{host!r} {why}", hint=hint)
            break


@check("hosts-range-with-own-values")
def range_with_own_values(spec: ClusterSpec) -> Iterator[Problem]:
    """An address or a node name belongs to one host, not to a range of hosts."""
    for line in host_lines(spec):
        own = "address" if line.address else "nodeName" if line.node_name else ""
        if own and "[" in line.pattern:
            yield Problem(
                at=line.at / own,
                message=f"{line.pattern!r} is a range, but {own} belongs to one host",
                hint="list the hosts one by one",
            )


def _name_of(line: HostLine, spec: ClusterSpec) -> Pointer:
    """Return the place of a line's host name: the item itself, or its ``name``."""
    return line.at / "name" if line.at / "name" in spec.stated else line.at
