"""The lines of hosts that a spec states, with the hosts that each of them names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpugen.hosts import ranges
from gpugen.model.finding import ROOT, Pointer
from gpugen.model.spec import ControlPlane, HostLine
from gpugen.resolve import translation

Hosts: TypeAlias = Mapping[str, tuple[str, ...]]  # pattern -> the hosts that it names


def listed(data: Mapping[str, Any]) -> Hosts:
    """Return the hosts that each pattern of a spec names; see ``ranges.listed``."""
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
        ssh=translation.ssh(line, at),
    )


def control_plane(data: Mapping[str, Any], hosts: Hosts) -> ControlPlane:
    """Return the hosts of the control plane."""
    at = ROOT / "controlPlane"
    lines = enumerate(data.get("hosts", ()))
    return ControlPlane(tuple(host_line(line, hosts, at / "hosts" / i) for i, line in lines), at)
