# Copyright: the gpugen authors. Apache-2.0.
"""What a host has of MIG: what is asked, and what the answers mean."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..common import host as system
from ..common import packages as repositories
from ..common import seen as answers
from . import places

Seen = Mapping[str, Any]
Wanted = Mapping[str, Any]
YOUNG = (9, 0)  # from this compute capability a change of MIG mode resets nothing


class Trees(NamedTuple):
    """Where the machine is read."""

    driver: str
    gpus: str
    resets: str
    drm: str
    cgroup2: str
    cloud_init: str
    sockets: str


class Host(NamedTuple):
    """What a host has, beside what it should have."""

    is_host: bool  # the host's boot service applies the layout
    config: str
    record: dict[str, Any]
    has_driver: bool
    installed: str  # version of the package; empty where it is missing
    is_installed: bool  # at the expected version
    is_enabled: bool
    state: dict[str, str]
    kubelet_runs: bool
    apps: list[str]  # processes that compute
    running_kubelets: list[str]
    layouts: str
    override: str
    former: str  # layout that is selected for the next boot
    hooks: str
    differing: list[str]  # files that are not as expected
    has_layout: bool
    assert_error: str
    is_young: bool

    @property
    def is_ours(self) -> bool:
        """Whether gpugen changed this host."""
        return bool(self.record)

    @property
    def is_due(self) -> bool:
        """Whether the GPUs need another layout."""
        return self.is_host and not self.has_layout


def trees(wanted: Wanted) -> Trees:
    """Return where the machine is read; tests have trees of their own."""
    procfs = wanted.get("__nvidia_mig_procfs", "/proc")
    sysfs = wanted.get("__nvidia_mig_sysfs", "/sys")
    return Trees(
        driver=f"{procfs}/driver/nvidia/version",
        gpus=f"{procfs}/driver/nvidia/gpus/*",
        resets=f"{sysfs}/bus/pci/devices/*/reset",
        drm=f"{sysfs}/module/nvidia_drm",
        cgroup2=wanted.get("__nvidia_mig_cgroup2", "/sys/fs/cgroup/cgroup.controllers"),
        cloud_init=wanted.get("__nvidia_mig_cloud_init", "/run/cloud-init"),
        sockets=f"{procfs}/net/unix",
    )


def questions(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Ask for package, unit, files and GPUs; later for what only a host needs that differs."""
    if wanted["nvidia_mig_manager"] == "none":
        return {}
    tree = trees(wanted)
    own = (places.FILE, places.OVERRIDE, places.DROPIN, places.RECORD, places.MARKER)
    return {
        "files": [*own, tree.driver],
        "globs": [*tree[1:5], *_of_cloud_init(tree)],
        "packages": [places.PACKAGE],
        "units": [places.UNIT, places.CDI, places.DCGM, *places.KUBELETS],
        "commands": _commands(wanted, seen) if wanted["nvidia_mig_manager"] == "host" else {},
    }


def described(wanted: Wanted) -> dict[str, Any]:
    """Return the answers of a host that carries the stated layout, with a running kubelet."""
    if wanted["nvidia_mig_manager"] == "none":
        return {}
    is_host = wanted["nvidia_mig_manager"] == "host"
    state = {"LoadState": "loaded", "UnitFileState": "enabled" if is_host else "disabled"}
    config = wanted["nvidia_mig_config"]
    texts = {
        places.FILE: wanted["nvidia_mig_layouts"],
        places.OVERRIDE: places.override(config, _hooks(_is_young(wanted), is_booting=False)),
        places.DROPIN: places.DROPIN_TEXT,
        places.RECORD: json.dumps({"managedBy": "gpugen"}),
    }
    files = {path: {"text": text, "mtime": 0} for path, text in texts.items() if is_host}
    version = {"version": f"{wanted['nvidia_mig_version']}-1", "held": False}
    fine = {"rc": 0, "out": "", "err": ""}
    return {
        "files": {**files, trees(wanted).driver: {"text": "", "mtime": 0}},
        "packages": {places.PACKAGE: version} if is_host else {},
        "units": {places.UNIT: {**state, "ActiveState": "inactive", "ActiveEnterTimestamp": ""}},
        "commands": {f"assert {config}": fine, "apps": fine, "kubelet": fine} if is_host else {},
    }


def read(seen: Seen, wanted: Wanted) -> Host:
    """Return what the answers mean."""
    config = wanted["nvidia_mig_config"]
    override = answers.text(seen, places.OVERRIDE)
    installed = answers.packages(seen).get(places.PACKAGE, "")
    version = re.escape(wanted["nvidia_mig_version"])
    is_young = _is_young(wanted)
    hooks = _hooks(is_young, _is_booting(seen, trees(wanted)))
    layouts = answers.text(seen, places.FILE)
    asserted = answers.command(seen, f"assert {config}")
    own = asserted if layouts == wanted["nvidia_mig_layouts"] else None
    apps = answers.command(seen, "apps")
    return Host(
        is_host=wanted["nvidia_mig_manager"] == "host",
        config=config,
        record=answers.record(seen, places.RECORD),
        has_driver=answers.exists(seen, trees(wanted).driver),
        installed=installed,
        is_installed=re.match(rf"(\d+:)?{version}-", installed) is not None,
        is_enabled=answers.is_enabled(seen, places.UNIT),
        state=answers.unit(seen, places.UNIT),
        kubelet_runs=answers.command(seen, "kubelet")["rc"] == 0,
        apps=[line for line in apps["out"].splitlines() if line.isdigit() and apps["rc"] == 0],
        running_kubelets=[
            name for name in places.KUBELETS if answers.unit(seen, name)["ActiveState"] == "active"
        ],
        layouts=layouts,
        override=override,
        former=_selected(override),
        hooks=hooks,
        differing=_differing(seen, wanted, hooks),
        has_layout=(own or answers.command(seen, f"assert new {config}"))["rc"] == 0,
        assert_error=asserted["err"].strip(),
        is_young=is_young,
    )


def numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, which compare as a version does."""
    return tuple(map(int, re.findall(r"\d+", version)))


def unresettable(seen: Seen, wanted: Wanted) -> list[str]:
    """Return GPUs that cannot be reset: passed through to a virtual machine."""
    tree = trees(wanted)
    able = {
        posixpath.basename(posixpath.dirname(path)) for path in answers.found(seen, tree.resets)
    }
    gpus = map(posixpath.basename, answers.found(seen, tree.gpus))
    return repositories.without(gpus, able)


def _commands(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Return commands; names hold the layout, so an answer about one is never taken for another."""
    config = wanted["nvidia_mig_config"]
    socket = f"{wanted['nvidia_mig_kubelet_root']}/device-plugins/kubelet.sock"
    select = ["--selected-config", config]
    with_file = ["--config-file", places.FILE, *select]
    found: dict[str, Any] = {
        f"assert {config}": ["nvidia-mig-parted", "assert", *with_file],
        "apps": ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"],
        "kubelet": ["grep", "-F", socket, trees(wanted).sockets],
    }
    if not seen or wanted["state"] == "absent":
        return found
    own = read(seen, wanted)
    has_file = own.layouts == wanted["nvidia_mig_layouts"]
    if own.installed and not has_file:
        argv = ["nvidia-mig-parted", "assert", "--config-file", "-", *select]
        found[f"assert new {config}"] = {"argv": argv, "stdin": wanted["nvidia_mig_layouts"]}
    if own.installed and has_file and not own.has_layout:
        found["mode"] = ["nvidia-mig-parted", "assert", "--mode-only", *with_file]
    is_apt = system.package_manager(seen) == "apt"
    if is_apt and not own.is_installed and not wanted["check_mode"]:
        found["offers"] = repositories.offers_of("apt", [places.PACKAGE])
    return found


def _of_cloud_init(tree: Trees) -> list[str]:
    """Return its folder, the mark that it is done, and the one that it does nothing."""
    return [tree.cloud_init, f"{tree.cloud_init}/result.json", f"{tree.cloud_init}/disabled"]


def _is_young(wanted: Wanted) -> bool:
    return numbers(wanted["nvidia_mig_compute_capability"]) >= YOUNG


def _is_booting(seen: Seen, tree: Trees) -> bool:
    """Tell whether cloud-init is at work, on cgroup v2."""
    began, done, disabled = (bool(answers.found(seen, path)) for path in _of_cloud_init(tree))
    return bool(answers.found(seen, tree.cgroup2)) and began and not (done or disabled)


def _hooks(is_young: bool, is_booting: bool) -> str:
    return f"{places.FOLDER}/hooks-{'minimal' if is_young or is_booting else 'default'}.yaml"


def _selected(override: str) -> str:
    match = re.search(r'MIG_PARTED_SELECTED_CONFIG=([^"]+)', override)
    return match[1] if match else ""


def _differing(seen: Seen, wanted: Wanted, hooks: str) -> list[str]:
    texts = {
        places.FILE: wanted["nvidia_mig_layouts"],
        places.DROPIN: places.DROPIN_TEXT,
        places.OVERRIDE: places.override(wanted["nvidia_mig_config"], hooks),
    }
    return [path for path, text in texts.items() if answers.text(seen, path) != text]
