# Copyright: the gpugen authors. Apache-2.0.
"""What is due on a host, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from ..common import host as system
from ..common import packages as repositories
from ..common import seen as answers
from . import places
from .host import Host, Seen, Wanted, numbers, read, trees, unresettable

OLDEST = "0.14.5"  # an older boot service may forget the layout
WAY_OUT = (
    "The releases of NVIDIA/mig-parted carry it as deb and rpm: put it into a repository that this"
    " host has"
)


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Decide whether package, files and layout are due, and what a change interrupts."""
    own = read(seen, wanted)
    present = wanted["state"] == "present"
    is_marked = answers.exists(seen, places.MARKER)
    steps = {
        "package_due": own.is_host and not own.is_installed,
        "wait_due": own.is_host and own.state["ActiveState"] in {"activating", "reloading"},
        "layout_due": own.is_due,
        "keep_due": own.is_host and own.has_layout and bool(own.differing or not own.is_enabled),
        "resume_due": own.is_host and own.has_layout and is_marked,
        "leave_due": wanted["nvidia_mig_manager"] == "cluster" and own.is_ours,
    }
    steps = {name: present and is_due for name, is_due in steps.items()}
    removal = _removal(own, wanted)
    return {
        "faults": list(_faults(own, wanted)) if present else [],
        "shortfalls": list(_shortfalls(own, wanted)) if present else [],
        "interrupts": _interrupts(own) if present else [],
        "due": any(steps.values()) or removal["removal_due"],
        "reboot_due": False,
        **steps,
        **removal,
        **_package(own, seen, wanted),
        **_layout(own, seen, wanted),
    }


def _interrupts(own: Host) -> list[str]:
    """Return why work on the GPUs must leave the host first."""
    if not (own.is_due and own.has_driver and own.kubelet_runs):
        return []
    return [f"MIG layout {own.former or 'unknown'} -> {own.config}"]


def _faults(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return every reason to refuse the host (MIG-01, MIG-03, MIG-06, MIG-08)."""
    if wanted["nvidia_mig_manager"] == "cluster" and own.is_enabled and not own.is_ours:
        yield (
            f"MIG-01: {places.UNIT} is enabled, and the cluster's MIG manager owns the layout"
            " (nvidia_mig_manager); layouts would flip at the next boot. systemctl disable"
            f" {places.UNIT}, or let the host apply layouts"
        )
    if not own.is_host:
        return
    is_foreign = own.former not in {"", "all-disabled"} or "MIG_PARTED_CONFIG_FILE=" in own.override
    if is_foreign and not own.is_ours:
        yield (
            f"MIG-01: {places.OVERRIDE} selects {own.former}, which gpugen did not write; somebody"
            " else partitions these GPUs, a MIG manager in the cluster or an administrator"
            " (nvidia_mig_manager). Remove that file if nobody does any more"
        )
    yield from _of_variables(wanted)
    yield from _of_work(own, wanted)


def _of_variables(wanted: Wanted) -> Iterator[str]:
    version, config = wanted["nvidia_mig_version"], wanted["nvidia_mig_config"]
    if numbers(version) < numbers(OLDEST):
        yield (
            f"MIG-03: nvidia-mig-manager {version or 'without a version'} may forget the layout,"
            f" expected {OLDEST} or newer (nvidia_mig_version)"
        )
    layouts = (yaml.safe_load(wanted["nvidia_mig_layouts"]) or {}).get("mig-configs", {})
    if config not in layouts:
        yield (
            f"MIG-08: the layouts do not contain {config or 'the empty name'}"
            " (nvidia_mig_config, nvidia_mig_layouts)"
        )


def _of_work(own: Host, wanted: Wanted) -> Iterator[str]:
    interrupts = _interrupts(own)
    if interrupts and not wanted["nvidia_mig_can_drain"]:
        yield (
            f"MIG-06: the GPUs do not carry layout {own.config} (nvidia_mig_config), the kubelet"
            " runs, and the play cannot drain the node (nvidia_mig_can_drain). Drain it, stop the"
            " kubelet, run again"
        )
    if own.is_due and own.apps and not interrupts:
        yield (
            f"MIG-06: processes {', '.join(own.apps)} compute on the GPUs; end them before the"
            " layout changes"
        )


def _shortfalls(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return what is not as it should be (MIG-01, MIG-02, MIG-03, MIG-05, MIG-09)."""
    if wanted["nvidia_mig_manager"] == "cluster" and own.is_enabled:
        yield (
            f"MIG-01: {places.UNIT} is enabled, and the cluster's MIG manager owns the layout"
            " (nvidia_mig_manager)"
        )
    if not own.is_host:
        return
    if own.is_due:
        yield (
            f"MIG-05: the GPUs do not carry layout {own.config} (nvidia_mig_config):"
            f" {own.assert_error or 'no layout of that name is on the host'}"
        )
    if places.FILE in own.differing:
        yield f"MIG-02: {places.FILE} is not what the spec says"
    if places.OVERRIDE in own.differing:
        yield (
            f"MIG-03: {places.OVERRIDE} selects {own.former or 'nothing'} for the next boot,"
            f" expected {own.config} with {own.hooks}"
        )
    if not own.is_installed:
        yield (
            f"MIG-03: nvidia-mig-manager is {own.installed or 'not installed'}, expected"
            f" {wanted['nvidia_mig_version']} (nvidia_mig_version)"
        )
    if not own.is_enabled:
        yield (
            f"MIG-09: {places.UNIT} is {own.state['UnitFileState'] or 'missing'}: the next boot"
            " would not apply the layout"
        )


def _package(own: Host, seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return how the package is installed, and what is said where it cannot be (MIG-03)."""
    version, manager = wanted["nvidia_mig_version"], system.package_manager(seen)
    offers = [own for _dummy, own in repositories.offered(answers.command(seen, "offers")["out"])]
    able = [own for own in offers if own.startswith(f"{version}-")]
    listed = ", ".join(dict.fromkeys(offers)) or "none"
    note = {
        "managedBy": "gpugen",
        "wasInstalled": bool(own.installed),
        "wasEnabled": own.is_enabled,
        "override": own.override,
    }
    return {
        "record_due": not own.is_ours,
        "record": json.dumps(note, indent=2, sort_keys=True) + "\n",
        "manager": manager,
        "transaction": f"{places.PACKAGE} {version}",
        "package": f"{places.PACKAGE}{f'={version}-*' if manager == 'apt' else f'-{version}'}",
        "refresh": repositories.refresh(manager),
        "is_unavailable": manager == "apt" and not able,
        "unavailable": f"MIG-03: the configured repositories do not offer {version} of"
        f" {places.PACKAGE} (nvidia_mig_version); they offer {listed}. {WAY_OUT}",
        "dnf_refuses": f"MIG-03: dnf cannot install {places.PACKAGE} {version}"
        " (nvidia_mig_version)",
        "way_out": WAY_OUT,
    }


def _layout(own: Host, seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return what a change of the layout takes, and what follows it."""
    stuck, mode = unresettable(seen, wanted), answers.command(seen, "mode")["rc"] == 0
    marked = json.loads(answers.text(seen, places.MARKER) or "[]")
    paused = list(dict.fromkeys([*marked, *own.running_kubelets]))
    target = "off" if wanted["state"] == "absent" else own.config
    busy = f"processes {', '.join(own.apps)} compute on the GPUs"
    kubelet = "the kubelet runs and the play cannot drain the node"
    cannot_drain = own.has_driver and own.kubelet_runs and not wanted["nvidia_mig_can_drain"]
    hooks = ["--hooks-file", own.hooks, "--selected-config", target]
    return {
        "layouts_due": places.FILE in own.differing,
        "dropin_due": places.DROPIN in own.differing,
        "selection_due": places.OVERRIDE in own.differing,
        "dropin": places.DROPIN_TEXT,
        "selection": places.override(own.config, own.hooks),
        "is_in_use": bool(own.apps) or cannot_drain,
        "in_use": f"MIG-06: layout {own.config} is due (nvidia_mig_config), but"
        f" {busy if own.apps else kubelet}; end them first",
        "former": _former(own),
        "is_stuck": bool(stuck) and not (own.is_young or mode),
        "stuck": f"MIG-06: MIG mode changes, and GPUs {', '.join(stuck)} cannot be reset here"
        " (passed through to a virtual machine). Run nvidia-mig-parted apply --mode-only"
        " --skip-reset with this layout, reboot, run again",
        "not_found": f"MIG-05: nvidia-mig-parted applied {own.config} and does not find it:"
        f" {own.assert_error}",
        "kubelets": [name for name in own.running_kubelets if name != places.KUBELETS[0]],
        "paused": paused,
        "mark": json.dumps(paused),
        "drm_due": bool(answers.found(seen, trees(wanted).drm)) and not (own.is_young or mode),
        "apply": ["nvidia-mig-parted", "apply", "--config-file", places.FILE, *hooks],
        "cdi_due": answers.unit(seen, places.CDI)["LoadState"] == "loaded",
        "dcgm_due": answers.unit(seen, places.DCGM)["UnitFileState"] == "enabled",
        "agents_due": own.kubelet_runs,
    }


def _former(own: Host) -> dict[str, Any]:
    """Return what is restored where a layout cannot be applied (GEN-11)."""
    select = ["--config-file", places.FILE, "--selected-config", own.former]
    return {
        "layouts": own.layouts,
        "override": own.override,
        "apply": ["nvidia-mig-parted", "apply", *select],
        "is_known": bool(own.former) and own.former in own.layouts,
    }


def _removal(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Return what the removal of the role, or another owner, takes back (MIG-01)."""
    note = own.record
    was_installed, was_enabled = bool(note.get("wasInstalled")), bool(note.get("wasEnabled"))
    is_managed = wanted["nvidia_mig_manager"] != "none"
    removal_due = wanted["state"] == "absent" and is_managed and own.is_ours
    has_override = places.FILE in own.override or own.former == "off"
    paths = [places.FILE, places.DROPIN, places.MARKER]
    return {
        "removal_due": removal_due,
        "switch_off_due": removal_due and own.is_host and bool(own.installed) and own.has_driver,
        "computing": f"MIG-06: processes {', '.join(own.apps)} compute on the GPUs; end them"
        " before MIG is switched off",
        "is_computing": bool(own.apps),
        "off": places.OFF,
        "was_installed": was_installed,
        "removable": paths if was_installed else [*paths, places.FOLDER, places.SETTINGS],
        "override_due": was_installed and has_override,
        "override": note.get("override", ""),
        "enabling_due": was_installed and own.is_enabled != was_enabled,
        "was_enabled": was_enabled,
    }
