# Copyright: the gpugen authors. Apache-2.0.
"""What the repositories offer, and what a transaction would do, as the package manager says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..common import packages
from ..common import seen as read
from .host import Host, Wanted

OF_THE_DRIVER = re.compile(
    r"(?:cuda$|cuda-[0-9]+-[0-9]+$|cuda-drivers|cuda-runtime|nvidia-|kmod-nvidia|libcuda1$"
    r"|libcudadebugger1$|libnvidia-|xserver-xorg-video-nvidia"
    r"|linux-(?:modules|objects|signatures)-nvidia)"
)


def names(own: Host) -> list[str]:
    """Return what is missing in the package manager's words, cuDNN with its version."""
    found = [name for name in own.missing if name != own.cudnn_package]
    if own.cudnn_package in own.missing:
        join, end = ("=", ".*") if own.manager == "apt" else ("-", "*")
        found.append(f"{own.cudnn_package}{join}{own.cudnn}{end}")
    return found


def offers(own: Host) -> list[tuple[str, str]]:
    """Return names and versions that apt's repositories offer."""
    return packages.offered(str(read.command(own.seen, "offers")["out"]))


def unavailable(own: Host) -> list[str]:
    """Return what is missing and not offered; dnf tells by itself."""
    if own.manager != "apt":
        return []
    offered = offers(own)
    known = {name for name, _dummy in offered}
    found = [name for name in own.missing if name not in known]
    starts = (f"{own.cudnn}.", f"{own.cudnn}-")
    versions = [version for name, version in offered if name == own.cudnn_package]
    is_due = own.cudnn_package in own.missing and own.cudnn_package in known
    if is_due and not any(version.startswith(starts) for version in versions):
        found.append(f"{own.cudnn_package} {own.cudnn}")
    return found


def offers_fault(own: Host) -> str:
    """Return what no repository offers; empty where all is."""
    lost = unavailable(own)
    if not lost:
        return ""
    found = ", ".join(f"{name} {version}" for name, version in offers(own)) or "none of them"
    return (
        f"CUD-01: the configured repositories do not offer {', '.join(lost)}; they offer {found} "
        "(cuda_toolkit_packages, cuda_toolkit_cudnn)"
    )


def preview(own: Host) -> str:
    """Return what check mode says."""
    lost = unavailable(own)
    told = f"not checked, no configured repository offers {', '.join(lost)}"
    return f"would install {', '.join(names(own))}; {told if lost else 'all are offered'}"


class Simulation:
    """What the module apt or dnf answered in check mode."""

    def __init__(self, own: Host, wanted: Wanted) -> None:
        answer: Mapping[str, Any] = wanted.get("__cuda_toolkit_simulation") or {}
        self._is_apt = own.manager == "apt"
        self._text = str(answer.get("stdout") or "")
        self._lines = list(answer.get("results") or ())

    def new(self) -> dict[str, str]:
        """Return names and versions that would come."""
        if self._is_apt:
            return packages.apt_new(self._text)
        return packages.dnf_installed(self._lines)

    def changed(self) -> list[str]:
        """Return what would come in another version."""
        return packages.apt_changed(self._text) if self._is_apt else []

    def gone(self) -> list[str]:
        """Return what would go."""
        return packages.apt_removed(self._text) if self._is_apt else packages.dnf_gone(self._lines)


def fault(own: Host, simulated: Simulation) -> str:
    """Return what a transaction would do to the driver, or remove (CUD-01)."""
    touched = [*simulated.new(), *simulated.changed()]
    intruders = sorted(name for name in touched if OF_THE_DRIVER.match(name))
    losses = [name for name in simulated.gone() if "cudnn9" not in name]
    if not intruders and not losses:
        return ""
    return (
        f"CUD-01: {', '.join(names(own))} would install "
        f"{', '.join(intruders) or 'no part of the driver'} and remove "
        f"{', '.join(losses) or 'nothing'}; toolkits come beside the driver, never with one"
    )


def removal_fault(own: Host, simulated: Simulation) -> str:
    """Return what a removal would take that the role did not install (CUD-03)."""
    others = packages.without(simulated.gone(), own.retired)
    if not others:
        return ""
    return (
        f"CUD-03: {', '.join(others)} would go with {', '.join(own.retired)}, and this role did "
        "not install it; remove it yourself first"
    )
