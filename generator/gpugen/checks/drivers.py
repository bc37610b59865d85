"""Checks of drivers, the container toolkit and the hosts' operating systems."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.hosts.places import host_setting
from gpugen.model.driver import DriverMethod, KernelModules
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text.versions import UPGRADE, is_older, newer_words

OPEN_ONLY_BRANCH = 620  # install guide v620: no proprietary flavour any more
FAMILIES = ("debian", "redhat")  # of packages that the host roles install
TOOLKIT_FLOOR = "1.17.8"  # carries the fixes of CVE-2025-23266 and CVE-2025-23267


def _driven(spec: ClusterSpec) -> Iterator[NodePool]:
    """List the pools whose driver version the spec states."""
    return (pool for pool in spec.pools if pool.host.driver.branch is not None)


@check("driver-too-new-for-gpu", "DRV-01")
def too_new(spec: ClusterSpec) -> Iterator[Problem]:
    """The branch no longer drives this architecture: no device would be found.

    Source: NVIDIA data centre drivers, architecture matrix (580 is the last branch for Maxwell,
    Pascal and Volta).
    """
    for pool in _driven(spec):
        branch, last = pool.host.driver.branch, pool.gpu.last_branch
        if branch is not None and last is not None and branch.id > last:
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver branch {branch.id} does not drive {pool.gpu.id}"
                f" ({pool.gpu.architecture});"
                f" {last} is the last that does",
                hint=f"take a version of branch {last} for pool {POOL}",
                pool=pool.name,
            )


@check("driver-too-old-for-gpu", "DRV-01")
def too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """The board came after this driver. Source: the board's row in the catalogue."""
    for pool in _driven(spec):
        driver, gpu, floor = pool.host.driver, pool.gpu, _floor(pool)
        if floor:
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver {driver.version} does not know {gpu.id}, which needs {floor} or"
                " newer",
                hint=f"take {floor} or newer; 'gpugen catalog drivers' lists the branches",
                pool=pool.name,
            )


def _floor(pool: NodePool) -> str:
    """Return the oldest driver or branch for a pool's GPUs, if its own is older."""
    driver, gpu = pool.host.driver, pool.gpu
    assert driver.branch is not None
    if gpu.min_driver:
        return gpu.min_driver if is_older(driver.version, gpu.min_driver) else ""
    return str(gpu.min_branch) if gpu.min_branch and driver.branch.id < gpu.min_branch else ""


@check("driver-kernel-modules", "DRV-01")
def kernel_modules(spec: ClusterSpec) -> Iterator[Problem]:
    """The flavour of the kernel modules does not drive this GPU.

    Open modules find nothing older than Turing; proprietary ones do not bind to Blackwell and
    Grace parts and end with branch 620. Source: NVIDIA driver installation guide v620.
    """
    for pool in _driven(spec):
        driver, gpu = pool.host.driver, pool.gpu
        assert driver.branch is not None
        flavour = driver.kernel_modules
        why = ""
        if flavour is KernelModules.OPEN and gpu.kernel_modules == "proprietary-only":
            why = f"{gpu.id} ({gpu.architecture}) works with proprietary modules only"
        elif flavour is KernelModules.OPEN and driver.branch.open_modules == "none":
            why = f"branch {driver.branch.id} has no open modules"
        elif flavour is KernelModules.PROPRIETARY and gpu.kernel_modules == "open-only":
            why = f"{gpu.id} ({gpu.architecture}) works with open modules only"
        elif flavour is KernelModules.PROPRIETARY and driver.branch.id >= OPEN_ONLY_BRANCH:
            why = f"branch {driver.branch.id} has no proprietary modules"
        if why:
            yield Problem(
                at=host_setting(spec, pool, "driver", "kernelModules"),
                message=why,
                hint="write kernelModules: auto, or leave it out",
                pool=pool.name,
            )


@check("driver-modules-impossible", "DRV-01")
def no_flavour(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU needs one flavour of the modules and the branch brings only the other."""
    for pool in _driven(spec):
        driver, gpu = pool.host.driver, pool.gpu
        assert driver.branch is not None
        if gpu.kernel_modules == "proprietary-only" and driver.branch.id >= OPEN_ONLY_BRANCH:
            missing = "proprietary"
        elif gpu.kernel_modules == "open-only" and driver.branch.open_modules == "none":
            missing = "open"
        else:
            continue
        yield Problem(
            at=host_setting(spec, pool, "driver", "version"),
            message=f"{gpu.id} needs {missing} kernel modules, which branch {driver.branch.id}"
            " lacks",
            hint="take another driver branch for this pool",
            pool=pool.name,
        )


@check("driver-modules-without-install")
def modules_without_install(spec: ClusterSpec) -> Iterator[Problem]:
    """With method none nothing is installed, so a flavour has no effect."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is DriverMethod.NONE and driver.kernel_modules is not KernelModules.AUTO:
            yield Problem(
                at=host_setting(spec, pool, "driver", "kernelModules"),
                message="kernelModules has no effect with method none",
                hint="leave it out; the image decides it",
                pool=pool.name,
            )


@check("driver-branch-end-of-life", severity=Severity.WARNING)
def end_of_life(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor no longer fixes faults of this branch. Source: NVIDIA data centre drivers."""
    for pool in _driven(spec):
        branch = pool.host.driver.branch
        if branch is not None and not branch.is_supported and not _floor(pool):
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver branch {branch.id} is not supported any more ({branch.status})",
                hint="580 and 595 are supported; 'gpugen catalog drivers' lists all",
                pool=pool.name,
            )


@check("toolkit-known-vulnerable", "CTK-05")
def toolkit_floor(spec: ClusterSpec) -> Iterator[Problem]:
    """Older container toolkits let a container take over its host.

    Source: CVE-2024-0132, CVE-2025-23359, CVE-2025-23266, CVE-2025-23267; GPU Operator 25.3.2.
    """
    for pool in spec.pools:
        version = pool.host.container_toolkit_version
        if is_older(version, TOOLKIT_FLOOR):
            yield Problem(
                at=host_setting(spec, pool, "containerToolkit", "version"),
                message=f"container toolkit {version} has known escapes to the host",
                hint=f"take {TOOLKIT_FLOOR} or newer",
                pool=pool.name,
            )


@check("system-not-supported", "PRE-03")
def system(spec: ClusterSpec) -> Iterator[Problem]:
    """The roles refuse the system before their first change. Source: its row in the catalogue."""
    for pool in spec.pools:
        row = pool.host.os
        reason = "" if row.is_supported else row.reason
        if row.is_supported and row.family not in FAMILIES:
            reason = f"they install packages of the {' and '.join(FAMILIES)} family only, so far"
        if reason:
            yield Problem(
                at=host_setting(spec, pool, "os"),
                message=f"the host roles do not support {row.id!r}: {reason}",
                hint="'gpugen catalog systems' lists what they support",
                pool=pool.name,
            )


@check("system-without-architecture", "DRV-26")
def architecture_in_repository(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor builds no packages for this system on this architecture.

    Source: the system's row in the catalogue; Debian has amd64 only.
    """
    for pool in spec.pools:
        host = pool.host
        known = host.os.row.get("cudaRepository", {}).get("architectures", {})
        stated = host.repositories.driver
        is_asked = host.driver.method is DriverMethod.VENDOR or (stated and stated.is_vendor)
        if is_asked and known and host.architecture not in known:
            yield Problem(
                at=host_setting(spec, pool, "os"),
                message=f"the vendor has no packages of {host.os.id} for {host.architecture},"
                " which the"
                f" hosts of {pool.gpu.id} are",
                hint="take another system for this pool, such as ubuntu-24.04",
                pool=pool.name,
            )


@check("system-without-branch", "DRV-26")
def branch_in_repository(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor's repository for this system does not carry the driver branch.

    Source: the system's row in the catalogue; Ubuntu 26.04 begins with 595.
    """
    for pool in _driven(spec):
        branch = pool.host.driver.branch
        low, high = (pool.host.os.row.get(key) for key in ("minBranch", "maxBranch"))
        if branch is None or pool.host.driver.method is not DriverMethod.VENDOR:
            continue
        if (low is not None and branch.id < low) or (high is not None and branch.id > high):
            span = f"{low or 'the first'} to {high or 'the newest'}"
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"the vendor's repository for {pool.host.os.id} carries branches {span},"
                f" not {branch.id}",
                hint="take a branch from there, or another system",
                pool=pool.name,
            )


@check("driver-newer-than-known", "DRV-01", severity=Severity.WARNING)
def newer_than_known(spec: ClusterSpec) -> Iterator[Problem]:
    """No such version was out when this gpugen was: a slip, or a version that nobody here judged.

    A repository that does not have it refuses the whole transaction. Source: the branch's row in
    the catalogue, latestKnown.
    """
    for pool in spec.pools:
        driver = pool.host.driver
        newest = driver.branch.latest_known if driver.branch else ""
        if driver.version and newest and is_older(newest, driver.version):
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=newer_words(f"driver {driver.version!r}", newest),
                hint=f"compare it with what the vendor has released; {UPGRADE}",
                pool=pool.name,
            )
