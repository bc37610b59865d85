# Copyright: the gpugen authors. Apache-2.0.
"""Reasons to refuse a host, all at once; and what a good host shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..common import seen as read
from .host import LINK, Host, loaded

TOOLKIT = re.compile(r"cuda-toolkit-[0-9]+-[0-9]+$")


def faults(own: Host) -> Iterator[str]:
    """Yield the reasons."""
    bad = [name for name in own.packages if not TOOLKIT.match(name)]
    if bad:
        yield (
            f"CUD-01: {', '.join(bad)} is no package of one toolkit alone, such as "
            "cuda-toolkit-13-0; others bring a driver (cuda_toolkit_packages)"
        )
    if own.packages and "cuda" in own.installed:
        yield (
            "CUD-01: the package cuda is installed, which brings a driver of its own; "
            "remove it first"
        )
    driver = loaded(own)
    if own.driver_floor and driver and _numbers(driver) < _numbers(own.driver_floor):
        yield (
            f"CUD-02: driver {driver} is loaded, and {', '.join(own.packages)} runs on "
            f"{own.driver_floor} and newer (cuda_toolkit_driver_floor); take a newer driver or an "
            "older toolkit"
        )
    if own.default and _is_others_link(own):
        yield (
            f"CUD-03: {LINK} is not of the system's alternatives, so somebody else owns it; "
            "remove it, or leave the default out (cuda_toolkit_default)"
        )
    if own.cudnn and not _is_exact(own):
        yield (
            "CUD-04: cuDNN takes an exact version and the package of one CUDA major "
            "(cuda_toolkit_cudnn, cuda_toolkit_cudnn_package)"
        )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]


def _is_others_link(own: Host) -> bool:
    chosen = str(read.command(own.seen, "chosen")["out"])
    return LINK in read.found(own.seen, LINK) and not chosen.startswith("/etc/alternatives/")


def _is_exact(own: Host) -> bool:
    is_version = re.fullmatch(r"[0-9]+[.][0-9]+[.][0-9]+", own.cudnn)
    return bool(is_version and re.fullmatch(r"cudnn9-cuda-[0-9]+", own.cudnn_package))


def shortfalls(own: Host) -> Iterator[str]:
    """Yield what verification finds."""
    if any(name != own.cudnn_package for name in own.missing):
        yield f"CUD-01: {', '.join(own.missing)} is not installed (cuda_toolkit_packages)"
    if own.is_link_due:
        yield (
            f"CUD-03: {LINK} leads to {own.link or 'nothing'}, expected {own.home} "
            "(cuda_toolkit_default)"
        )
    if own.cudnn and not own.cudnn_is_there:
        found = own.installed.get(own.cudnn_package, "missing")
        yield (f"CUD-04: {own.cudnn_package} is {found}, expected {own.cudnn} (cuda_toolkit_cudnn)")
    if not own.packages and own.kept:
        yield f"CUD-05: packages that this role installed are still there: {', '.join(own.kept)}"
