"""Stand-ins of the vendor's packages: real names and dependencies, shell scripts inside.

Dependencies are ``>=`` where the real ones are, so that only pins keep a driver in one piece.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.lab.nodes import cuda_standins, service_standins
from support.lab.nodes.deb import Package

DRIVERS = ("580.105.08", "580.142", "580.178.04")  # the last is the trap that pins keep shut
TOOLKITS = ("1.19.1", "1.20.0", "1.20.1")
COMPUTING = (  # what nvidia-driver-cuda brings on Debian
    *("libcuda1", "nvidia-persistenced", "libnvidia-cfg1", "libnvidia-ml1", "libnvidia-nvvm4"),
    *("libnvcuvid1", "libnvidia-encode1", "libcudadebugger1", "nvidia-opencl-icd"),
)
FILES = Path(__file__).parent / "files"
DAEMONS = "lib/systemd/system"
OLD_RUNTIME = "nvidia-container-runtime (<= 3.5.0-1), nvidia-container-runtime-hook"
# What a test brings is real, and takes the stand-in's place.
RUNTIME = """\
#!/bin/sh
real=/usr/local/libexec/nvidia-container-runtime
[ ! -x "$real" ] || exec "$real" "$@"
exec runc "$@"
"""
FORMER_JSON = """\
{
    "runtimes": {
        "nvidia": {
            "path": "nvidia-container-runtime",
            "runtimeArgs": []
        }
    }
}
"""
RELOAD = {"postinst": "[ ! -d /run/systemd/system ] || systemctl daemon-reload"}


@cache
def text(name: str, version: str = "") -> str:
    """Return a file of a stand-in."""
    return (FILES / name).read_text(encoding="utf-8").replace("@VERSION@", version)


def packages() -> Iterator[Package]:
    """Yield everything that the repository offers."""
    kernel = platform.release()
    makefile = {f"usr/src/linux-headers-{kernel}/Makefile": "# stand-in\n"}
    yield Package(f"linux-headers-{kernel}", "1-1", files=makefile)
    yield Package("dkms", "3.0.10-8", files={"usr/sbin/dkms": text("dkms")})
    yield Package("nvlsm", "2025.06.11-1")
    yield Package("xserver-xorg-core", "2:21.1.7-3")
    for version in DRIVERS:
        yield from driver(version)
    for version in TOOLKITS:
        yield from toolkit(version)
    yield from former()
    yield from service_standins.packages()
    yield from cuda_standins.packages()


def driver(version: str) -> Iterator[Package]:
    """Yield the packages of one driver version, named as in the vendor's Debian repository."""
    full = f"{version}-1"
    same = f"(>= {version})"
    both = f"nvidia-driver {same}, nvidia-driver-cuda {same}"
    yield Package("nvidia-open", full, f"{both}, nvidia-kernel-open-dkms {same}")
    yield Package("cuda-drivers", full, f"{both}, nvidia-kernel-dkms {same}")
    yield from desktop(full, same)
    yield Package(
        "nvidia-driver-cuda",
        full,
        ", ".join(f"{name} {same}" for name in COMPUTING),
        {"usr/bin/nvidia-smi": text("nvidia-smi", version)},
    )
    for name in COMPUTING[2:]:
        yield Package(name, full)
    yield Package("libcuda1", full, f"libnvidia-ptxjitcompiler1 {same}")
    yield Package("libnvidia-ptxjitcompiler1", full)
    yield Package("firmware-nvidia-gsp", full)
    yield _modules("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", version, "open")
    yield _modules("nvidia-kernel-dkms", "nvidia-kernel-open-dkms", version, "proprietary")
    yield Package(
        "nvidia-persistenced",
        full,
        files={
            "usr/bin/nvidia-persistenced": text("nvidia-persistenced"),
            f"{DAEMONS}/nvidia-persistenced.service": text("nvidia-persistenced.service"),
        },
        scripts=RELOAD,
    )
    yield Package(
        "nvidia-fabricmanager",
        full,
        files={
            "usr/bin/nv-fabricmanager": text("nvidia-fabricmanager", version),
            f"{DAEMONS}/nvidia-fabricmanager.service": text("nvidia-fabricmanager.service"),
        },
        scripts=RELOAD,
    )
    yield Package("libnvidia-nscq", full)


def desktop(full: str, same: str) -> Iterator[Package]:
    """Yield what a display needs, and what is merely recommended with it."""
    needs = f"xserver-xorg-video-nvidia {same}, nvidia-driver-libs {same}"
    weak = {"Recommends": "nvidia-settings, nvidia-xconfig"}
    yield Package("nvidia-driver", full, needs, fields=weak)
    yield Package("xserver-xorg-video-nvidia", full, "xserver-xorg-core")
    for name in ("nvidia-driver-libs", "nvidia-settings", "nvidia-xconfig"):
        yield Package(name, full)


def _modules(name: str, rival: str, version: str, flavour: str) -> Package:
    return Package(
        name,
        f"{version}-1",
        f"dkms, firmware-nvidia-gsp (>= {version})",
        {
            f"usr/src/nvidia-{version}/flavour": f"{flavour}\n",
            "usr/lib/fake-nvidia/load": text("load"),
        },
        {"postinst": "dkms autoinstall", "prerm": f"dkms remove {version}"},
        {"Conflicts": rival},
    )


def toolkit(version: str) -> Iterator[Package]:
    """Yield the four packages of one toolkit version; since 1.18 they demand their own version."""
    full = f"{version}-1"
    yield Package("libnvidia-container1", full)
    yield Package("libnvidia-container-tools", full, f"libnvidia-container1 (>= {full})")
    yield Package(
        "nvidia-container-toolkit-base",
        full,
        files={
            "usr/bin/nvidia-ctk": text("nvidia-ctk", version),
            "usr/bin/nvidia-container-runtime": RUNTIME,
            f"{DAEMONS}/nvidia-cdi-refresh.service": text("nvidia-cdi-refresh.service"),
            f"{DAEMONS}/nvidia-cdi-refresh.path": text("nvidia-cdi-refresh.path"),
        },
        scripts=RELOAD,
        fields={"Breaks": OLD_RUNTIME, "Replaces": OLD_RUNTIME},
    )
    yield Package(
        "nvidia-container-toolkit",
        full,
        f"nvidia-container-toolkit-base (= {full}), libnvidia-container-tools (= {full})",
    )


def former() -> Iterator[Package]:
    """Yield packages of former toolkits, and one that needs them."""
    needs = "nvidia-container-toolkit (>= 1.13.0-1)"
    path = "etc/docker/daemon.json"
    files = {path: FORMER_JSON, "usr/bin/nvidia-docker": "#!/bin/sh\n"}
    yield Package("nvidia-docker2", "2.13.0-1", needs, files, settings=(path,))
    yield Package("nvidia-container-runtime", "3.13.0-1", needs)
    yield Package("own-gpu-tool", "1-1", "nvidia-docker2")
