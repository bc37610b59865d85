"""The roles in the order in which a host runs them, and the side of a reboot on which each acts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Role(NamedTuple):
    """One role as plays run it; of what it has else, its entry points tell."""

    name: str
    does: str  # in the README of the plays
    before_reboot: str = ""  # entry point that brings about what acts at boot
    after_reboot: str = ""  # entry point for the rest


NODE, DRIVER, SCHEDULER = "gpu_node", "nvidia_driver", "kube_scheduler"
FIRST, TOOLKIT = "gpu_prerequisites", "nvidia_container_toolkit"
_CONVERGE = "converge"
ROLES = (
    Role(
        FIRST,
        "operating system and GPUs checked; repositories, kernel headers, no driver auto-updates",
        before_reboot=_CONVERGE,
    ),
    Role(DRIVER, "one exact driver, verified", before_reboot=_CONVERGE),
    Role(
        TOOLKIT,
        "the container toolkit, registered with containerd, verified",
        after_reboot=_CONVERGE,
    ),
    Role("nvidia_mig", "the MIG layout, applied at every boot", after_reboot=_CONVERGE),
    Role("nvidia_dcgm", "one host engine of DCGM", after_reboot=_CONVERGE),
    Role("cuda_toolkit", "CUDA toolkits on the host itself", after_reboot=_CONVERGE),
    Role(
        "gpu_tuning",
        "power, clocks, kernel command line and limits",
        before_reboot="boot",
        after_reboot=_CONVERGE,
    ),
    Role(NODE, "labels and taints; cordon, drain, and the wait until GPUs are advertised"),
    Role(SCHEDULER, "bin packing in the main scheduler, one control-plane node at a time"),
)
ORDER = tuple(role.name for role in ROLES)
OF_CLUSTER = (FIRST, DRIVER, TOOLKIT, NODE, SCHEDULER)  # in use whatever the pools are
HOST_ROLES = tuple(name for name in ORDER if name != SCHEDULER)
BEFORE_REBOOT = {role.name: role.before_reboot for role in ROLES if role.before_reboot}
AFTER_REBOOT = {role.name: role.after_reboot for role in ROLES if role.after_reboot}


def in_order(roles: Iterable[str]) -> list[str]:
    """Sort roles in the order in which a host runs them."""
    return sorted(roles, key=ORDER.index)
