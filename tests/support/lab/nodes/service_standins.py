"""Stand-ins of the packages of NVIDIA's services: the MIG boot service and DCGM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.lab.nodes.deb import Package

MIG_MANAGERS = ("0.14.5", "0.15.0")
DCGMS = ("4.5.2", "4.5.3")
FILES = Path(__file__).parent / "files"
UNITS = "lib/systemd/system"
MIG_FOLDER = "etc/nvidia-mig-manager"
RELOAD = "[ ! -d /run/systemd/system ] || systemctl daemon-reload"


def packages() -> Iterator[Package]:
    """Yield the packages of all services, in all versions."""
    for version in MIG_MANAGERS:
        yield mig_manager(version)
    yield Package("datacenter-gpu-manager", "1:3.3.9")
    for version in DCGMS:
        yield from dcgm(version)


def mig_manager(version: str) -> Package:
    """Return the package of the boot service; its program is the real one, if the node has it."""
    names = ("hooks.sh", "hooks-default.yaml", "hooks-minimal.yaml", "service.sh")
    return Package(
        "nvidia-mig-manager",
        f"{version}-1",
        files={
            "usr/bin/nvidia-mig-parted": _text("mig/nvidia-mig-parted"),
            f"{UNITS}/nvidia-mig-manager.service": _text("mig/nvidia-mig-manager.service"),
            f"{UNITS}/nvidia-gpu-reset.target": _text("mig/nvidia-gpu-reset.target"),
            **{f"{MIG_FOLDER}/{name}": _text(f"mig/{name}") for name in names},
        },
        scripts={
            "postinst": _text("mig/postinst"),
            "prerm": "systemctl disable nvidia-mig-manager.service",
            "postrm": _text("mig/postrm"),
        },
    )


def dcgm(version: str) -> Iterator[Package]:
    """Yield the engine and the package of a CUDA major, which demands the same version."""
    full = f"1:{version}-1"
    core = "datacenter-gpu-manager-4-core"
    yield Package(
        core,
        full,
        files={
            "usr/bin/nv-hostengine": _text("dcgm/nv-hostengine", version),
            "usr/bin/dcgmi": _text("dcgm/dcgmi", version),
            f"{UNITS}/nvidia-dcgm.service": _text("dcgm/nvidia-dcgm.service"),
        },
        scripts={"postinst": RELOAD},
        fields={"Conflicts": "datacenter-gpu-manager"},
    )
    yield Package("datacenter-gpu-manager-4-cuda12", full, f"{core} (= {full})")
    yield Package("datacenter-gpu-manager-4-cuda13", full, f"{core} (= {full})")


def _text(name: str, version: str = "") -> str:
    return (FILES / name).read_text(encoding="utf-8").replace("@VERSION@", version)
