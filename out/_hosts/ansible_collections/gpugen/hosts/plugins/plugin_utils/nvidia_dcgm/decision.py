# Copyright: the gpugen authors. Apache-2.0.
"""What is due on a host, and what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..common import host as system
from ..common import packages as repositories
from ..common import seen as answers
from ..common.packages import without
from .host import DROPIN, DROPIN_TEXT, EPOCH, FORMER, LOCALHOST, UNIT, Host, Seen, Wanted, read


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Decide which packages, which settings and which state of the service are due."""
    own = read(seen, wanted)
    present = wanted["state"] == "present" and own.mode != "none"
    removal = _removal(own, wanted)
    start_due = own.is_host and (own.is_stale or not own.is_enabled)
    steps = {
        "record_due": not own.record,
        "packages_due": own.packages_due,
        "unmask_due": own.is_host and own.is_masked,
        "dropin_due": own.is_host and not own.has_dropin,
        # Check mode cannot start a service whose package is not there yet.
        "start_due": start_due and not (wanted["check_mode"] and own.packages_due),
        "mask_due": own.mode == "masked" and (own.runs or not own.is_masked),
    }
    steps = {name: present and is_due for name, is_due in steps.items()}
    return {
        "faults": list(_faults(own)) if present else [],
        "shortfalls": list(_shortfalls(own, seen, wanted)) if present else [],
        "interrupts": [],  # clients connect again after a restart of the engine
        "due": any(steps.values()) or removal["removal_due"],
        "reboot_due": False,
        **steps,
        **removal,
        **_transaction(own, seen),
        "host_due": present and own.is_host and any(steps.values()),
        "runs": own.runs,
        "is_enabled": own.is_enabled,
        "record": _record(own, seen),
        "dropin": DROPIN_TEXT.format(version=own.version),
    }


def _faults(own: Host) -> Iterator[str]:
    """Return every reason to refuse the host (DCG-01, DCG-02)."""
    if not own.is_host:
        return
    if not (own.packages and re.fullmatch(r"4[.]\d+[.]\d+", own.version)):
        yield (
            "DCG-01: host needs an exact version of DCGM 4 and packages"
            " (nvidia_dcgm_version, nvidia_dcgm_packages)"
        )
    if own.missing and own.others:
        yield (
            f"DCG-01: {', '.join(own.others)} of another version than {own.version}"
            " (nvidia_dcgm_version) would have to go; remove them first"
        )
    if own.listening and not own.runs:
        yield (
            f"DCG-02: somebody else listens on port 5555, and {UNIT} does not run:"
            " end the other host engine, there must be one (nvidia_dcgm_mode)"
        )


def _shortfalls(own: Host, seen: Seen, wanted: Wanted) -> Iterator[str]:
    """Return what is not as it should be (DCG-01, DCG-02, DCG-03, DCG-04)."""
    state = answers.unit(seen, UNIT)
    if own.packages_due:
        yield (f"DCG-01: {', '.join(own.missing)} are not at {own.version} (nvidia_dcgm_version)")
    if own.is_host != own.runs:
        yield (
            f"DCG-02: {UNIT} is {state['ActiveState']}, and the mode is {own.mode}"
            " (nvidia_dcgm_mode)"
        )
    if own.mode == "masked" and not own.is_masked:
        yield (
            f"DCG-02: {UNIT} is {state['UnitFileState'] or 'missing'}, expected masked"
            " (nvidia_dcgm_mode)"
        )
    if own.is_host:
        yield from _of_engine(own, seen, int(wanted["nvidia_dcgm_expected_gpus"]))


def _of_engine(own: Host, seen: Seen, expected: int) -> Iterator[str]:
    if exposed := without(own.listening, LOCALHOST):
        yield (
            f"DCG-02: the host engine listens on more than localhost ({', '.join(exposed)},"
            " as /proc/net/tcp writes it): it takes orders from anybody there"
        )
    if not own.has_dropin:
        yield f"DCG-03: {DROPIN} does not order the engine after fabric manager and MIG manager"
    if own.gpus != expected:
        answer = answers.command(seen, "discovery")
        found = (
            own.gpus if own.gpus >= 0 else f"nothing ({(answer['out'] + answer['err']).strip()})"
        )
        yield f"DCG-04: dcgmi finds {found} GPUs, expected {expected} (nvidia_dcgm_expected_gpus)"


def _transaction(own: Host, seen: Seen) -> dict[str, Any]:
    """Return what is installed, in the words of the host's package manager (DCG-01)."""
    names, version = own.packages, f"{EPOCH}:{own.version}"
    manager = system.package_manager(seen)
    form = f"{{}}={version}-*" if manager == "apt" else f"{{}}-{version}"
    offers = repositories.offered(answers.command(seen, "offers")["out"])
    able = [name for name, offer in offers if offer.startswith(f"{version}-")]
    lacking = without(own.missing, able)
    listed = ", ".join(" ".join(pair) for pair in offers) or "nothing"
    former = " and remove DCGM 3" if own.has_former else ""
    return {
        "manager": manager,
        "packages": [form.format(name) for name in names],
        "former": FORMER,
        "has_former": own.has_former,
        "transaction": f"{', '.join(names)} {own.version}{former}",
        "refresh": repositories.refresh(manager),
        "is_unavailable": bool(lacking),
        "unavailable": f"DCG-01: the configured repositories do not offer {version} of"
        f" {', '.join(lacking)}; they offer {listed} (nvidia_dcgm_version)",
    }


def _removal(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Return what the removal of the role takes back (GEN-12)."""
    note = own.record
    removal_due = wanted["state"] == "absent" and own.mode != "none" and bool(note)
    was_enabled = bool(note.get("wasEnabled"))
    return {
        "removal_due": removal_due,
        "removable": without(own.installed, note.get("installed", [])),
        "stop_due": own.runs and not was_enabled,
        "was_masked": bool(note.get("wasMasked")),
        "masking_differs": own.is_masked != bool(note.get("wasMasked")),
        "restart_due": was_enabled and not own.is_enabled,
    }


def _record(own: Host, seen: Seen) -> str:
    note = {
        "managedBy": "gpugen",
        "installed": sorted(answers.packages(seen)),
        "wasEnabled": own.is_enabled,
        "wasMasked": own.is_masked,
    }
    return json.dumps(note, indent=2, sort_keys=True) + "\n"
