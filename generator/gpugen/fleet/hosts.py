"""Hosts that two clusters name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address, ip_address

from gpugen import host_ranges
from gpugen.fleet.members import Member
from gpugen.host_ranges import RangeError
from gpugen.model.finding import ROOT, Finding
from gpugen.model.record import record
from gpugen.model.spec import ClusterSpec, HostLine

MOST = 500_000  # hosts of all specs of one run
SHORT = "short"  # key of a name without a domain, which may mean two machines


@record
class _Owner:
    """Who named a host first. address: as stated, normalised; empty where none is."""

    member: Member
    line: HostLine
    host: str
    address: str


def same_hosts(members: Sequence[Member]) -> Iterator[tuple[int, Finding]]:
    counts = [sum(map(_count, _lines(member.spec))) for member in members]
    if sum(counts) > MOST:
        most = counts.index(max(counts))
        yield (
            members[most].number,
            Finding(
                "fleet-too-many-hosts",
                f"the specs name {sum(counts)} hosts together, {counts[most]} of them here;"
                f" {MOST} are the most",
                "look for a range that runs too far",
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
        name += f" ({owner.address or owner.host}, there called {other.host!r})"
    more = f", and {count - 1} more of its hosts are" if count > 1 else ""
    return Finding(
        "fleet-same-host",
        f"host {name} of cluster {owner.member.spec.name!r} is also in cluster"
        f" {other.member.spec.name!r} ({other.member.place(other.line.at)}){more}",
        "a host belongs to one cluster; take it out of one of the two specs, or, if these are two"
        " machines, give each its own name and address",
        owner.line.at,
    )


def _owners(member: Member) -> Iterator[_Owner]:
    for line in _lines(member.spec):
        address = _normal(line.address) if line.address else ""
        try:
            for host in host_ranges.expand(line.pattern):
                yield _Owner(member, line, host, address)
        except RangeError:
            continue  # another check tells


def _keys(owner: _Owner) -> Iterator[tuple[str, ...]]:
    """Yield by what a host is known: where it is reached and how, and by its name."""
    name = _normal(owner.host)
    way = _way(owner.line)
    yield ("at", owner.address or name, *way)
    if ":" in name or _number(name):
        return
    yield ("name", name) if "." in name else (SHORT, name, *way)


def _way(line: HostLine) -> tuple[str, str]:
    """Return port and jump hosts by which a host is reached."""
    port = line.variables.get("ansible_port", 22)
    jump = line.variables.get("ansible_ssh_common_args", "")
    return str(port), str(jump)


def _normal(name: str) -> str:
    """Return the one spelling of a name or an address."""
    name = name.lower().rstrip(".")
    return _number(name) or name


def _number(text: str) -> str:
    """Return the one spelling of an IP address, nothing for anything else."""
    if not text[:1].isdigit() and ":" not in text:
        return ""
    try:
        found = ip_address(text)
    except ValueError:
        return ""
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(found)


def _lines(spec: ClusterSpec) -> Iterator[HostLine]:
    for pool in spec.pools:
        yield from pool.hosts
    yield from spec.control_plane.hosts


def _count(line: HostLine) -> int:
    try:
        return host_ranges.count(line.pattern)
    except RangeError:
        return 0
