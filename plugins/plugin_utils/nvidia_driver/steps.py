# Copyright: the gpugen authors. Apache-2.0.
"""Which steps are due on a host."""

from __future__ import annotations

from typing import NamedTuple

from . import files, names
from .family import Family
from .host import Host
from .state import State, wants_key


class Steps(NamedTuple):
    """The steps of converge, each with its reason; the order is theirs."""

    packages: bool
    lock: bool
    modules: bool
    installer: bool
    record: bool
    dkms: bool
    key: bool
    reboot: bool
    reload: bool
    start: bool


def steps(now: State, family: Family) -> Steps:
    """Return what is due."""
    if not now.own.installs:
        return Steps(*[False] * len(Steps._fields))
    own, host = now.own, now.host
    return Steps(
        packages=own.by_packages and now.change_due,
        lock=own.by_packages and family.pin_due and not now.is_pending,
        modules=bool(files.modules(own, host)) or files.images_due(own, host),
        installer=own.method == "runfile" and now.change_due and not host.displaced,
        record=_record_due(now),
        dkms=dkms_due(now),
        key=wants_key(own, host) and not host.key_is_enrolled and not now.is_pending,
        reboot=reboot_due(now),
        reload=_reload_due(now),
        start=start_due(now),
    )


def builder_due(now: State) -> bool:
    """Tell whether the installer of the vendor needs DKMS first."""
    is_missing = now.own.method == "runfile" and "dkms" not in now.host.packages
    return is_missing and now.change_due and not now.host.displaced


def dkms_due(now: State) -> bool:
    """Tell whether modules have to be built (DRV-12)."""
    is_done = now.change_due or is_built(now)
    return now.own.uses_dkms and not is_done and not now.own.around.awaits_kernel


def is_built(now: State) -> bool:
    """Tell whether DKMS has the modules of the kernel that runs."""
    for line in now.host.out("dkms").splitlines():
        what, _dummy, status = line.partition(": ")
        module, *rest = what.split(", ")
        name, _dummy, version = module.partition("/")
        found = (name.startswith("nvidia"), version, *rest[:1])
        if found == (True, now.own.version, now.host.kernel) and status.startswith("installed"):
            return True
    return False


def reboot_due(now: State) -> bool:
    """Tell whether only a reboot brings the installed driver (DRV-16)."""
    own = now.own
    is_due = bool(now.host.displaced) or now.is_other or own.around.reload_failed
    return own.installs and is_due


def services(host: Host) -> list[str]:
    """Return the services that must run, and run after the next boot."""
    return [names.PERSISTENCED, *([names.FABRIC] if host.has_fabric else [])]


def idle_services(host: Host) -> list[str]:
    """Return those that do not."""
    active = host.units_in("ActiveState", ("active",))
    good = names.without(active, host.units_in("UnitFileState", ("disabled",)))
    return names.without(services(host), good)


def ours(host: Host) -> list[str]:
    """Return the packages that go with the driver, because they came with it (DRV-23)."""
    installed: list[str] = sorted(set(host.recorded["installed"]))
    return installed if host.is_dnf else [name for name in installed if name in host.packages]


def theirs(host: Host) -> list[str]:
    """Return packages that this role held and did not install."""
    found = names.without(host.recorded["packages"], host.recorded["installed"])
    return sorted(name for name in found if name in host.packages)


def _record_due(now: State) -> bool:
    is_as_expected = now.host.recorded == files.record(now)
    return not is_as_expected and not now.is_pending and not now.change_due


def start_due(now: State) -> bool:
    """Tell whether the driver or something beside it does not run."""
    host = now.host
    return (
        not host.loaded
        or bool(idle_services(host))
        or not host.answers
        or bool(host.unpersistent)
        or bool(host.stopped)
    )


def _reload_due(now: State) -> bool:
    """Tell whether modules are exchanged in place of a reboot, because the installed ones are all
    that a boot would bring (DRV-17).
    """
    around = now.own.around
    is_asked_for = now.own.activation == "reload" and around.may_reload and not around.is_check
    waits = now.change_due or bool(now.host.displaced) or around.awaits_kernel
    return is_asked_for and now.is_other and not waits and _may_load(now)


def _may_load(now: State) -> bool:
    """Tell whether the modules are there and trusted, and GPU instances come back behind them.

    Instances go with the modules. A boot makes them again; without one it is the role that comes
    behind.
    """
    own, host = now.own, now.host
    has_modules = is_built(now) or not own.uses_dkms
    is_trusted = host.key_is_enrolled or not wants_key(own, host)
    has_instances = names.MIG_UNIT in host.units_in("UnitFileState", ("enabled",))
    return has_modules and is_trusted and (own.around.mig_follows or not has_instances)
