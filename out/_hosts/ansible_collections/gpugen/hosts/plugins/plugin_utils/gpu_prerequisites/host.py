# Copyright: the gpugen authors. Apache-2.0.
"""What was seen on a host, in the words of the role."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from ..common import host
from ..common import seen as read

RECORD = "/var/lib/misc/gpugen-gpu-prerequisites.json"
CONTAINER_MARKER = "/run/systemd/container"
FIRST_PROCESS = "/proc/1/comm"
PLUGIN = "python3-dnf-plugin-versionlock"

Wanted = Mapping[str, Any]
Seen = Mapping[str, Any]


class Host(NamedTuple):
    """A host and what is expected of it."""

    seen: Seen
    wanted: Wanted
    manager: str  # apt, dnf; of a host that was not read, that of the expected system
    is_read: bool  # else it is only described, or nothing is known of it
    kernel: str  # empty where nothing is known
    packages: list[str]  # names
    installed: list[str]  # on systems with dnf: "name|version-release" of kernels and headers

    def own(self, name: str) -> Any:
        """Return a variable of the role."""
        return self.wanted.get(f"gpu_prerequisites_{name}")

    @property
    def repositories(self) -> list[Mapping[str, Any]]:
        """Return the repositories that the spec states."""
        return list(self.own("repositories") or ())

    @property
    def may_change_kernel(self) -> bool:
        """Tell whether another kernel may take over where headers are gone (PRE-05)."""
        return bool(self.own("headers") and self.own("allow_kernel_change"))

    def text(self, path: str) -> str:
        """Return what a file on the host holds."""
        return read.text(self.seen, path)

    def has(self, path: str) -> bool:
        """Tell whether a file is on the host."""
        return read.exists(self.seen, path)


def view(seen: Seen, wanted: Wanted) -> Host:
    """Return what was seen."""
    commands = {name: own["out"] for name, own in seen.get("commands", {}).items()}
    return Host(
        seen,
        wanted,
        host.package_manager(seen, str(wanted.get("gpu_prerequisites_os") or "")),
        "host" in seen,
        commands.get("kernel", "").strip(),
        list(seen.get("packages", {})),
        commands.get("kernels", "").splitlines(),
    )


def recorded(seen: Seen) -> list[str]:
    """Return the packages that the role installed."""
    return list(json.loads(read.text(seen, RECORD) or "{}").get("packages", ()))


def record(names: list[str]) -> str:
    """Return the text of the role's record."""
    own = {"managedBy": "gpugen", "packages": sorted(set(names))}
    return json.dumps(own, indent=2, sort_keys=True)


def gpus(uevents: str) -> list[str]:
    """Return the device ids of the NVIDIA GPUs, from the uevent files of PCI devices."""
    found = []
    for kind, device in pairwise(uevents.splitlines()):
        is_display = kind.startswith(("PCI_CLASS=300", "PCI_CLASS=302")) and len(kind) == 15
        if is_display and device.startswith("PCI_ID=10DE:"):
            found.append(device.removeprefix("PCI_ID=10DE:"))
    return found


def marker(host: Host) -> str:
    """Return the file that only a container has."""
    return str(host.wanted.get("__gpu_prerequisites_container_marker", CONTAINER_MARKER))
