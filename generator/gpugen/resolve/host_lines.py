"""The hosts that a spec names, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpugen.hosts import ranges
from gpugen.model.access import Ssh
from gpugen.model.finding import ROOT, Pointer
from gpugen.model.spec import ControlPlane, HostLine

Hosts: TypeAlias = Mapping[str, tuple[str, ...]]  # pattern -> its hosts


def listed(data: Mapping[str, Any]) -> Hosts:
    """Return the hosts of each pattern of a spec; see ``ranges.listed``."""
    return ranges.listed(_patterns(data))


def _patterns(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the host names and ranges of a spec: those of the pools, then the control plane's."""
    for part in (*data["pools"], data.get("controlPlane", {})):
        for line in part.get("hosts", ()):
            yield line if isinstance(line, str) else line["name"]


def host_line(line: str | Mapping[str, Any], hosts: Hosts, at: Pointer) -> HostLine:
    """Return one line of a pool's hosts."""
    if isinstance(line, str):
        return HostLine(line, hosts[line], "", "", "", {}, at)
    return HostLine(
        pattern=line["name"],
        hosts=hosts[line["name"]],
        node_name=line.get("nodeName", ""),
        address=line.get("address", ""),
        description=line["description"],
        variables=dict(sorted(line["variables"].items())),
        at=at,
        ssh=own_ssh(line, at),
    )


def control_plane(data: Mapping[str, Any], hosts: Hosts) -> ControlPlane:
    """Return the hosts of the control plane."""
    at = ROOT / "controlPlane"
    lines = enumerate(data.get("hosts", ()))
    return ControlPlane(tuple(host_line(line, hosts, at / "hosts" / i) for i, line in lines), at)


def own_ssh(data: Mapping[str, Any], owner: Pointer) -> Ssh | None:
    """Return the SSH settings of a pool or host; None if it states none."""
    return ssh(data["ssh"], owner / "ssh") if "ssh" in data else None


def ssh(data: Mapping[str, Any], at: Pointer) -> Ssh:
    """Return stated SSH settings, with all defaults filled in."""
    return Ssh(
        user=data.get("user", ""),
        port=data.get("port", 0),
        become=data["become"],
        become_method=data["becomeMethod"],
        interpreter=data.get("interpreter", ""),
        proxy_jump=tuple(data["proxyJump"]),
        at=at,
    )
