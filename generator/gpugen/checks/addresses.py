"""Checks of the addresses that hosts are reached at, and of the way there."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.hosts.addresses import is_number, leads_somewhere, not_a_hosts, target
from gpugen.model.access import Ssh
from gpugen.model.spec import ClusterSpec, HostLine


@check("hosts-address-wrong")
def addresses(spec: ClusterSpec) -> Iterator[Problem]:
    """An address must be an IP address or a host name, and must lead to another machine.

    Ansible tries to resolve what only looks like an address. Loopback, link-local, multicast and
    unspecified addresses are not hosts of the cluster: a play would change the control host, or
    nothing.
    """
    for line in host_lines(spec):
        if not line.address:
            continue
        at = line.at / "address"
        if not leads_somewhere(line.address):
            message = f"{line.address!r} is neither an IP address nor a host name"
            yield Problem(at=at, message=message, hint=_better_address(line.address))
        elif reason := not_a_hosts(line.address):
            yield Problem(
                at=at,
                message=f"{line.address!r} {reason}",
                hint="write the address at which other machines reach it",
            )


@check("hosts-same-address")
def same_address(spec: ClusterSpec) -> Iterator[Problem]:
    """Two hosts with one address are one machine, which would get both configurations in turn.

    Addresses (or names, where no address is stated), ports and jump hosts are compared.
    """
    seen: dict[tuple[str, int, tuple[str, ...]], str] = {}
    for line, ssh in _reached(spec):
        for host in line.hosts:
            key = (target(line.address or host), ssh.port or 22, ssh.proxy_jump)
            if (other := seen.setdefault(key, host)) != host:
                yield Problem(
                    at=line.at / "address" if line.address else line.at,
                    message=f"hosts {other!r} and {host!r} are both reached at {key[0]}, port"
                    f" {key[1]}",
                    hint="give each its own address or ssh port, or remove one of them",
                )
                break


@check("ssh-jump-wrong")
def jumps(spec: ClusterSpec) -> Iterator[Problem]:
    """A jump host must be an IP address or a host name, and must lead to another machine.

    Source: ssh_config(5), ProxyJump.
    """
    stated = [line.ssh for line in host_lines(spec)] + [pool.ssh for pool in spec.pools]
    for ssh in [spec.access.ssh, *stated]:
        for i, jump in enumerate(ssh.proxy_jump if ssh is not None else ()):
            host = _host_of(jump)
            if not leads_somewhere(host):
                why = "is neither an IP address nor a host name"
            elif not (why := not_a_hosts(host)):
                continue
            at = (ssh or spec.access.ssh).at / "proxyJump" / i
            yield Problem(at=at, message=f"{host!r} {why}", hint="write it as [user@]host[:port]")


def host_lines(spec: ClusterSpec) -> Iterator[HostLine]:
    """List the lines of all pools, then those of the control plane."""
    for pool in spec.pools:
        yield from pool.hosts
    yield from spec.control_plane.hosts


def _reached(spec: ClusterSpec) -> Iterator[tuple[HostLine, Ssh]]:
    """List lines with the SSH settings that apply; for a host of both, those of its pool."""
    pooled = {host for pool in spec.pools for line in pool.hosts for host in line.hosts}
    for pool in spec.pools:
        for line in pool.hosts:
            yield line, line.ssh or pool.ssh or spec.access.ssh
    for line in spec.control_plane.hosts:
        if not pooled.intersection(line.hosts):
            yield line, line.ssh or spec.access.ssh


def _host_of(jump: str) -> str:
    """Return the host of [user@]host[:port]."""
    host = jump.rpartition("@")[2]
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _better_address(address: str) -> str:
    host, _, port = address.rpartition(":")
    if port.isdecimal() and ":" not in host and leads_somewhere(host):
        return f"write address: {host}, and the port as ssh: {{port: {port}}}"
    if ":" in address:
        return "write a valid IPv6 address, such as 2001:db8::17"
    if is_number(address):
        return "write four numbers from 0 to 255, such as 10.20.0.17"
    return "use labels of 1 to 63 letters, digits and inner hyphens, separated by dots"
