# Copyright: the gpugen authors. Apache-2.0.
"""The packages that the role installs and removes, and what a simulation says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..common import packages as manager
from ..common import seen as read
from .headers import Headers, answer, headers
from .host import PLUGIN, Host, recorded

KERNELS = ("linux-image-", "linux-modules-")  # with a number: one of them may run


class Packages(NamedTuple):
    """What to install now. is_plugin: what honours version locks, before any header (DRV-06)."""

    is_plugin: bool
    missing: list[str]
    expected: list[str]  # empty where the repositories do not offer it
    unavailable: list[str]
    kernel_changes: bool


def packages(host: Host) -> Packages:
    """Return what to install now."""
    own = headers(host)
    changes = kernel_changes(host, own)
    if host.manager == "dnf" and PLUGIN not in host.packages:
        return Packages(True, [PLUGIN], [PLUGIN], [], changes)
    missing = own.missing if host.own("headers") else []
    expected = own.expected(may_change_kernel=bool(host.own("allow_kernel_change")))
    return Packages(False, missing, expected if missing else [], own.unavailable, changes)


def kernel_changes(host: Host, own: Headers) -> bool:
    """Tell whether another kernel takes over: the running one has no headers anywhere."""
    is_gone = own.own in own.missing and own.own not in own.offered
    return host.may_change_kernel and answer(host) is not None and is_gone


def simulation(host: Host, names: list[str]) -> list[str]:
    """Return apt's simulation of an installation."""
    return ["apt-get", "-qq", "--simulate", "install", *_options(host), *names]


def transaction(host: Host, names: list[str]) -> list[str]:
    """Return apt's installation; it outlives the connection, as the module apt does not."""
    return [*manager.APT_CHANGE, "install", *_options(host), *names]


def _options(host: Host) -> list[str]:
    return ["--no-install-recommends"] if host.own("install_recommends") is False else []


def removal(names: list[str]) -> list[str]:
    """Return apt's simulation of a removal."""
    return ["apt-get", "-qq", "--simulate", "purge", *names]


def results(host: Host) -> list[str]:
    """Return what the module dnf said of a simulated transaction."""
    return list(host.wanted.get("__gpu_prerequisites_results") or ())


def new(host: Host) -> list[str]:
    """Return what the simulated transaction would bring."""
    if host.manager == "dnf":
        return list(manager.dnf_new(results(host)))
    found = manager.apt_new(read.command(host.seen, "install")["out"])
    return [name for name in found if not _is_kernel(name)]


def _is_kernel(name: str) -> bool:
    return any(name.startswith(each) and name[len(each) :][:1].isdigit() for each in KERNELS)


def fault(host: Host, own: Packages) -> str:
    """Return why the packages are not installed; empty where nothing is against it."""
    asked = answer(host) or {"rc": 0}
    if asked["rc"] != 0:
        return f"PRE-05: {host.manager} cannot look up {', '.join(own.missing)}: {_words(asked)}"
    if own.missing and not own.expected:
        return (
            f"PRE-05: kernel {host.kernel} has no headers in the configured repositories "
            f"({', '.join(own.unavailable)}); install a kernel that has them and reboot first, or "
            "allow the play to do so (gpu_prerequisites_allow_kernel_change)"
        )
    simulated = host.seen.get("commands", {}).get("install", {"rc": 0, "out": ""})
    if simulated["rc"] != 0:
        return f"PRE-04: apt cannot install {', '.join(own.expected)}: {_words(simulated)}"
    lost = manager.apt_removed(simulated["out"]) + manager.dnf_removed(results(host))
    return f"PRE-04: {host.manager} would remove {', '.join(lost)}" if lost else ""


def _words(done: Mapping[str, Any]) -> str:
    return str(done["err"] or done["out"]).strip()


def leftover(host: Host) -> list[str]:
    """Return what the role installed and is still there."""
    return [name for name in recorded(host.seen) if name in host.packages]


def removal_fault(host: Host) -> str:
    """Return what a removal would take that somebody else installed; empty if nothing."""
    done = host.seen.get("commands", {}).get("removal", {"rc": 0, "out": ""})
    if done["rc"] != 0:
        return f"DRV-23: apt cannot remove {', '.join(leftover(host))}: {_words(done)}"
    gone = manager.apt_removed(done["out"]) + manager.dnf_removed(results(host))
    others = manager.without(gone, recorded(host.seen))
    if not others:
        return ""
    return (
        f"DRV-23: {host.manager} would also remove {', '.join(others)}, which this role did not "
        "install; remove them first"
    )
