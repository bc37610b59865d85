"""Hosts that two clusters name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpugen.checks.fleet.members import Member
from gpugen.hosts.addresses import parsed, target
from gpugen.model.access import Ssh
from gpugen.model.finding import ROOT, Finding
from gpugen.model.spec import ClusterSpec, HostLine

MOST = 500_000  # hosts of all specs of one run
SHORT = "short"  # key of a name without a domain, which may mean two machines


class _Owner(NamedTuple):
    """Who named a host first. address: as stated, normalised; empty where none is.

    way: port and jump hosts.
    """

    member: Member
    line: HostLine
    host: str
    address: str
    way: tuple[str, ...]


def same_hosts(members: Sequence[Member]) -> Iterator[tuple[int, Finding]]:
    counts = [sum(len(line.hosts) for line, _ in _lines(member.spec)) for member in members]
    if sum(counts) > MOST:
        most = counts.index(max(counts))
        yield (
            members[most].number,
            Finding(
                "fleet-too-many-hosts",
                f"the specs have {sum(counts)} hosts together, {counts[most]} of them here; at"
                f" most {MOST} are allowed",
                "check for a range that is too long",
                ROOT / "pools",
            ),
        )
        return
    first: dict[tuple[str, ...], _Owner] = {}
    for member in members:
        shared: dict[int, tuple[_Owner, _Owner]] = {}
        found: Counter[int] = Counter()
        for owner in _owners(member):
            other = _other(owner, first)
            if other is not None:
                found[other.member.number] += 1
                shared.setdefault(other.member.number, (owner, other))
        for number, (owner, other) in shared.items():
            yield member.number, _same_host(owner, other, found[number])


def _other(owner: _Owner, first: dict[tuple[str, ...], _Owner]) -> _Owner | None:
    """Return who of another cluster named the host before, and remember it."""
    found = None
    for key in _keys(owner):
        other = first.setdefault(key, owner)
        if other.member is owner.member or found is not None:
            continue
        if key[0] == SHORT and owner.address and other.address:
            continue  # compared by their addresses
        found = other
    return found


def _same_host(owner: _Owner, other: _Owner, count: int) -> Finding:
    name = repr(owner.host)
    if owner.host.lower() != other.host.lower():
        name += f" ({owner.address or owner.host}, called {other.host!r} there)"
    more = f", and {count - 1} more of its hosts are" if count > 1 else ""
    return Finding(
        "fleet-same-host",
        f"host {name} of cluster {owner.member.spec.name!r} is also in cluster"
        f" {other.member.spec.name!r} ({other.member.place(other.line.at)}){more}",
        "remove it from one of the two specs, or, if these are two machines, give each its own"
        " name and address",
        owner.line.at,
    )


def _owners(member: Member) -> Iterator[_Owner]:
    for line, ssh in _lines(member.spec):
        address = target(line.address) if line.address else ""
        way = _way(ssh)
        for host in line.hosts:
            yield _Owner(member, line, host, address, way)


def _keys(owner: _Owner) -> Iterator[tuple[str, ...]]:
    """Yield the keys of a host: where and how it is reached, and its name."""
    name = target(owner.host)
    yield ("at", owner.address or name, *owner.way)
    if parsed(name) is None:
        yield ("name", name) if "." in name else (SHORT, name, *owner.way)


def _way(ssh: Ssh) -> tuple[str, ...]:
    """Return port and jump hosts by which a host is reached; who logs in does not matter."""
    hops = (jump.rpartition("@")[2].removesuffix(":22") for jump in ssh.proxy_jump)
    return (str(ssh.port or 22), *(target(hop.strip("[]")) for hop in hops))


def _lines(spec: ClusterSpec) -> Iterator[tuple[HostLine, Ssh]]:
    """Yield every line of hosts with the connection settings that apply."""
    for pool in spec.pools:
        yield from ((line, line.ssh or pool.ssh or spec.access.ssh) for line in pool.hosts)
    yield from ((line, line.ssh or spec.access.ssh) for line in spec.control_plane.hosts)
