# Copyright: the gpugen authors. Apache-2.0.
"""What is expected on a host, what is missing of it, and what follows from that."""

from __future__ import annotations

from typing import NamedTuple

from . import apt, dnf, names
from .host import Host
from .wants import Wants


class State(NamedTuple):
    """The packages of the driver, and the driver that is loaded.

    extra: beside the set, at versions of their own. pinned: of the set at its version; unheld of
    them. strays: at another version. is_other: another driver is loaded than the expected.
    """

    own: Wants
    host: Host
    expected: list[str]
    extra: list[str]
    pinned: list[str]
    unheld: list[str]
    strays: list[str]
    missing: list[str]
    change_due: bool
    is_other: bool
    is_replaced: bool

    @property
    def unfinished(self) -> list[str]:
        """Packages that are not as expected."""
        return [*self.strays, *self.missing]

    @property
    def is_pending(self) -> bool:
        """Check mode in front of a change: what follows it cannot be shown."""
        return self.own.around.is_check and self.change_due


def state(own: Wants, host: Host) -> State:
    """Compare a host with what is expected."""
    whole = driver_set(host)
    pinned = sorted(name for name in whole if names.is_of(version(host, name), own.version))
    strays = sorted(names.without(whole, pinned, own_versions(own, host)))
    expected = _expected(own, host, pinned)
    extra = _extra(own, host)
    missing = [*names.without(expected, pinned), *names.without(extra, host.packages)]
    change_due = (own.by_packages and bool(missing or strays)) or (
        own.method == "runfile" and not _installer_is_done(own, host)
    )
    is_other = host.loaded not in ("", own.version) or (
        host.loaded != "" and host.flavour != own.modules
    )
    return State(
        own=own,
        host=host,
        expected=expected,
        extra=extra,
        pinned=pinned,
        unheld=[name for name in pinned if not host.packages[name]["held"]],
        strays=strays,
        missing=missing,
        change_due=change_due,
        is_other=is_other,
        is_replaced=change_due and (bool(strays) or is_other),
    )


def driver_set(host: Host) -> list[str]:
    """Return the packages with a version that looks like a driver's; others do not count."""
    return [
        name
        for name, found in host.packages.items()
        if "container" not in name and _has_driver_version(found["version"])
    ]


def version(host: Host, name: str) -> str:
    """Return the version of an installed package."""
    return str(host.packages[name]["version"])


def own_versions(own: Wants, host: Host) -> list[str]:
    """Return the packages that have versions of their own though they belong to the driver."""
    has_own = own.method == "distro" and host.is_debian and not host.is_dnf
    return list(names.DEBIAN_TOOLS) if has_own else []


def wants_key(own: Wants, host: Host) -> bool:
    """Tell whether the firmware must know the key of DKMS."""
    return own.secure_boot == "mok" and own.uses_dkms and host.secure_boot


def _has_driver_version(text: str) -> bool:
    upstream, separator, _dummy = names.without_epoch(text).partition("-")
    return bool(separator) and names.is_driver_version(upstream)


def _expected(own: Wants, host: Host, pinned: list[str]) -> list[str]:
    """Return the set; a host that has the complete one at the right version keeps it."""
    complete = own.complete_packages
    keeps = bool(complete) and not names.without(complete, pinned)
    return [
        *(complete if keeps else own.packages),
        *(own.fabric_packages if host.has_fabric else ()),
    ]


def _extra(own: Wants, host: Host) -> list[str]:
    modules = dnf.module_packages(own, host) if host.is_dnf else apt.module_packages(own, host)
    return [
        *(own.nvlink5_packages if host.has_fabric else ()),
        *modules,
        *(["mokutil"] if wants_key(own, host) else []),
    ]


def _installer_is_done(own: Wants, host: Host) -> bool:
    done = (host.recorded["method"], host.recorded["version"], host.recorded["modules"])
    return bool(host.globbed(names.UNINSTALLER)) and done == ("runfile", own.version, own.modules)
