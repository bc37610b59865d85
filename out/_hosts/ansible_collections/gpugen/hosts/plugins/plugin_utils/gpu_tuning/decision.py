# Copyright: the gpugen authors. Apache-2.0.
"""What is due on a host: what acts at boot, and what acts at once."""

from __future__ import annotations

import posixpath
from typing import Any

from ..common import seen as answers
from . import kernel, limits, places, units
from .faults import faults
from .host import Host, Seen, Wanted, read
from .shortfalls import is_ecc_due, is_ecc_wrong, shortfalls


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return what to refuse, what verification finds, and what is due."""
    own = read(seen, wanted)
    is_present = wanted["state"] == "present"
    boot, change = _boot(own), _change(own, wanted)
    found = list(shortfalls(own)) if is_present else []
    reboots = kernel.reboots(own)
    reboots += [f"ECC of the GPUs not {own.ecc}"] if is_ecc_wrong(own) else []
    interrupts = [*(f"reboot: {reason}" for reason in reboots), *limits.ending(own)]
    due = any(value for name, value in {**boot, **change}.items() if name.endswith("_due"))
    is_checking = bool(wanted["check_mode"])
    return {
        # A host of which nothing is known is not refused.
        "faults": list(faults(own)) if is_present and seen else [],
        "shortfalls": found,
        "interrupts": interrupts if is_present else [],
        "due": due,
        "reboot_due": is_present and bool(reboots),
        **boot,
        **change,
        "verify_due": not is_checking and (change["change_due"] or bool(found)),
        "notes": _notes(own),
        **_removal(own),
    }


def _boot(own: Host) -> dict[str, Any]:
    """Return what acts at boot (TUN-03, TUN-04, TUN-06, TUN-07, TUN-09)."""
    is_kernel_due = kernel.is_due(own)
    files = {places.SYSCTL_FILE: kernel.sysctl(own), places.MODULES_FILE: kernel.modules(own)}
    differing = {path: text for path, text in files.items() if _differs(own, path, text)}
    loads = [["sysctl", "--load", places.SYSCTL_FILE]] if kernel.wrong(own) else []
    reset = kernel.restored(own)
    text = kernel.text(own)
    return {
        "kernel_due": is_kernel_due and bool(text),
        "kernel": _file(own.kernel_file, text),
        "loader": kernel.loader(own),
        "texts_due": any(differing.values()),
        "texts": [_file(path, text) for path, text in differing.items() if text],
        "load_due": bool(loads),
        "sysctl_file": places.SYSCTL_FILE,
        "reset_due": bool(reset),
        "reset": ["sysctl", "--write", *reset],
        "stale_due": not all(differing.values()) or (is_kernel_due and not text),
        "stale": [
            *(path for path, text in differing.items() if not text),
            *([own.kernel_file] if is_kernel_due and not text else []),
        ],
        "ecc_due": is_ecc_due(own),
        "ecc": [places.SMI, f"--ecc-config={int(own.ecc == 'enabled')}"],
    }


def _change(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Return what acts at once (TUN-01, TUN-02, TUN-03, TUN-05, TUN-08, TUN-09)."""
    new, former = units.due(own), units.retired(own)
    services = limits.due(own)
    limited = own.runtimes if own.has_limits else []
    is_script_due, outdated = units.is_script_due(own), limits.outdated(own)
    is_peermem_due = own.needs_peermem and not own.has_peermem and bool(own.driver)
    program = _file(places.ACS_SCRIPT, places.ACS_PROGRAM)
    is_change_due = bool(new or former or outdated or is_script_due or is_peermem_due)
    return {
        "change_due": is_change_due or is_ecc_due(own),
        "retire_due": bool(former),
        "retired": [setting.name for setting in former],
        "retired_files": [
            *(places.unit_file(setting.name) for setting in former),
            *(places.ACS_SCRIPT for setting in former if setting.name == places.ACS_UNIT),
        ],
        "resets": [setting.reset for setting in former if setting.reset and own.has_smi],
        "script_due": is_script_due,
        "script": program if is_script_due else {},
        "units": [_file(places.unit_file(setting.name), setting.text) for setting in new],
        "started": [setting.name for setting in new if _is_startable(own, setting.name, wanted)],
        "peermem_due": is_peermem_due,
        "limits": [_limits(own, name) for name in services if name in limited],
        "unlimited": [places.limits_file(name) for name in services if name not in limited],
        "restarts": limits.restarts(own),
    }


def _limits(own: Host, name: str) -> dict[str, str]:
    return _file(places.limits_file(name), limits.text(own))


def _is_startable(own: Host, name: str, wanted: Wanted) -> bool:
    """Tell whether a unit can be started: check mode has not written a new one."""
    return not wanted["check_mode"] or own.is_loaded(f"{name}.service")


def _removal(own: Host) -> dict[str, Any]:
    """Return what the removal of the role does beside; nothing is expected of the host then."""
    words = kernel.lingering(own)
    paths = [*map(places.limits_file, own.services), own.kernel_file]
    folders = [posixpath.dirname(path) for path in paths]
    return {
        "is_lingering": bool(words),
        "lingering": f"{' '.join(words)} stay on the kernel's command line until the next boot,"
        " which is yours",
        "empty": ["find", *folders, "-maxdepth", "0", "-empty", "-print", "-delete"],
    }


def _notes(own: Host) -> list[str]:
    """Return what is left to whoever installed the cluster (TUN-06, TUN-07)."""
    found = []
    if own.numa and answers.exists(own.seen, places.KUBELET_FILE):
        found.append(f"topologyManagerPolicy in {places.KUBELET_FILE} is {_policy(own)}")
    if own.pages_2mi >= 0 and not own.kubelets:
        found.append(
            "restart the kubelet yourself when the huge pages have changed; this distribution runs"
            " it in no unit that the role knows"
        )
    return found


def _policy(own: Host) -> str:
    mark = "topologyManagerPolicy:"
    lines = answers.text(own.seen, places.KUBELET_FILE).splitlines()
    found = [line.removeprefix(mark).split() for line in lines if line.startswith(mark)]
    return found[0][0] if found and found[0] else "none"


def _differs(own: Host, path: str, text: str) -> bool:
    return answers.text(own.seen, path).strip() != text.strip()


def _file(path: str, content: str) -> dict[str, str]:
    return {"path": path, "folder": posixpath.dirname(path), "content": content}
