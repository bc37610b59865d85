# Copyright: the gpugen authors. Apache-2.0.
"""What the role asks about a host: one round where nothing is due, more before packages change."""

from __future__ import annotations

from typing import Any

from ..common.host import DEBIAN_VERSION
from . import repositories, updates
from .faults import faults
from .headers import answer, question
from .host import FIRST_PROCESS, PLUGIN, RECORD, Host, Seen, Wanted, marker, recorded, view
from .packages import leftover, packages, removal, simulation

TURN = "/var/lib/gpugen/turn.json"
KERNELS = ["rpm", "-qa", "--queryformat=%{NAME}|%{VERSION}-%{RELEASE}\n", "kernel*"]


def questions(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Return what to ask in view of what was seen."""
    host = view(seen, wanted)
    asked = _always(host)
    if wanted.get("state") == "absent":
        if host.is_read:
            asked["packages"] += recorded(seen)
        if (names := leftover(host)) and host.manager == "apt":
            asked["commands"]["removal"] = removal(names)
        return asked
    if not host.is_read or faults(host):
        return asked
    own = packages(host)
    if own.missing and not own.is_plugin:
        asked["commands"]["headers"] = question(host, own.missing)
        if answer(host) and own.expected and host.manager == "apt":
            asked["commands"]["install"] = simulation(host, own.expected)
    return asked


def _always(host: Host) -> dict[str, Any]:
    """Return what a host that needs nothing is asked."""
    sysfs = host.wanted.get("__gpu_prerequisites_sysfs", "/sys")
    names = repositories.names(host)
    files = [path for name in names for path in repositories.paths(host.manager, name)]
    is_dnf = host.manager == "dnf"
    files += [RECORD, FIRST_PROCESS, updates.DNF_FILE if is_dnf else updates.APT_FILE]
    commands = {"kernel": ["uname", "-r"], "pci": _pci(sysfs)}
    if host.repositories:
        commands["sources"] = _sources(host)
    if is_dnf:
        commands["kernels"] = KERNELS
    return {
        "files": files if is_dnf else [*files, DEBIAN_VERSION],
        "globs": [marker(host), TURN],
        "packages": [PLUGIN] if is_dnf else ["linux-image-*", "linux-headers-*"],
        "commands": commands,
        "control": {
            "files": [repositories.key_path(host.wanted, own["key"]) for own in host.repositories]
        },
    }


def _pci(sysfs: str) -> list[str]:
    devices = f"{sysfs}/bus/pci/devices"
    depth = ["-mindepth", "2", "-maxdepth", "2"]
    return ["find", "-L", devices, *depth, "-name", "uevent", "-exec", "cat", "{}", "+"]


def _sources(host: Host) -> list[str]:
    addresses = [f"--regexp={own['uri'].rstrip('/')}" for own in host.repositories]
    return ["grep", "-rlsF", *addresses, *repositories.SOURCES[host.manager]]
