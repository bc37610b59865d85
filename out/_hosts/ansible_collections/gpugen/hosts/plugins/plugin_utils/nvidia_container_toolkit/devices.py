# Copyright: the gpugen authors. Apache-2.0.
"""How runtimes find the GPUs: links for systemd in /dev/char, and a description by CDI."""

from __future__ import annotations

from typing import Any

from .packages import is_pending
from .view import CDI_FILE, CDI_UNITS, HEADER, RULES, Host, numbers

RULE = (
    f"{HEADER}"
    "# Without these links a daemon-reload cuts the GPUs from running containers.\n"
    'ACTION=="add", DEVPATH=="/bus/pci/drivers/nvidia", RUN+="/usr/bin/nvidia-ctk system'
    ' create-dev-char-symlinks --create-all --load-kernel-modules"\n'
)


def module_file(host: Host) -> str:
    """Return the file that a loaded driver has."""
    return f"{host.own('procfs')}/driver/nvidia/version"


def link(host: Host) -> str:
    """Return one of the links: of /dev/nvidiactl."""
    return f"{host.own('dev_char')}/195:255"


def is_loaded(host: Host) -> bool:
    """Tell whether the driver is loaded."""
    return bool(host.paths(module_file(host)))


def is_linked(host: Host) -> bool:
    """Tell whether the links are there, where there are devices (DRV-20)."""
    return not is_loaded(host) or bool(host.paths(link(host)))


def is_ruled(host: Host) -> bool:
    """Tell whether udev makes the links at boot."""
    return host.text(RULES) == RULE


def has_units(host: Host) -> bool:
    """Tell whether this toolkit has the units that describe the GPUs."""
    return numbers(host.option("version")) >= (1, 18, 0)


def is_described(host: Host) -> bool:
    """Tell whether there is a description, not older than the toolkit (CTK-17)."""
    told = bool(host.said("described")["out"])
    return not has_units(host) or not is_loaded(host) or told


def _is_watched(host: Host) -> bool:
    """Tell whether the units are enabled, and the one that waits for a driver runs."""
    units = host.seen.get("units", {})
    states = [units[name].get("UnitFileState") for name in CDI_UNITS if name in units]
    return set(states) <= {"enabled"} and CDI_UNITS[0] in host.running


def is_due(host: Host) -> bool:
    """Tell whether anything is to do."""
    is_watched = not has_units(host) or _is_watched(host)
    return not (is_ruled(host) and is_linked(host) and is_watched and is_described(host))


def shortfalls(host: Host) -> list[str]:
    """Say what a converged host would not show."""
    found = []
    if not is_described(host):
        words = "is missing, or older than the toolkit; see nvidia-cdi-refresh.service"
        found.append(f"CTK-17: {CDI_FILE} {words}")
    if not (is_linked(host) and is_ruled(host)):
        words = "links of the GPUs in /dev/char are missing"
        found.append(f"DRV-20: {words}; a daemon-reload would take GPUs from containers")
    return found


def part(host: Host) -> dict[str, Any]:
    """Return what tasks need to know."""
    make = ["nvidia-ctk", "system", "create-dev-char-symlinks"]
    make += [f"--dev-char-path={host.own('dev_char')}", "--create-all", "--load-kernel-modules"]
    watch, once = CDI_UNITS
    units = [{"name": watch, "state": "started"}, {"name": once}] if has_units(host) else []
    return {
        "due": is_due(host) and not is_pending(host),
        "rule": RULE,
        "links": [] if is_linked(host) else make,
        "units": units,
        "is_described": is_described(host),
    }
