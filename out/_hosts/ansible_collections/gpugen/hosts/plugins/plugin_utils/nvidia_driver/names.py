# Copyright: the gpugen authors. Apache-2.0.
"""Names of what belongs to a driver: files, units, packages, modules, processes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

RECORD = "/var/lib/misc/gpugen-nvidia-driver.json"
STOPPED = "/var/lib/misc/gpugen-nvidia-driver-stopped.json"
MODPROBE = "/etc/modprobe.d/gpugen-nvidia.conf"
NVLINK5 = "/etc/modules-load.d/gpugen-nvlink5.conf"
PERSISTENCE = "/etc/systemd/system/nvidia-persistenced.service.d/gpugen.conf"
OWN_UNIT = "/etc/systemd/system/nvidia-persistenced.service"
PREFERENCES = "/etc/apt/preferences.d/gpugen-nvidia-driver"
LOCKS = "/etc/dnf/plugins/versionlock.list"
STREAM = "/etc/dnf/modules.d/nvidia-driver.module"
UNINSTALLER = "/usr/bin/nvidia-uninstall"
INSTALLERS = "/var/lib/gpugen"  # nobody but root can reach in: who may write there becomes root
DGX, CONTAINER = "/etc/dgx-release", "/run/nvidia/driver/usr"
INITRAMFS, IMAGES = "/usr/sbin/update-initramfs", "/boot/init*"
KEYS = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub")  # Ubuntu's, DKMS' own
SECURE_BOOT = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

PERSISTENCED, FABRIC = "nvidia-persistenced.service", "nvidia-fabricmanager.service"
OWN_UNITS = (PERSISTENCED, FABRIC)
# Services that hold the GPUs beside the driver's own. A path would start its service in the middle
# of an exchange.
CDI = "nvidia-cdi-refresh.service"
CLIENTS = ("nvidia-cdi-refresh.path", CDI, "nvidia-dcgm.service", "nvidia-imex.service")
MIG_UNIT = "nvidia-mig-manager.service"

# Modules of the kernel that drive NVIDIA's GPUs, too; blacklisted, and gone after a reboot.
KERNELS_OWN = ("nouveau", "nova_core", "nova_drm")
# They end with the driver, or with the reboot; names of processes are truncated at 15 characters.
AGENTS = frozenset(
    (
        *("nvidia-persiste", "nv-fabricmanage", "nv-hostengine", "nvidia-imex"),
        *("nvidia-device-p", "gpu-feature-dis", "dcgm-exporter"),
    )
)

APT = (
    *("nvidia-*", "lib*nvidia*", "cuda-drivers*", "firmware-nvidia-*", "libcuda1"),
    *("libcudadebugger1", "libnvcuvid1", "libnvoptix1", "libnvsdm*", "libxnvctrl*"),
    "xserver-xorg-video-nvidia*",
)
APT_BESIDE = ("linux-*-nvidia-*", "linux-image-*", "mokutil", "dkms")
# Debian builds these from sources of their own, with versions of their own.
DEBIAN_TOOLS = (
    *("nvidia-modprobe", "nvidia-persistenced", "nvidia-settings", "nvidia-xconfig"),
    "libxnvctrl0",
)
DNF = (
    *("nvidia-*", "kmod-nvidia-*", "lib*nvidia*", "libnvsdm*", "cuda-drivers*"),
    "xorg-x11-nvidia*",
)
DNF_BESIDE = ("kernel*", "akmod-nvidia*", "kmod-nvidia", "xorg-x11-drv-nvidia*", "mokutil", "dkms")

_VERSION = re.compile(r"[0-9]{3}[.][0-9.]+")


class Places(NamedTuple):
    """Paths below /proc and /sys, which tests put elsewhere."""

    procfs: str
    sysfs: str

    @property
    def loaded(self) -> str:
        """File in which a loaded driver tells its version."""
        return f"{self.procfs}/driver/nvidia/version"

    @property
    def modules(self) -> str:
        """Pattern of the driver's loaded modules."""
        return f"{self.sysfs}/module/nvidia*"

    @property
    def secure_boot(self) -> str:
        """Variable of the firmware."""
        return f"{self.sysfs}/{SECURE_BOOT}"

    def kernels_own(self) -> dict[str, str]:
        """Return the folders of the kernel's own modules: folder -> module."""
        return {f"{self.sysfs}/module/{name}": name for name in KERNELS_OWN}


def is_driver_version(text: str) -> bool:
    """Tell whether a text looks like a driver's version."""
    return _VERSION.fullmatch(text) is not None


def without_epoch(version: str) -> str:
    """Return a package's version without its epoch."""
    epoch, separator, rest = version.partition(":")
    return rest if separator and epoch.isdigit() else version


def is_of(version: str, driver: str) -> bool:
    """Tell whether a package's version is that of a driver."""
    return without_epoch(version).startswith(f"{driver}-")


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order of the first."""
    return list(dict.fromkeys(names))


def without(names: Iterable[str], *others: Iterable[str]) -> list[str]:
    """Return names that are in none of the others, each once."""
    away = {name for each in others for name in each}
    return [name for name in dict.fromkeys(names) if name not in away]
