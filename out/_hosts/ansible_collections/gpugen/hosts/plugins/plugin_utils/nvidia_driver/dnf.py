# Copyright: the gpugen authors. Apache-2.0.
"""The Enterprise Linux family: module streams, locks, offers, what a transaction would do."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..common import packages
from . import locks, names
from .family import Family
from .host import Host
from .wants import Wants

if TYPE_CHECKING:
    from .state import State

_FOREIGN = re.compile(r"^akmod-nvidia|^kmod-nvidia$|^xorg-x11-drv-nvidia")
_DRIVERS = re.compile(r"nvidia|^cuda-drivers|^libnvsdm")
_KERNELS = re.compile(
    r"kernel[0-9.]*(-64k|-rt)?(-core|-modules|-modules-core|-modules-extra|-devel|-devel-matched)?"
)
_MACHINE = re.compile(r"[.](x86_64|aarch64)([+].*)?$")
_QUERY = [
    *("dnf", "-q", "-y", "repoquery", "--disable-modular-filtering"),
    *("--queryformat", "%{name}|%{epoch}:%{version}-%{release}"),
]
_INSTALL = ["dnf", "-q", "-y", "--allowerasing", "install"]
BUILDER = ["dnf", "-q", "-y", "install", "dkms"]
_MODULE = ["dnf", "-q", "-y", "module"]


class Offer(NamedTuple):
    """A package that a repository offers, of whatever stream. version: epoch:version-release."""

    name: str
    version: str

    @property
    def upstream(self) -> str:
        """The version without epoch and release."""
        return names.without_epoch(self.version).partition("-")[0]

    @property
    def at_version(self) -> str:
        """Name and version of any release, as dnf takes them."""
        return f"{self.name}-{self.version.partition('-')[0]}"


def module_packages(own: Wants, host: Host) -> list[str]:
    """Return modules that the vendor built, a package for each version and kernel, such as
    kmod-nvidia-580.105.08-5.14.0-503.14.1.
    """
    kernel = re.sub(r"[.]el[0-9].*$", "", _kernel(host))
    named = (each.replace("{version}", own.version) for each in own.module_packages)
    return [each.replace("{kernel}", kernel) for each in named]


def asked(state: State) -> list[str]:
    """Return the command that lists what is offered."""
    own = state.own
    beside = ["dkms"] if own.uses_dkms else []
    every = names.unique([*state.expected, *state.extra, *state.strays, *beside])
    return [*_QUERY, *every, *(f"{name}-{own.version}-*" for name in names.DNF)]


def stream_asked(own: Wants) -> list[str]:
    """Return the command that tells whether the module stream is offered."""
    return [*_MODULE, "info", own.stream]


def family(state: State) -> Family:
    """Return what the decisions need to know of dnf."""
    own, host = state.own, state.host
    offers = [Offer(*each) for each in packages.offered(host.out("offers"))]
    at_version = [each for each in offers if each.upstream == own.version]
    unavailable = _unavailable(state, offers, at_version)
    text = host.text(names.LOCKS)
    expected = _coming_locks(state, at_version) if state.change_due else _locks(state)
    lock_due = locks.found(text) != expected
    wanted = {*state.expected, *state.strays}
    argv = names.unique(each.at_version for each in at_version if each.name in wanted)
    argv += state.extra
    return Family(
        is_dnf=True,
        foreign=[name for name in host.packages if own.installs and _FOREIGN.search(name)],
        pinning=[],
        rivals=locks.rivals(text),
        unavailable=unavailable,
        offered=_told(own, offers, unavailable),
        lock_file=names.LOCKS,
        lock_text=locks.replaced(text, expected),
        lock_due=lock_due,
        hold=[],
        stream_commands=_stream_commands(own, host),
        is_unlocked=locks.found(text) != _locks(state) or bool(_stream_commands(own, host)),
        transaction=argv,
        change=[*_INSTALL, *argv],
        fetch=[*_INSTALL[:-1], "--downloadonly", "install", *argv],
        refresh=[*_QUERY, "--refresh", *asked(state)[len(_QUERY) :]],
        new=list(packages.dnf_new(own.around.simulation)),
        removed=packages.dnf_removed(own.around.simulation),
        failure="",
    )


def not_the_drivers(removed: list[str]) -> list[str]:
    """Return the packages of which a driver's transaction has to keep off."""
    return [
        *(name for name in removed if not _DRIVERS.search(name)),
        *(name for name in removed if "container" in name),
    ]


def enabled_stream(host: Host) -> str:
    """Return the enabled stream of the driver's module; empty where there is none."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(host.text(names.STREAM))
    except configparser.Error:
        return ""
    for section in parser.values():
        if section.get("state", "").startswith("enabled"):
            return section.get("stream", "")
    return ""


def stream_reset(own: Wants) -> list[str]:
    """Return the command by which a module forgets its stream."""
    return [*_MODULE, "reset", own.stream.partition(":")[0]]


def _stream_commands(own: Wants, host: Host) -> list[list[str]]:
    """Return what enables the one stream of branch and flavour; dnf does not switch between two
    (DRV-05).
    """
    module, _dummy, stream = own.stream.partition(":")
    if not module or (enabled_stream(host) == stream and stream):
        return []
    return [stream_reset(own), [*_MODULE, "enable", own.stream]]


def _kernel(host: Host) -> str:
    return _MACHINE.sub("", host.kernel)


def _kernel_locks(state: State) -> list[str]:
    if state.own.around.may_change_kernel:
        return []
    found = (name for name in state.host.packages if _KERNELS.fullmatch(name))
    return [f"{name}-0:{_kernel(state.host)}.*" for name in found]


def _locks(state: State) -> list[str]:
    """Return the locks of what is installed, the whole set and the kernel it was built for."""
    versions = ((name, str(state.host.packages[name]["version"])) for name in state.pinned)
    own = [f"{name}-{full if ':' in full else f'0:{full}'}.*" for name, full in versions]
    return sorted([*own, *_kernel_locks(state)])


def _coming_locks(state: State, at_version: Iterable[Offer]) -> list[str]:
    own = names.unique(f"{each.at_version}-*" for each in at_version)
    return sorted([*own, *_kernel_locks(state)])


def _unavailable(state: State, offers: list[Offer], at_version: list[Offer]) -> list[str]:
    own, host = state.own, state.host
    beside = [*state.extra, *(["dkms"] if own.uses_dkms else [])]
    lacks_stream = bool(own.stream) and host.was_asked("stream") and host.answer("stream")["rc"]
    return [
        *names.without(state.expected, state.pinned, [each.name for each in at_version]),
        *names.without(beside, host.packages, [each.name for each in offers]),
        *([f"module stream {own.stream}"] if lacks_stream else []),
    ]


def _told(own: Wants, offers: list[Offer], unavailable: list[str]) -> list[str]:
    """Return the offers of the first package that is not offered, or the list would be long."""
    first = [*(name for name in own.packages if name in unavailable), *unavailable][:1]
    return [f"{each.name} {each.version}" for each in offers if each.name in first]
