# Copyright: the gpugen authors. Apache-2.0.
"""The one transaction of packages, before it and after it, and the .run installer."""

from __future__ import annotations

from typing import Any

from . import apt, dnf, faults, files, names, steps
from .family import Family
from .state import State


def packages(now: State, family: Family) -> dict[str, Any]:
    """Return the transaction that brings the set at its version, and takes the rest along."""
    touched = [family.lock_file, *([names.STREAM] if family.is_dnf else [])]
    is_there = {path: now.host.has_file(path) for path in touched}
    return {
        "refused": _not_offered(now, family),
        "report": _report(now, family),
        "former": {
            "files": [files.file(path, now.host.text(path)) for path in touched if is_there[path]],
            "missing": [path for path in touched if not is_there[path]],
        },
        "simulation": module(family.transaction, may_erase=True) if family.is_dnf else {},
        "fault": _fault(family),
        "record": files.as_json(files.coming_record(now, family.new)),
        "fetch": family.fetch,
        "change": family.change,
    }


def module(packages: list[str], state: str = "present", *, may_erase: bool) -> dict[str, Any]:
    """Return arguments of dnf's module, which simulates in check mode."""
    return {"name": packages, "state": state, "may_erase": may_erase}


def lock(now: State, family: Family) -> dict[str, Any]:
    """Return what keeps the versions that are there, or come next (DRV-03 to DRV-06)."""
    hold = [] if now.change_due else family.hold
    return {
        "file": files.file(family.lock_file, family.lock_text),
        "reset": family.stream_commands[0] if family.stream_commands else [],
        "enable": family.stream_commands[1] if family.stream_commands else [],
        "hold": ["apt-mark", "hold", *hold] if hold else [],
    }


def leftovers(now: State, family: Family) -> list[str]:
    """Return what dnf leaves of the former driver because this version does not have it."""
    is_left = family.is_dnf and now.own.by_packages and not now.missing
    return now.strays if is_left else []


def unfinished(now: State, family: Family) -> str:
    """Return what is not as expected after a transaction; empty where all is."""
    if not (now.own.by_packages and now.change_due):
        return ""
    verb = "remove" if family.is_dnf else "purge"
    return (
        f"DRV-22: after the transaction {', '.join(now.unfinished)} are not at"
        f" {now.own.version}; {verb} what is left of the former driver"
    )


def installer(now: State, family: Family) -> dict[str, Any]:
    """Return how the .run installer is run; the flavour has its own option since 560, before, a
    folder of the modules was named.
    """
    own = now.own
    flavour = [f"--kernel-module-type={own.modules}"]
    if _major(own.version) < 560:
        flavour = ["-m=kernel-open"] if own.modules == "open" else []
    is_dnf = family.is_dnf
    begun = {**now.host.recorded, "method": "runfile", "version": ""}
    return {
        "path": installer_path(own.version),
        "folder": names.INSTALLERS,
        "argv": [installer_path(own.version), "--silent", "--dkms", *flavour],
        "begun": files.as_json(begun),
        "builder_due": steps.builder_due(now),
        "builder": dnf.BUILDER if is_dnf else [*apt.command(own), "install", "dkms"],
        "simulation": module(["dkms"], may_erase=False) if is_dnf else {},
        "record": files.as_json(files.coming_record(now, family.new)),
    }


def installer_path(version: str) -> str:
    """Return where the installer lies while it is needed."""
    return f"{names.INSTALLERS}/nvidia-{version}.run"


def _major(version: str) -> int:
    major = version.partition(".")[0]
    return int(major) if major.isdigit() else 0


def _not_offered(now: State, family: Family) -> str:
    text = faults.not_offered(now, family)
    if text and family.is_dnf and "dkms" in family.unavailable:
        text += "; dkms is of EPEL, which needs crb on Rocky and Alma"
    return text


def _report(now: State, family: Family) -> str:
    """Return what would be installed; not simulated, because check mode writes no pin (GEN-05)."""
    missing = ", ".join(family.unavailable)
    checked = f"not checked, no configured repository offers {missing}"
    comes = family.transaction or (now.missing if family.is_dnf else [])
    return f"would install {', '.join(comes)}; {checked if missing else 'all are offered'}"


def _fault(family: Family) -> str:
    """Return why the transaction must not be: it cannot be, or takes what is not the driver's."""
    part, name = (dnf, "dnf") if family.is_dnf else (apt, "apt")
    removed = part.not_the_drivers(family.removed)
    if removed:
        return f"DRV-22: {name} would remove {', '.join(removed)}"
    return family.failure
