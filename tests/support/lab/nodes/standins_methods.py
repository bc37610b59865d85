"""Stand-ins of drivers that do not come from the vendor's repository: archives, an installer."""

from __future__ import annotations

import base64
import platform
from collections.abc import Iterator

from support.lab.nodes.deb import Package
from support.lab.nodes.standins import DAEMONS, RELOAD, text

UBUNTU = {"570": ("570.195.03",), "580": ("580.95.05", "580.126.09")}
DEBIAN = "535.261.03"
DEBIAN_TOOLS = "535.171.04-1~deb12u1"
KERNEL = platform.release()


def archive() -> Iterator[Package]:
    """Yield what the archives of Ubuntu and Debian would offer."""
    for branch, versions in UBUNTU.items():
        for version in versions:
            yield from _ubuntu(branch, version)
        yield _built(branch, versions[-1])
    yield from _debian()


def _ubuntu(branch: str, version: str) -> Iterator[Package]:
    full, same = f"{version}-0ubuntu0.24.04.1", f"(>= {version})"
    server = f"{branch}-server"
    yield Package(
        f"nvidia-headless-{server}-open",
        full,
        f"nvidia-headless-no-dkms-{server} {same}, nvidia-dkms-{server}-open {same}",
    )
    yield Package(
        f"nvidia-headless-no-dkms-{server}",
        full,
        f"nvidia-compute-utils-{server} {same}, nvidia-kernel-common-{server} {same}",
    )
    # Packages of two branches bring the same files, so they exclude each other.
    only = {"Conflicts": "nvidia-utils", "Replaces": "nvidia-utils", "Provides": "nvidia-utils"}
    smi = {"usr/bin/nvidia-smi": text("nvidia-smi", version)}
    yield Package(f"nvidia-utils-{server}", full, files=smi, fields=only)
    yield Package(
        f"nvidia-compute-utils-{server}",
        full,
        files=_persistence(),
        scripts=RELOAD,
        fields=dict.fromkeys(only, "nvidia-compute-utils"),
    )
    yield Package(f"nvidia-kernel-common-{server}", full)
    yield Package(f"libnvidia-decode-{server}", full)
    yield Package(f"libnvidia-encode-{server}", full)
    yield _sources(f"nvidia-dkms-{server}-open", full, version)


def _built(branch: str, version: str) -> Package:
    """Return modules that the distribution built for this kernel; their version is the kernel's."""
    common = f"nvidia-kernel-common-{branch}-server"
    return Package(
        f"linux-modules-nvidia-{branch}-server-open-{KERNEL}",
        "6.8.0-87.88+1",
        f"{common} (>= {version}), {common} (<= {version}-1)",
        {
            f"lib/modules/{KERNEL}/updates/dkms/nvidia.ko": f"{version} open\n",
            "usr/lib/fake-nvidia/load": text("load"),
        },
        fields={"Conflicts": "nvidia-dkms", "Provides": "nvidia-dkms"},
    )


def _debian() -> Iterator[Package]:
    full, exact = f"{DEBIAN}-1", f"(= {DEBIAN}-1)"
    yield Package("nvidia-alternative", full)
    yield Package(
        "nvidia-smi",
        full,
        f"nvidia-alternative {exact}",
        {"usr/bin/nvidia-smi": text("nvidia-smi", DEBIAN)},
    )
    yield Package("libcuda1", full, f"nvidia-alternative {exact}")
    yield Package("libnvidia-encode1", full, f"libcuda1 {exact}")
    yield _sources("nvidia-open-kernel-dkms", full, DEBIAN)
    yield Package("nvidia-persistenced", DEBIAN_TOOLS, files=_persistence(), scripts=RELOAD)


def _sources(name: str, full: str, version: str) -> Package:
    return Package(
        name,
        full,
        "dkms",
        {
            f"usr/src/nvidia-{version}/flavour": "open\n",
            "usr/lib/fake-nvidia/load": text("load"),
        },
        {"postinst": "dkms autoinstall", "prerm": f"dkms remove {version}"},
        {"Conflicts": "nvidia-dkms", "Replaces": "nvidia-dkms", "Provides": "nvidia-dkms"},
    )


def _persistence() -> dict[str, str]:
    return {
        "usr/bin/nvidia-persistenced": text("nvidia-persistenced"),
        f"{DAEMONS}/nvidia-persistenced.service": text("nvidia-persistenced.service"),
    }


def installer(version: str) -> str:
    """Return the installer of a driver version, a script that carries its files."""
    daemon = f"{text('nvidia-persistenced')}exec sleep infinity &\n"
    files = {
        "/usr/bin/nvidia-smi": text("nvidia-smi", version),
        "/usr/bin/nvidia-persistenced": daemon,
        "/usr/bin/nvidia-uninstall": text("uninstall", version),
        "/usr/lib/fake-nvidia/load": text("load"),
    }
    put = "\n".join(
        f"put {path} <<EOF\n{base64.b64encode(content.encode()).decode()}\nEOF"
        for path, content in files.items()
    )
    return text("installer", version).replace("@FILES@", put)
