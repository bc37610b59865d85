"""Names of MIG profiles: their grammar, their origin, and the resource names."""

from __future__ import annotations

import re
from typing import NamedTuple

DOMAIN = "nvidia.com"
EXACT_NAMES_SINCE = (0, 20, 0)  # device plugin that matches whole profile names

_ATTRIBUTE = r"[A-Za-z](?:[A-Za-z0-9.]*[A-Za-z0-9])?"
_LIST = rf"{_ATTRIBUTE}(?:,{_ATTRIBUTE})*"
_PROFILE = re.compile(
    r"(?:(?P<compute>[1-9][0-9]?)c\.)?(?P<slices>[1-9][0-9]?)g\.(?P<gb>0|[1-9][0-9]{0,4})gb"
    rf"(?:(?P<sign>[+-])(?P<attributes>{_LIST}))?\Z"
)
_DOTTED = re.compile(r"([0-9gc.]+gb)\.([A-Za-z].*)\Z")
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


class ProfileName(NamedTuple):
    """The parts of a profile's name."""

    compute: int  # slices of the compute instance; equal to slices if the name omits it
    slices: int  # compute slices of the GPU instance
    gb: int
    attributes: tuple[str, ...] = ()
    sign: str = ""  # + or - before the attributes

    @property
    def gpu_instance(self) -> str:
        """The name of the GPU instance, without the part of a smaller compute instance."""
        return f"{self.slices}g.{self.gb}gb{self.sign}{','.join(self.attributes)}"

    def __str__(self) -> str:
        prefix = f"{self.compute}c." if self.compute != self.slices else ""
        return prefix + self.gpu_instance


def parse_profile(text: str) -> ProfileName:
    """Parse a profile's name, as mig-parted does.

    Raises ValueError: not a profile; the message says what would be. Source: NVIDIA/go-nvlib
    v0.12.0 pkg/nvlib/device/mig_profile.go.
    """
    match = _PROFILE.match(text)
    if match is None:
        raise ValueError(_complaint(text))
    slices = int(match["slices"])
    compute = int(match["compute"] or slices)
    attributes = tuple(match["attributes"].split(",")) if match["attributes"] else ()
    if len(set(attributes)) < len(attributes):
        raise ValueError(f"{text!r} has a duplicate attribute")
    if compute > slices:
        raise ValueError(
            f"{text!r} needs {compute} compute slices of an instance that has {slices}"
        )
    return ProfileName(compute, slices, int(match["gb"]), attributes, match["sign"] or "")


def _complaint(text: str) -> str:
    """Return the message; the dotted form is for names of configurations and resources."""
    dotted = _DOTTED.match(text)
    if dotted and _PROFILE.match(meant := f"{dotted[1]}+{dotted[2]}"):
        return f"{text!r} is the form of resource names; the profile is {meant!r}"
    return f"{text!r} is not a MIG profile such as 1g.5gb or 1g.5gb+me"


def meant_profile(text: str) -> ProfileName | None:
    """Parse leniently: the dotted form counts as well; None: no resemblance."""
    dotted = _DOTTED.match(text)
    for candidate in (text, f"{dotted[1]}+{dotted[2]}" if dotted else text):
        try:
            return parse_profile(candidate)
        except ValueError:
            continue
    return None


def config_name(profile: str) -> str:
    """Return the form for names of configurations, labels and resources: ``+`` becomes ``.``."""
    return profile.replace("+", ".")


def resource_name(profile: str) -> str:
    """Return the extended resource of a profile under the strategy ``mixed``.

    Source: NVIDIA/k8s-device-plugin v0.20.0 internal/rm/device_map.go.
    """
    return f"{DOMAIN}/mig-{config_name(profile)}"


def advertised_name(profile: str, plugin_version: str) -> str:
    """Return the resource that a device plugin registers for a profile; empty: it exits instead.

    Up to 0.19 its patterns are not anchored, so a profile counts as the plain profile that its name
    contains. From 0.20 whole names match, and one smaller compute instance is fatal. Source:
    NVIDIA/k8s-device-plugin v0.19.3 and v0.20.0 internal/rm.
    """
    name = parse_profile(profile)
    if _version(plugin_version) < EXACT_NAMES_SINCE:
        return resource_name(f"{name.slices}g.{name.gb}gb")
    return resource_name(profile) if name.compute == name.slices else ""


def is_advertised(profile: str, plugin_version: str) -> bool:
    """Tell whether a device plugin registers a profile under its own name."""
    return advertised_name(profile, plugin_version) == resource_name(profile)


def _version(text: str) -> tuple[int, ...]:
    match = _VERSION.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version such as 0.19.3")
    return tuple(int(part) for part in match.groups())


def memory_gb(instance_mib: int, total_mib: int) -> int:
    """Return the GB in the name of an instance of a GPU with that total, both in MiB.

    Eighths of the GPU, rounded up, times the total in GiB, rounded up; halves round up.
    Source: NVIDIA/go-nvlib v0.12.0 pkg/nvlib/device/mig_profile.go.
    """
    eighths = -(-instance_mib * 8 // total_mib)
    total_gib = -(-total_mib // 1024)
    return (eighths * total_gib * 2 + 8) // 16
