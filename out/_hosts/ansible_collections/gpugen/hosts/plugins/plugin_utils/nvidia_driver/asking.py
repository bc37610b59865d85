# Copyright: the gpugen authors. Apache-2.0.
"""What is asked of a host: at first what tells whether anything is due, the rest where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import apt, dnf, names, steps
from .choice import family_of
from .host import Host
from .state import State, state
from .wants import Wants, wants

_SMI = "nvidia-smi"
_UEVENTS = ["-mindepth", "2", "-maxdepth", "2", "-name", "uevent"]


def questions(wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has to be known, in view of what was seen so far."""
    own = wants(wanted)
    asked = _always(own)
    if not seen:
        return asked
    host = Host(seen, own)
    if own.around.is_absent:
        _for_removal(asked, own, host)
    elif own.installs:
        _for_change(asked, state(own, host))
    return asked


def _always(own: Wants) -> dict[str, Any]:
    """Return what is asked of every host, of either family: it is not known yet."""
    places = own.places
    beside = (*names.APT_BESIDE, *names.DNF_BESIDE, *own.nvlink5_packages)
    return {
        "files": [
            *(places.loaded, places.secure_boot, names.RECORD, names.STOPPED, names.MODPROBE),
            *(names.NVLINK5, names.PREFERENCES, names.LOCKS, names.STREAM),
        ],
        "globs": [
            *(names.DGX, names.UNINSTALLER, names.CONTAINER, names.INITRAMFS, names.IMAGES),
            *(places.modules, *places.kernels_own(), *names.KEYS),
        ],
        "packages": names.unique([*names.APT, *names.DNF, *beside]),
        "units": [*names.OWN_UNITS, *names.CLIENTS, names.MIG_UNIT],
        "commands": {**_commands(own), **(_commands_of_installs(own) if own.installs else {})},
        "users": {},
        "urls": [],
    }


def _commands(own: Wants) -> dict[str, list[str]]:
    socket = f"{own.kubelet_root}/device-plugins/kubelet.sock"
    devices = f"{own.places.sysfs}/bus/pci/devices"
    return {
        "kernel": ["uname", "-r"],
        "kubelet": ["grep", "-F", socket, f"{own.places.procfs}/net/unix"],
        "pci": ["find", "-L", devices, *_UEVENTS, "-exec", "cat", "{}", "+"],
        "smi": [_SMI, "--query-gpu=driver_version,persistence_mode", "--format=csv,noheader"],
    }


def _commands_of_installs(own: Wants) -> dict[str, list[str]]:
    images = ["(", "-name", "initrd.img-*", "-o", "-name", "initramfs-*.img", ")"]
    kind = ["-maxdepth", "1", "-type", "f"]
    return {
        **({"switches": _switches(own)} if own.fabric_packages else {}),
        "df": ["df", "--output=avail", "--block-size=1M", "/", "/boot"],
        "dkms": ["dkms", "status"],
        "old_images": ["find", "/boot", *kind, *images, "!", "-newer", names.MODPROBE],
        "unit": ["systemctl", "cat", names.PERSISTENCED],
        "key_of_shim": ["mokutil", "--test-key", names.KEYS[0]],
        "key_of_dkms": ["mokutil", "--test-key", names.KEYS[1]],
    }


def _switches(own: Wants) -> list[str]:
    """Return what finds NVSwitches: on PCI; behind InfiniBand where they are of NVLink 5
    (DRV-08).
    """
    sysfs = own.places.sysfs
    if own.nvlink5_packages:
        depth = ["-mindepth", "3", "-maxdepth", "3", "-path", "*/device/vpd"]
        look = ["grep", "-la", "SW_MNG", "{}", "+"]
        return ["find", "-L", f"{sysfs}/class/infiniband", *depth, "-exec", *look]
    look = ["grep", "-lzP", "PCI_CLASS=680[0-9A-F]{2}\\nPCI_ID=10DE:", "{}", "+"]
    return ["find", "-L", f"{sysfs}/bus/pci/devices", *_UEVENTS, "-exec", *look]


def _for_change(asked: dict[str, Any], now: State) -> None:
    """Add what is asked in front of a change only: offers, users, simulations, logs."""
    own, commands = now.own, asked["commands"]
    if now.is_replaced:
        _users(asked)
    if own.by_packages and now.change_due:
        commands["offers"] = dnf.asked(now) if now.host.is_dnf else apt.asked(now)
        if now.host.is_dnf and own.stream:
            commands["stream"] = dnf.stream_asked(own)
        _simulation(asked, now)
    if own.method == "runfile" and now.change_due:
        _for_installer(asked, now)
    if steps.dkms_due(now):
        log = f"*/{own.version}/build/make.log"
        read = ["-exec", "tail", "--lines=30", "{}", "+"]
        commands["make_log"] = ["find", "/var/lib/dkms", "-path", log, *read]


def _for_installer(asked: dict[str, Any], now: State) -> None:
    asked["urls"] += [now.own.runfile["url"]] if now.own.runfile.get("url") else []
    if steps.builder_due(now) and not now.host.is_dnf:
        asked["commands"]["simulation"] = apt.simulation(now.own, "install", "dkms")


def _users(asked: dict[str, Any]) -> None:
    """Add who uses the GPUs (DRV-13, DRV-14).

    The modules' reference counts are not asked: they name no process, they count our own daemons
    too, and how much one open file weighs is the driver's affair (2 in branches whose
    nvidia_frontend_open takes the module once more, else 1; NVIDIA/open-gpu-kernel-modules,
    nv-frontend.c and nv.c). Once those daemons have stopped, what is still counted keeps the module
    loaded, and the reload gives up.
    """
    asked["users"]["gpus"] = ["/dev/nvidia*"]
    asked["commands"]["apps"] = [_SMI, "--query-compute-apps=pid", "--format=csv,noheader"]


def _simulation(asked: dict[str, Any], now: State) -> None:
    """Add apt's simulation, which is that of the change once the pin is written."""
    if now.host.is_dnf or not now.host.was_asked("offers"):
        return
    family = family_of(now)
    if not family.lock_due and not family.unavailable:
        transaction = apt.simulation(now.own, "install", *family.transaction)
        asked["commands"]["simulation"] = transaction


def _for_removal(asked: dict[str, Any], own: Wants, host: Host) -> None:
    """Add who uses the GPUs, what the record names, and what would go with it."""
    if not host.is_recorded:
        return
    if host.loaded:
        _users(asked)
    recorded = [*host.recorded["installed"], *host.recorded["packages"]]
    asked["packages"] = names.unique([*asked["packages"], *recorded])
    ours = steps.ours(host)
    if ours and not host.is_dnf and host.was_listed(recorded):
        asked["commands"]["simulation"] = apt.simulation(own, "purge", *ours)
