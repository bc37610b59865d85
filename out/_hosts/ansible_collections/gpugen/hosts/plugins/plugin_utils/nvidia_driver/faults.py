# Copyright: the gpugen authors. Apache-2.0.
"""Every reason to refuse a host. All that hold are reported at once, before the first write."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import names
from .family import Family
from .host import Host
from .state import State, driver_set
from .wants import Wants

_VERSION = re.compile(r"[0-9]{3}[.][0-9.]+")
_NAME, _VALUE = re.compile(r"[A-Za-z0-9_]+"), re.compile(r"[A-Za-z0-9_,.:-]+")
_ORIGINS = {"vendor": "the distribution's archive", "runfile": "a repository"}


def faults(now: State, family: Family) -> list[str]:
    """Return the reasons, "RULE: text"."""
    return [
        *_of_variables(now.own),
        *_of_firmware_and_system(now),
        *_of_origin(now, family),
        *_of_room(now),
        *_of_offers(now, family),
        *_of_work(now),
    ]


def not_offered(now: State, family: Family) -> str:
    """Return what no repository offers, and what they offer; empty where all is offered."""
    if not family.unavailable:
        return ""
    return (
        f"DRV-26: the configured repositories do not offer {now.own.version} of"
        f" {', '.join(family.unavailable)}; they offer"
        f" {', '.join(names.unique(family.offered)) or 'nothing'} (nvidia_driver_version)"
    )


def in_use(host: Host) -> str:
    """Return who uses the GPUs; empty where nobody does."""
    found = []
    if host.apps:
        found.append(f"processes {', '.join(host.apps)} compute on the GPUs")
    if host.holders:
        found.append(f"processes {', '.join(host.holders)} have /dev/nvidia* open")
    return f"{', and '.join(found)}; end them before the driver changes" if found else ""


def _of_variables(own: Wants) -> Iterator[str]:
    if own.by_packages and not (own.packages and _VERSION.fullmatch(own.version)):
        yield (
            f"DRV-02: {own.method} needs an exact version and packages"
            " (nvidia_driver_version, nvidia_driver_packages)"
        )
    if own.method == "runfile" and not {"url", "sha256"} <= own.runfile.keys():
        yield "DRV-22: runfile needs the installer's address and checksum (nvidia_driver_runfile)"
    good = all(
        _NAME.fullmatch(name) and _VALUE.fullmatch(str(value))
        for name, value in own.module_options.items()
    )
    if not good:
        yield (
            "DRV-10: a module option is not of the form name=value without blanks and quotes"
            " (nvidia_driver_module_options)"
        )


def _of_firmware_and_system(now: State) -> Iterator[str]:
    own, host = now.own, now.host
    if own.installs and host.globbed(names.DGX):
        yield (
            "PRE-03: the host runs DGX OS, whose image pins its own driver;"
            " use method none (nvidia_driver_method)"
        )
    if host.taken:
        yield (
            f"DRV-09: GPUs are bound to another driver ({', '.join(host.taken)}); vfio-pci gives"
            " them to virtual machines: unbind them, see 'lspci -k', the kernel's command line and"
            " /etc/modprobe.d, and reboot"
        )
    if own.installs and host.secure_boot:
        yield from _of_secure_boot(own)


def _of_secure_boot(own: Wants) -> Iterator[str]:
    if own.secure_boot == "refuse":
        yield (
            "DRV-11: Secure Boot is on, and the spec says refuse (nvidia_driver_secure_boot); take"
            " signed with method precompiled, mok with a key that somebody enrols at the console,"
            " or switch Secure Boot off"
        )
    if own.secure_boot == "signed" and own.method != "precompiled":
        yield (
            "DRV-11: Secure Boot is on, and modules that DKMS builds are not signed by the"
            " distribution (nvidia_driver_secure_boot: signed); take method precompiled, or mok"
        )


def _of_origin(now: State, family: Family) -> Iterator[str]:
    own, host = now.own, now.host
    if own.installs:
        yield from _of_former_driver(now, family)
    if own.installs and host.globbed(names.CONTAINER):
        yield (
            "DRV-25: a driver container owns this node (/run/nvidia/driver);"
            " remove it from the cluster, or use method none (nvidia_driver_method)"
        )
    if family.pinning:
        yield (
            f"DRV-03: {', '.join(family.pinning)} pins the driver too; purge it,"
            " the role pins by itself"
        )
    if own.by_packages and family.rivals:
        yield (
            f"DRV-06: {names.LOCKS} locks the driver too ({', '.join(family.rivals)});"
            " remove these lines, the role locks by itself"
        )


def _of_former_driver(now: State, family: Family) -> Iterator[str]:
    own, host = now.own, now.host
    method = host.recorded["method"]
    by_installer = own.method == method == "runfile"
    if host.globbed(names.UNINSTALLER) and not by_installer:
        yield f"DRV-24: a driver of the .run installer is present ({names.UNINSTALLER})" + (
            ", installed by this role; remove it by remove.yml first"
            if method == "runfile"
            else "; remove it by that program first"
        )
    if method not in ("", "runfile", own.method):
        yield (
            f"DRV-24: this driver was installed by method {method} ({names.RECORD}), expected"
            f" {own.method} (nvidia_driver_method); remove it by remove.yml first"
        )
    if family.foreign:
        origin = _ORIGINS.get(own.method, "the vendor's repository")
        yield (
            f"DRV-24: driver packages of {origin} are installed ({', '.join(family.foreign)});"
            " packages of two origins must not mix, purge them first"
        )
    if host.loaded and not driver_set(host) and not method:
        yield (
            f"DRV-24: driver {host.loaded} is loaded, but no package owns it; remove it,"
            " or use method none (nvidia_driver_method)"
        )


def _of_room(now: State) -> Iterator[str]:
    if not now.change_due or not now.host.was_asked("df"):
        return
    own, (root, boot) = now.own, now.host.free_mib
    if root < own.min_free_root_mib:
        yield (
            f"PRE-03: {root} MiB free below /, expected {own.min_free_root_mib}"
            " (nvidia_driver_min_free_root_mib)"
        )
    if boot < own.min_free_boot_mib:
        yield (
            f"PRE-03: {boot} MiB free below /boot, expected {own.min_free_boot_mib}"
            " (nvidia_driver_min_free_boot_mib)"
        )


def _of_offers(now: State, family: Family) -> Iterator[str]:
    own = now.own
    # Nothing is offered yet where converge will name the repository. Lists that may be old are
    # refreshed first.
    awaits_repository = own.around.has_repositories and not family.offered
    is_certain = own.around.lists_are_fresh and not own.around.is_check
    told = own.by_packages and now.is_replaced and is_certain and not awaits_repository
    if told and family.unavailable:
        yield not_offered(now, family)
    url = own.runfile.get("url", "")
    found = now.host.status(url)
    if found["status"] != 200:
        yield f"DRV-26: {url} cannot be had: {found['msg']} (nvidia_driver_runfile)"


def _of_work(now: State) -> Iterator[str]:
    own, host = now.own, now.host
    if not now.is_replaced:
        return
    if host.kubelet_runs and not own.can_drain:
        yield (
            f"DRV-15: the installed driver is not {own.version} (nvidia_driver_version; loaded:"
            f" {host.loaded or 'none'}), the kubelet runs, and nothing drains the node; state"
            " access.kubeconfigContext, or drain it, stop the kubelet, run again, reboot"
        )
    is_drained = host.kubelet_runs and own.can_drain
    if own.in_use == "refuse" and not is_drained and (use := in_use(host)):
        yield f"DRV-13: {use}"
