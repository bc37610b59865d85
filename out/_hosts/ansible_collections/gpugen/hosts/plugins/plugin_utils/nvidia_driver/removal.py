# Copyright: the gpugen authors. Apache-2.0.
"""What goes when the driver is removed: what the record names, no more (DRV-23)."""

from __future__ import annotations

from typing import Any

from . import dnf, files, locks, names, steps, transaction
from .family import Family
from .state import State

FOLDERS = (names.PERSISTENCE.rpartition("/")[0], names.INSTALLERS)


def removal(now: State) -> dict[str, Any]:
    """Return what is removed."""
    own, host = now.own, now.host
    ours = steps.ours(host) if _has_packages(now) else []
    theirs = [] if host.is_dnf else steps.theirs(host)
    has_locks = host.is_dnf and bool(locks.found(host.text(names.LOCKS)))
    has_stream = host.is_dnf and bool(own.stream and dnf.enabled_stream(host))
    is_installed = host.recorded["method"] == "runfile"
    without = files.file(names.LOCKS, locks.replaced(host.text(names.LOCKS), []))
    return {
        "enabled_units": [
            name for name in host.units_in("UnitFileState", ("enabled",)) if name in names.OWN_UNITS
        ],
        "uninstaller": [names.UNINSTALLER, "--silent"] if is_installed else [],
        "apt": [] if host.is_dnf else ours,
        "dnf": ours if host.is_dnf else [],
        "simulation": _simulation(now, ours),
        "unhold": ["apt-mark", "unhold", *theirs] if theirs else [],
        "locks": [without] if has_locks and _has_packages(now) else [],
        "stream": dnf.stream_reset(own) if has_stream and _has_packages(now) else [],
        "files": files.of_removal(host),
        "rmdir": ["find", *FOLDERS, "-maxdepth", "0", "-empty", "-print", "-delete"],
    }


def faults(now: State, family: Family) -> list[str]:
    """Return what a removal would take that somebody else installed."""
    if not (now.host.is_recorded and _has_packages(now)):
        return []
    others = names.without(family.removed, steps.ours(now.host))
    if not others:
        return [family.failure] if family.failure else []
    manager = "dnf" if family.is_dnf else "apt"
    return [
        f"DRV-23: {manager} would also remove {', '.join(others)},"
        " which this role did not install; remove them first"
    ]


def _has_packages(now: State) -> bool:
    return bool(now.host.recorded["installed"] or now.host.recorded["packages"])


def _simulation(now: State, ours: list[str]) -> dict[str, Any]:
    is_simulated = now.host.is_dnf and bool(ours)
    return transaction.module(ours, "absent", may_erase=False) if is_simulated else {}
