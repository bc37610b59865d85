"""What kind of machine a node plays: its GPUs in PCI, its firmware, its containerd, its files."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.lab.nodes.standins import text

TREE = "srv/lab"  # the node's own /sys, as far as roles read it; /sys itself cannot be faked
A100 = "20B0"
DEBIAN, DEBIAN_13, UBUNTU = "debian-12", "debian-13", "ubuntu-24.04"
BY_APT = (DEBIAN, DEBIAN_13, UBUNTU)
NOBLE = 'ID=ubuntu\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04 LTS (Noble Numbat)"\n'
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# The driver's part of /proc lies on a tmpfs, so that a reboot unloads the driver.
TMPFILES = """\
d /run/fake-nvidia 0755 root root
d /run/fake-nvidia/proc 0755 root root
L /run/fake-nvidia/proc/net - - - - /proc/net
"""
KUBELET = """\
[Socket]
ListenStream=/var/lib/kubelet/device-plugins/kubelet.sock
Service=lab-kubelet.service

"""
WANTED = "[Unit]\nWants={}\n"
# An empty unit is a masked one. Each of these watches files, of which there are few (watches.py).
MASKED = ("systemd-ask-password-console.path", "systemd-ask-password-wall.path")
PRIVATE = {  # of the roles: where they read the machine
    "__gpu_prerequisites_sysfs": f"/{TREE}/sys",
    "__gpu_prerequisites_container_marker": "/run/lab-container",
    "__nvidia_driver_procfs": "/run/fake-nvidia/proc",
    "__nvidia_driver_sysfs": f"/{TREE}/sys",
    "__nvidia_container_toolkit_procfs": "/run/fake-nvidia/proc",
    "__nvidia_mig_procfs": "/run/fake-nvidia/proc",
    "__nvidia_mig_sysfs": f"/{TREE}/sys",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine.

    system: one of BY_APT or of el.RELEASES; Ubuntu is Debian 12 under another name. installed:
    packages that dpkg believes to be there, name -> version. files: path below the root ->
    content, beside what the rest implies. layer: a tree between the base and the files.
    """

    system: str = DEBIAN
    gpus: int = 4
    device: str = A100
    switches: int = 0
    has_secure_boot: bool = False
    has_nouveau: bool = False
    bound_to: str = ""  # driver of the GPUs' PCI functions
    has_kubelet: bool = False
    installed: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    layer: Path | None = None


def files(own: Machine, base: Path) -> dict[str, str]:
    """Return the files that make a node of the base tree this machine."""
    wanted = ["fake-nvidia-load.service", *(["lab-kubelet.socket"] if own.has_kubelet else [])]
    return {
        **{f"etc/systemd/system/{unit}": "" for unit in MASKED},
        "etc/tmpfiles.d/lab.conf": TMPFILES,
        "etc/systemd/system/fake-nvidia-load.service": text("load.service"),
        "etc/systemd/system/lab-kubelet.socket": KUBELET,
        "etc/systemd/system/lab-kubelet.service": "[Service]\nExecStart=/bin/true\n",
        "etc/systemd/system/multi-user.target.d/lab.conf": "".join(map(WANTED.format, wanted)),
        "usr/local/sbin/modprobe": text("modprobe"),
        **(_debian() if own.system in BY_APT else {}),
        **({"etc/os-release": NOBLE} if own.system == UBUNTU else {}),
        **_pci(own),
        **_packages(own, base),
        **_firmware(own),
        **own.files,
    }


def _debian() -> dict[str, str]:
    return {
        "usr/sbin/update-initramfs": text("update-initramfs"),
        f"boot/initrd.img-{platform.release()}": "",
        "boot/initrd.img-6.1.0-1-amd64": "",
    }


def _pci(own: Machine) -> dict[str, str]:
    devices = [
        *(("30200", f"10DE:{own.device}") for _ in range(own.gpus)),
        *(("68000", "10DE:1AF1") for _ in range(own.switches)),
        ("20000", "15B3:101B"),
    ]
    return {
        f"{TREE}/sys/bus/pci/devices/0000:{slot:02x}:00.0/uevent": (
            (f"DRIVER={own.bound_to}\n" if own.bound_to and kind == "30200" else "")
            + f"PCI_CLASS={kind}\nPCI_ID={name}\nPCI_SLOT_NAME=0000:{slot:02x}:00.0\n"
        )
        for slot, (kind, name) in enumerate(devices, 1)
    }


def _firmware(own: Machine) -> dict[str, str]:
    state = "\x06\x00\x00\x00" + ("\x01" if own.has_secure_boot else "\x00")
    found = {f"{TREE}/sys/firmware/efi/efivars/{SECURE_BOOT}": state}
    if own.has_nouveau:
        found[f"{TREE}/sys/module/nouveau/refcnt"] = "0\n"
    return found


def _packages(own: Machine, base: Path) -> dict[str, str]:
    status = "var/lib/dpkg/status"
    stanzas = "".join(
        f"Package: {name}\nStatus: install ok installed\nMaintainer: Laboratory\n"
        f"Architecture: all\nVersion: {version}\nDescription: of somebody else\n\n"
        for name, version in own.installed.items()
    )
    return {status: (base / status).read_text(encoding="utf-8") + stanzas} if stanzas else {}
