"""The driver of a pool's hosts: how it is installed, and what may happen to a host for it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from gpugen.model.catalog import DriverBranch
from gpugen.model.finding import Pointer


class DriverMethod(StrEnum):
    """How the driver of a host is installed."""

    VENDOR = "vendor"
    DISTRO = "distro"
    PRECOMPILED = "precompiled"
    RUNFILE = "runfile"
    NONE = "none"


class KernelModules(StrEnum):
    """Flavour of the kernel modules; AUTO follows the GPU's architecture."""

    AUTO = "auto"
    OPEN = "open"
    PROPRIETARY = "proprietary"


class SecureBoot(StrEnum):
    """What happens on hosts with Secure Boot."""

    REFUSE = "refuse"
    SIGNED = "signed"
    MOK = "mok"


class InUse(StrEnum):
    """What happens if processes use the GPUs when the driver is to be changed."""

    REFUSE = "refuse"
    WAIT = "wait"
    FORCE = "force"


class Activation(StrEnum):
    """How a new driver replaces a loaded one."""

    REBOOT = "reboot"
    RELOAD = "reload"


class Runfile(NamedTuple):
    """The vendor's installer."""

    url: str
    sha256: str
    at: Pointer


class Driver(NamedTuple):
    """The driver of a pool's hosts; branch is None where the method is none."""

    method: DriverMethod
    version: str
    branch: DriverBranch | None
    kernel_modules: KernelModules
    at: Pointer
    secure_boot: SecureBoot = SecureBoot.REFUSE
    in_use: InUse = InUse.REFUSE
    activation: Activation = Activation.REBOOT
    runfile: Runfile | None = None
    graphics: bool = False  # libraries of OpenGL and Vulkan beside those for computing


class Repository(NamedTuple):
    """A stated package repository; without a URL it is the vendor's own."""

    at: Pointer
    base_url: str = ""
    key_file: str = ""  # below the repository's root
    fingerprint: str = ""
    signs_metadata: bool = False  # which dnf does not verify by default

    @property
    def is_vendor(self) -> bool:
        """Tell whether the packages come straight from the vendor."""
        return not self.base_url


class Repositories(NamedTuple):
    """Package repositories; None: those that hosts have configured themselves."""

    driver: Repository | None = None
    container_toolkit: Repository | None = None
    both: Repository | None = None  # one repository for everything, instead of those two
