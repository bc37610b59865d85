"""Addresses and names of hosts, compared as a resolver reads them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
DNS_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*\Z", re.IGNORECASE)
_PART = r"(?:0[xX][0-9a-fA-F]*|[0-9]+)"
_NUMBER = re.compile(rf"{_PART}(?:\.{_PART})*\.?\Z")
_LAST = frozenset("0123456789abcdefABCDEFxX.")  # with which a number can end
_LOOPBACK = re.compile(
    r"(?:.*\.)?localhost[0-9]*(?:\.localdomain[0-9]*)?\Z|loopback\Z|broadcasthost\Z"
    r"|ip6-(?:localhost|loopback|localnet|allnodes|allrouters|allhosts|mcastprefix)\Z"
)
_NOWHERE = frozenset({IPv4Address("255.255.255.255")})


def parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a text is, without a disguise of IPv4 as IPv6; or nothing."""
    if ":" not in text and not text[-1:].isdigit():
        return None  # what most hosts have: a name
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


def is_number(text: str) -> bool:
    """Tell whether a resolver reads a text as an IPv4 address: 127.1, 0x7f.1, 2130706433.

    Source: getaddrinfo(3), which takes what inet_aton(3) takes.
    """
    return _NUMBER.match(text) is not None


def leads_somewhere(text: str) -> bool:
    """Tell whether a text is an IPv4 or IPv6 address, or a host name."""
    if ":" in text or is_number(text):
        return parsed(text) is not None
    return DNS_NAME.match(text) is not None


def not_a_hosts(text: str) -> str:
    """Return why an address or a name cannot be another machine's; empty if it can."""
    if _LOOPBACK.match(text.lower().rstrip(".")):
        return "is the local machine"
    if text[-1:] not in _LAST and ":" not in text:
        return ""
    found = parsed(text)
    if found is None:
        return "is not an IP address, but resolvers may read it as one" if is_number(text) else ""
    reasons = {
        "is the local machine": found.is_loopback,
        "is not the address of a machine": found.is_unspecified or found in _NOWHERE,
        "is link-local, which is ambiguous without a network interface": found.is_link_local,
        "is a multicast address": found.is_multicast,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def target(text: str) -> str:
    """Return the canonical form of an address or name, for comparison."""
    found = parsed(text)
    return str(found) if found is not None else text.lower().rstrip(".")
