"""A machine that can be tuned: GPUs with settings, a boot loader, parameters, a PCI bridge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support.lab.nodes.machine import DEBIAN, TREE, Machine

FILES = Path(__file__).parent / "files" / "tuning"
PRIVATE = {  # of the role: where it reads the machine
    "__gpu_tuning_procfs": "/run/fake-nvidia/proc",
    "__gpu_tuning_sysfs": f"/{TREE}/sys",
}
PROGRAMS = {
    "usr/bin/nvidia-smi": "nvidia-smi",
    "usr/local/sbin/sysctl": "sysctl",
    "usr/local/sbin/modprobe": "modprobe",
    "usr/local/sbin/lab-boot": "boot",
    "usr/local/bin/systemd-detect-virt": "systemd-detect-virt",
}
BRIDGE = f"{TREE}/sys/bus/pci/devices/0000:40:00.0"
PAGES = f"{TREE}/sys/kernel/mm/hugepages"
BOOT = (
    "[Unit]\nBefore=gpugen-pci-acs.service\n[Service]\nType=oneshot\n"
    "ExecStart=/usr/local/sbin/lab-boot\n"
)
SLEEPER = "[Service]\nExecStart=/bin/sleep infinity\n"


def config_space() -> bytes:
    """Return the configuration of a bridge whose ACS is on: capability 000D is its second."""
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x140 << 20).to_bytes(4, "little")
    space[0x140:0x144] = (0x000D | 1 << 16).to_bytes(4, "little")
    space[0x146:0x148] = b"\x1d\x00"
    return bytes(space)


def machine(system: str = DEBIAN, files: Mapping[str, str] | None = None) -> Machine:
    """Return a machine with all that can be tuned. files: in place of, or beside, its own."""
    loader = "update-grub" if system == DEBIAN else "grubby"
    programs = {**PROGRAMS, f"usr/sbin/{loader}": loader}
    own = {path: (FILES / name).read_text(encoding="utf-8") for path, name in programs.items()}
    return Machine(
        system=system,
        files={
            **own,
            "etc/systemd/system/lab-kernel.service": BOOT,
            "etc/systemd/system/kubelet.service": SLEEPER,
            "etc/systemd/system/systemd-sysctl.service": "[Service]\nExecStart=/bin/true\n",
            "etc/systemd/system/multi-user.target.d/tuning.conf": (
                "[Unit]\nWants=lab-kernel.service kubelet.service\n"
            ),
            "boot/grub/grub.cfg": "linux /vmlinuz root=/dev/vda ro quiet\n",
            "srv/lab/ecc": "Enabled\n",
            "srv/lab/vendor": "GenuineIntel\n",
            "srv/lab/bridge": config_space().decode("latin-1"),
            f"{BRIDGE}/class": "0x060400\n",
            f"{TREE}/sys/class/infiniband/mlx5_0/node_type": "1: CA\n",
            f"{PAGES}/hugepages-2048kB/nr_hugepages": "0\n",
            f"{PAGES}/hugepages-1048576kB/nr_hugepages": "0\n",
            **(files or {}),
        },
    )
