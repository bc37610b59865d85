# Copyright: the gpugen authors. Apache-2.0.
"""What has to be done with a host's driver, as data for tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import faults, files, names, removal, shortfalls, steps, transaction
from .choice import family_of
from .family import Family
from .host import Host
from .state import State, state
from .wants import wants


def decide(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return faults, what is due and how it is done."""
    own = wants(wanted)
    host = Host(seen, own)
    now = state(own, host)
    family = family_of(now)
    found = _removed(now, family) if own.around.is_absent else _present(now, family)
    return {
        **found,
        "facts": {
            "loadedVersion": host.loaded,
            "loadedModules": host.flavour if host.loaded else "",
            "gpus": len(host.gpus),
            "secureBoot": host.secure_boot,
        },
        "kubelet_runs": host.kubelet_runs,
        "loaded": host.loaded,
        "left": _left(host),
        "use": faults.in_use(host),
        "units": _units(now),
        "rebuild": _rebuild(host),
        "manager": "dnf" if host.is_dnf else "apt",
    }


def _removed(now: State, family: Family) -> dict[str, Any]:
    is_due = now.host.is_recorded
    return {
        "faults": removal.faults(now, family),
        "shortfalls": [],
        "interrupts": [],
        "due": is_due,
        "reboot_due": False,
        "images_due": bool(now.host.globbed(names.IMAGES)),
        "removal": removal.removal(now) if is_due else {},
    }


def _present(now: State, family: Family) -> dict[str, Any]:
    due = steps.steps(now, family)
    missing = shortfalls.shortfalls(now, family)
    around = now.own.around
    later = due.reboot or around.awaits_kernel or now.is_pending
    return {
        "faults": faults.faults(now, family),
        "shortfalls": missing,
        "interrupts": _interrupts(now),
        "due": any(due) or bool(missing) or bool(now.host.job),
        "reboot_due": due.reboot,
        "users_due": now.is_replaced and not around.is_check,
        "lists_due": _lists_due(now, family),
        **{f"{step}_due": is_due for step, is_due in due._asdict().items() if step != "reboot"},
        "start_due": due.start and not later,
        "verify_due": not later and not (around.is_check and steps.start_due(now)),
        "is_replaced": now.is_replaced,
        "images_due": files.images_due(now.own, now.host),
        **_details(now, family, due),
    }


def _details(now: State, family: Family, due: steps.Steps) -> dict[str, Any]:
    """Return how steps are done; of packages, modules and services what is due alone."""
    return {
        "packages": transaction.packages(now, family) if due.packages else {},
        "lock": transaction.lock(now, family) if due.packages or due.lock else {},
        "refresh": family.refresh if due.packages else [],
        "leftovers": transaction.leftovers(now, family),
        "unfinished": transaction.unfinished(now, family),
        "modules": files.modules(now.own, now.host) if due.modules else [],
        "installer": transaction.installer(now, family) if due.installer else {},
        "record": files.as_json(files.record(now)),
        "dkms": ["dkms", "autoinstall", "-k", now.host.kernel],
        "unbuilt": _unbuilt(now) if due.dkms else "",
        "key": now.host.key if due.key else "",
        "key_request": _key_request(now.host) if due.key else "",
        "start": _start(now),
        "removal": {},
    }


def _interrupts(now: State) -> list[str]:
    """Return why the node must be drained first (DRV-15)."""
    own, host = now.own, now.host
    if not own.installs:
        return []
    found = []
    if now.is_replaced or now.is_other:
        flavour = f" ({host.flavour})" if host.loaded == own.version else ""
        found.append(f"driver {host.loaded or 'not loaded'}{flavour} -> {own.version}")
    if host.displaced:
        found.append(f"{' and '.join(host.displaced)} makes way for driver {own.version}")
    return found


def _lists_due(now: State, family: Family) -> bool:
    """Tell whether lists of packages must be read anew before it is said what they offer."""
    around = now.own.around
    is_due = now.own.by_packages and now.change_due and bool(family.unavailable)
    return is_due and not around.is_check and not around.lists_are_fresh


def _left(host: Host) -> dict[str, Any]:
    """Return what an earlier run began, and lost the host meanwhile. Its words are told; what to
    do follows from what is there.
    """
    if not host.job:
        return {}
    argv = " ".join(host.job["request"].get("argv", ()))
    text = f"an earlier run lost this host while it ran {argv}; {_end(host.job['result'])}"
    return {"text": text, "runs": bool(host.job["runs"])}


def _end(result: Mapping[str, Any]) -> str:
    if not result:
        return "it was broken off before its end"
    if result["rc"] == 0:
        return "it succeeded"
    return f"it failed ({result['rc']}): {result['err'].strip() or result['out'].strip()}"


def _unbuilt(now: State) -> str:
    host = now.host
    return (
        f"DRV-12: DKMS has no module {now.own.version} for kernel {host.kernel}; it says:"
        f" {host.out('dkms')}. End of make.log: {host.out('make_log') or 'no log'}"
    )


def _key_request(host: Host) -> str:
    """Return what somebody has to do at the console; tasks choose the WORD."""
    if not host.key:
        return "DKMS made no key; see /var/lib/dkms"
    return (
        f'the key {host.key} waits to be enrolled: reboot, choose "Enroll MOK" at the console,'
        " type WORD, run again"
    )


def _units(now: State) -> dict[str, Any]:
    """Return the services that an exchange of the driver stops and starts (DRV-17)."""
    host, is_kept = now.host, not now.own.around.is_absent
    noted = files.stopped(now)
    stops = (*(names.CLIENTS if is_kept else ()), *names.OWN_UNITS)
    return {
        "stops": [name for name in stops if name in host.running],
        "are_noted": is_kept,
        "note": files.file(names.STOPPED, files.as_json(noted)),
        "again": [name for name in noted["units"] if name in host.known_units],
    }


def _start(now: State) -> dict[str, Any]:
    """Return what makes a driver run (DRV-08, DRV-19, DRV-21)."""
    host = now.host
    by_installer = now.own.method == "runfile"
    lacks_unit = names.PERSISTENCED in host.units_in("LoadState", ("not-found",))
    started = [name for name in host.stopped if name in host.known_units and name != names.CDI]
    return {
        "modprobe": not host.loaded,
        "files": [files.file(names.OWN_UNIT, files.UNIT)] if by_installer and lacks_unit else [],
        "services": steps.idle_services(host),
        "reads_units": by_installer,
        "is_noted": bool(host.stopped),
        "clients": started,
        "restarts": [names.CDI] if host.stopped and names.CDI in host.known_units else [],
        "persistence_due": bool(host.unpersistent),
        "persistence": files.persistence(host) if host.unpersistent else [],
        "modules_beside": host.modules_beside,
    }


def _rebuild(host: Host) -> list[str]:
    """Return what builds the images of all kernels."""
    if host.globbed(names.INITRAMFS):
        return ["update-initramfs", "-u", "-k", "all"]
    return ["dracut", "--force", "--regenerate-all"]
