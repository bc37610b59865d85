# Copyright: the gpugen authors. Apache-2.0.
"""What the role asks about a host: one round where nothing has to be reset."""

from __future__ import annotations

from typing import Any

from . import places, units
from .host import QUERY, Host, Seen, Wanted, read


def questions(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Ask for files, units and the kernel; for GPUs where a setting, or its reset, needs them."""
    own = read(seen, wanted)
    names = [f"{setting.name}.service" for setting in units.settings(own)]
    tree = own.tree
    asked: dict[str, Any] = {
        "files": [*_files(own), *(f"{places.UNITS}/{name}" for name in names)],
        "globs": [tree.cards, tree.peermem, tree.pages, places.UPDATE_GRUB, places.GRUBBY],
        "units": [*names, *own.services, *own.kubelets],
        "commands": _commands(own),
    }
    if own.acs:
        asked["bridges"] = [tree.sysfs]
    return asked


def _files(own: Host) -> list[str]:
    tree = own.tree
    return [
        places.GRUB_FILE,
        places.GRUBBY_FILE,
        places.SYSCTL_FILE,
        places.MODULES_FILE,
        places.ACS_SCRIPT,
        places.DOCKER_FILE,
        places.KUBELET_FILE,
        *(tree.cmdline, tree.driver, tree.balancing, tree.nr_pages),
        *map(places.limits_file, own.services),
    ]


def _commands(own: Host) -> dict[str, list[str]]:
    """Return commands. Which loader a host has is known with the first answers: ask both."""
    found = {
        "vendor": ["grep", "-m1", "-s", "vendor_id", own.tree.cpuinfo],
        "grubby": ["grubby", "--info=ALL"],
        "grub": ["find", "/boot/grub/grub.cfg", "-newer", places.GRUB_FILE],
    }
    if own.needs_smi or units.retired(own):
        found["smi"] = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    if own.acs:
        found["machine"] = ["systemd-detect-virt", "--vm"]
    if own.needs_peermem:
        symbol = "ib_register_peer_memory_client"
        found["peers"] = ["grep", "-m1", "-s", symbol, own.tree.symbols]
    return found
