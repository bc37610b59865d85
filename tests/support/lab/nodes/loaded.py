"""Files of a node whose driver is loaded, for tests of what comes after the driver."""

from __future__ import annotations

from support.lab.nodes.standins import text

VERSION = "580.105.08"
PROC = "/run/fake-nvidia/proc/driver/nvidia"
UNITS = "usr/lib/systemd/system"
WANTED = "[Unit]\nWants=nvidia-cdi-refresh.service\n"


def files() -> dict[str, str]:
    """Return the driver's programs, its mark in /proc, and the toolkit's CDI service, enabled."""
    loaded = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {VERSION}  Release Build"
    return {
        "etc/tmpfiles.d/loaded.conf": (
            f"d {PROC} 0755 root root\nf {PROC}/version 0644 root root - {loaded}\n"
        ),
        "usr/bin/nvidia-smi": text("nvidia-smi", VERSION),
        "usr/bin/nvidia-ctk": text("nvidia-ctk", "1.20.0"),
        f"{UNITS}/nvidia-cdi-refresh.service": text("nvidia-cdi-refresh.service"),
        "etc/systemd/system/multi-user.target.d/cdi.conf": WANTED,
    }
