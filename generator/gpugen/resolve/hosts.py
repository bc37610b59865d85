"""The hosts that a spec names, and what no settings say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpugen.hosts import ranges
from gpugen.hosts.places import DEFAULTS
from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.model.spec import ControlPlane, HostLine
from gpugen.resolve import translation

_NEEDED = {
    "os": ("operating system", "os: ubuntu-24.04"),
    "driver-version": ("driver version", 'driver: {version: "580.178.04"}'),
    "container-toolkit-version": (
        "container toolkit version",
        'containerToolkit: {version: "1.20.0"}',
    ),
}
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
        ssh=translation.ssh(line, at),
    )


def control_plane(data: Mapping[str, Any], hosts: Hosts) -> ControlPlane:
    """Return the hosts of the control plane."""
    at = ROOT / "controlPlane"
    lines = enumerate(data.get("hosts", ()))
    return ControlPlane(tuple(host_line(line, hosts, at / "hosts" / i) for i, line in lines), at)


def missing_settings(
    missing: Mapping[str, list[int]], stated: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield the findings about missing host settings, one if all are missing.

    missing: part of a finding's id -> indices of the pools without it.
    """
    if set(missing) == set(_NEEDED) and len({tuple(pools) for pools in missing.values()}) == 1:
        examples = ", ".join(example for _, example in _NEEDED.values())
        what = "operating system, driver version or container toolkit version"
        yield _missing("settings", missing["os"], stated, what, f"{{{examples}}}")
        return
    for what, pools in missing.items():
        words, example = _NEEDED[what]
        yield _missing(what, pools, stated, words, f"{{{example}}}")


def _missing(
    what: str, pools: list[int], stated: Mapping[str, Any], words: str, example: str
) -> Finding:
    names = ", ".join(repr(stated["pools"][i]["name"]) for i in pools[:5])
    many = f"pools {names}{', …' if len(pools) > 5 else ''} have"
    who = many if len(pools) > 1 else f"pool {names} has"
    at = ROOT / "pools" / pools[0]
    if len(pools) == len(stated["pools"]) and "hostDefaults" in stated:
        at = DEFAULTS
    return Finding(
        f"host-missing-{what}",
        f"{who} no {words}, and neither has hostDefaults",
        f"write hostDefaults: {example}, or the same under host: in the pool",
        at,
        at_key=True,
    )
