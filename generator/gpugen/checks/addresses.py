"""Checks of the addresses that hosts are reached at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.spec import ClusterSpec, HostLine

LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
DNS_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*\Z", re.IGNORECASE)
NUMBERS = re.compile(r"[0-9.]+\Z")


@check("hosts-address-wrong")
def addresses(spec: ClusterSpec) -> Iterator[Problem]:
    """Ansible would try to resolve what looks like an address and is none."""
    for line in host_lines(spec):
        if line.address and not _leads_somewhere(line.address):
            yield (
                line.at / "address",
                f"{line.address!r} is neither an IP address nor a host name",
                _better_address(line.address),
            )


def _better_address(address: str) -> str:
    host, _, port = address.rpartition(":")
    if port.isdecimal() and ":" not in host and _leads_somewhere(host):
        return f"write address: {host}, and the port as variables: {{ansible_port: {port}}}"
    if NUMBERS.match(address):
        return "write four numbers from 0 to 255, such as 10.20.0.17"
    if ":" in address:
        return "write it as RFC 4291 has it, such as 2001:db8::17"
    return "write 1 to 63 letters, digits and inner hyphens between its dots"


def _leads_somewhere(text: str) -> bool:
    """Tell whether a text is an IPv4 or IPv6 address, or a host name."""
    from ipaddress import ip_address

    if ":" not in text and not NUMBERS.match(text):
        return DNS_NAME.match(text) is not None
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def host_lines(spec: ClusterSpec) -> Iterator[HostLine]:
    """List the lines of all pools, then those of the control plane."""
    for pool in spec.pools:
        yield from pool.hosts
    yield from spec.control_plane.hosts
