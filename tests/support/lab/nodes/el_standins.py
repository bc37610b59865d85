"""Stand-ins of the vendor's RPM packages: real names, epochs and streams, shell scripts inside.

The driver's parts demand each other exactly, fabric manager and its like demand nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from support.lab.nodes import cuda_standins
from support.lab.nodes.rpm import Package
from support.lab.nodes.service_standins import DCGMS
from support.lab.nodes.standins import DAEMONS, FORMER_JSON, RELOAD, RUNTIME, TOOLKITS, text

OLD_BRANCH, NEW_BRANCH = "580", "595"
DRIVERS = ("580.105.08", "580.142", "595.58.03")
EPOCH = 3
KERNEL = "5.14.0-503.14.1.el9_5.x86_64"  # that roles take for the running one
NEXT_KERNEL = "5.14.0-503.40.1.el9_5.x86_64"
MODULE = "nvidia-driver"
DAEMON_RELOAD = {"post": RELOAD["postinst"]}


def system() -> Iterator[Package]:
    """Yield what the distribution and EPEL offer."""
    for kernel in (KERNEL, NEXT_KERNEL):
        version, _, rest = kernel.partition("-")
        release = rest.rpartition(".")[0]
        makefile = {f"usr/src/kernels/{kernel}/Makefile": "# stand-in\n"}
        same = f"= {version}-{release}"
        beside = ["installonlypkg(kernel)"]  # several may be installed at once
        yield Package("kernel", version, release=release, requires=[f"kernel-core {same}"])
        yield Package("kernel-core", version, release=release, provides=beside)
        yield Package("kernel-devel", version, release=release, files=makefile, provides=beside)
        needs = [f"kernel-core {same}", f"kernel-devel {same}"]
        yield Package("kernel-devel-matched", version, release=release, requires=needs)
        yield Package("kernel-headers", version, release=release)
    yield Package("dkms", "3.2.1", files={"usr/sbin/dkms": program("dkms")})
    yield Package("python3-dnf-plugin-versionlock", "4.3.0")
    yield Package("infiniband-diags", "51.0")
    yield Package("libibumad", "51.0")
    yield Package("bash", "5.1.8", provides=["/bin/sh"])


def vendor() -> Iterator[Package]:
    """Yield what the vendor's repository offers."""
    for version in DRIVERS:
        yield from driver(version)
    yield Package("nvlsm", "2025.06.11", release="1")
    for version in TOOLKITS:
        yield from toolkit(version)
    yield from former()
    yield from cuda_standins.rpms()
    yield from dcgm()


def dcgm() -> Iterator[Package]:
    """Yield the engines of two major versions, which exclude each other."""
    former = "datacenter-gpu-manager"
    yield Package(former, "3.3.9", release="1", epoch=1)
    for version in DCGMS:
        core = f"{former}-4-core"
        same = [f"{core} = 1:{version}-1"]
        yield Package(core, version, release="1", epoch=1, conflicts=[former])
        yield Package(f"{former}-4-cuda13", version, release="1", epoch=1, requires=same)


def program(name: str) -> str:
    """Return a program of the Debian stand-ins that takes the stand-in kernel for the running."""
    return (
        text(name)
        .replace("$(uname -r)", KERNEL)
        .replace("/usr/src/linux-headers-", "/usr/src/kernels/")
    )


def driver(version: str) -> Iterator[Package]:
    """Yield the packages of one driver version, as artifacts of its branch's streams."""
    branch = version.partition(".")[0]
    newest = ["open-dkms"] if branch == NEW_BRANCH else []
    all_streams = [f"{branch}-open", f"{branch}-dkms", branch, *newest]
    exact = f"= {EPOCH}:{version}"
    for package in (*_parts(version, exact), *_modules(version, exact)):
        own = package.streams or all_streams
        yield replace(package, epoch=EPOCH, streams=own)
    for name in ("libnvidia-nscq", "nvidia-imex", "libnvsdm"):
        yield Package(name, version, release="1", streams=all_streams)
    unit = text("nvidia-fabricmanager.service")
    files = {
        "usr/bin/nv-fabricmanager": text("nvidia-fabricmanager", version),
        f"usr/{DAEMONS}/nvidia-fabricmanager.service": unit,
    }
    yield Package(
        "nvidia-fabricmanager",
        version,
        release="1",
        files=files,
        scripts=DAEMON_RELOAD,
        streams=all_streams,
    )


def _parts(version: str, exact: str) -> Iterator[Package]:
    needs = [f"{name} {exact}" for name in ("nvidia-driver-cuda-libs", "nvidia-kmod-common")]
    smi = {"usr/bin/nvidia-smi": text("nvidia-smi", version)}
    yield Package("nvidia-driver-cuda", version, requires=needs, files=smi)
    yield Package("nvidia-driver-cuda-libs", version, requires=[f"libnvidia-cfg {exact}"])
    yield Package("libnvidia-cfg", version)
    yield Package("nvidia-kmod-common", version, requires=[f"nvidia-kmod {exact}"])
    unit = text("nvidia-persistenced.service").replace("--no-persistence-mode ", "")
    files = {
        "usr/bin/nvidia-persistenced": text("nvidia-persistenced"),
        f"usr/{DAEMONS}/nvidia-persistenced.service": unit,
    }
    yield Package("nvidia-persistenced", version, files=files, scripts=DAEMON_RELOAD)


def _modules(version: str, exact: str) -> Iterator[Package]:
    branch = version.partition(".")[0]
    newest = ["open-dkms"] if branch == NEW_BRANCH else []
    flavours = {
        "open": ("kmod-nvidia-open-dkms", [f"{branch}-open", *newest]),
        "proprietary": ("kmod-nvidia-latest-dkms", [f"{branch}-dkms"]),
    }
    names = [name for name, _ in flavours.values()]
    for flavour, (name, streams) in flavours.items():
        yield Package(
            name,
            version,
            requires=["dkms"],
            provides=[f"nvidia-kmod {exact}"],
            conflicts=[other for other in names if other != name],
            files={
                f"usr/src/nvidia-{version}/flavour": f"{flavour}\n",
                "usr/lib/fake-nvidia/load": program("load"),
            },
            scripts={"post": f"dkms install {version}", "preun": f"dkms remove {version}"},
            streams=streams,
        )
    module = f"/usr/lib/modules/{KERNEL}/updates/dkms/nvidia.ko"  # linked when it is installed
    yield Package(
        f"kmod-nvidia-{version}-{KERNEL.rpartition('.el9')[0]}",
        version,
        release="3.el9_5",
        provides=[f"nvidia-kmod {exact}"],
        conflicts=names,
        files={"usr/lib/fake-nvidia/load": program("load")},
        scripts={
            "post": f"mkdir -p {module.rpartition('/')[0]}\necho {version} proprietary >{module}",
            "preun": f"! grep -qs '^{version} ' {module} || rm {module}",
        },
        streams=[branch],
    )


def toolkit(version: str) -> Iterator[Package]:
    """Yield the four packages of one toolkit version; since 1.18 they demand their own version."""
    same = f"= {version}-1"
    files = {
        "usr/bin/nvidia-ctk": text("nvidia-ctk", version),
        "usr/bin/nvidia-container-runtime": RUNTIME,
        f"usr/{DAEMONS}/nvidia-cdi-refresh.service": text("nvidia-cdi-refresh.service"),
        f"usr/{DAEMONS}/nvidia-cdi-refresh.path": text("nvidia-cdi-refresh.path"),
    }
    needs = [f"nvidia-container-toolkit-base {same}", f"libnvidia-container-tools {same}"]
    yield Package("libnvidia-container1", version, release="1")
    tools = [f"libnvidia-container1 >= {version}-1"]
    yield Package("libnvidia-container-tools", version, release="1", requires=tools)
    yield Package(
        "nvidia-container-toolkit-base", version, release="1", files=files, scripts=DAEMON_RELOAD
    )
    yield Package("nvidia-container-toolkit", version, release="1", requires=needs)


def former() -> Iterator[Package]:
    """Yield packages of former toolkits, and one that needs them."""
    path = "etc/docker/daemon.json"
    needs = ["nvidia-container-toolkit >= 1.13.0-1"]
    files = {path: FORMER_JSON, "usr/bin/nvidia-docker": "#!/bin/sh\n"}
    yield Package(
        "nvidia-docker2", "2.13.0", release="1", requires=needs, files=files, settings=[path]
    )
    yield Package("nvidia-container-runtime", "3.13.0", release="1", requires=needs)
    yield Package("own-gpu-tool", "1", release="1", requires=["nvidia-docker2"])
