"""Checks of drivers, the container toolkit and the hosts' operating systems."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.hosts.places import host_setting
from gpugen.model.driver import DriverMethod, KernelModules
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text.versions import UPGRADE, is_older, newer_words

OPEN_ONLY_BRANCH = 620  # install guide v620: proprietary modules end here
FAMILIES = ("debian", "redhat")  # of packages that the host roles install
TOOLKIT_FLOOR = "1.17.8"  # carries the fixes of CVE-2025-23266 and CVE-2025-23267


def _driven(spec: ClusterSpec) -> Iterator[NodePool]:
    """List the pools whose driver version the spec states."""
    return (pool for pool in spec.pools if pool.host.driver.branch is not None)


@check("driver-too-new-for-gpu", "DRV-01")
def too_new(spec: ClusterSpec) -> Iterator[Problem]:
    """The driver branch no longer supports this GPU architecture: no GPU would be found.

    Source: NVIDIA data centre drivers, architecture matrix (580 is the last branch for Maxwell,
    Pascal and Volta).
    """
    for pool in _driven(spec):
        branch, last = pool.host.driver.branch, pool.gpu.last_branch
        if branch is not None and last is not None and branch.id > last:
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver branch {branch.id} does not support {pool.gpu.id}"
                f" ({pool.gpu.architecture}); {last} is the last that does",
                hint=f"use a version of branch {last} for pool {POOL}",
                pool=pool.name,
            )


@check("driver-too-old-for-gpu", "DRV-01")
def too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model is newer than this driver. Source: the GPU model's row in the catalogue."""
    for pool in _driven(spec):
        driver, gpu, floor = pool.host.driver, pool.gpu, _floor(pool)
        if floor:
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver {driver.version} does not support {gpu.id}, which needs {floor}"
                " or newer",
                hint=f"use {floor} or newer; 'gpugen catalog drivers' lists the branches",
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
    """This flavour of the kernel modules does not support the GPU model.

    Open modules need Turing or newer; proprietary ones do not support Blackwell and Grace, and end
    before branch 620. Source: NVIDIA driver installation guide v620.
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
                hint="write kernelModules: auto, or remove it",
                pool=pool.name,
            )


@check("driver-modules-impossible", "DRV-01")
def no_flavour(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model needs one flavour of the kernel modules, the branch has only the other."""
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
            " does not have",
            hint="choose another driver branch for this pool",
            pool=pool.name,
        )


@check("driver-modules-without-install")
def modules_without_install(spec: ClusterSpec) -> Iterator[Problem]:
    """With method none nothing is installed, so kernelModules has no effect."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is DriverMethod.NONE and driver.kernel_modules is not KernelModules.AUTO:
            yield Problem(
                at=host_setting(spec, pool, "driver", "kernelModules"),
                message="kernelModules has no effect with method none",
                hint="remove it; the hosts' image decides",
                pool=pool.name,
            )


@check("driver-branch-end-of-life", severity=Severity.WARNING)
def end_of_life(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor no longer fixes this driver branch. Source: NVIDIA data centre drivers."""
    for pool in _driven(spec):
        branch = pool.host.driver.branch
        if branch is not None and not branch.is_supported and not _floor(pool):
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver branch {branch.id} is no longer supported ({branch.status})",
                hint="use 580 or 595; 'gpugen catalog drivers' lists all branches",
                pool=pool.name,
            )


@check("toolkit-known-vulnerable", "CTK-05")
def toolkit_floor(spec: ClusterSpec) -> Iterator[Problem]:
    """In older container toolkits a container can escape to its host.

    Source: CVE-2024-0132, CVE-2025-23359, CVE-2025-23266, CVE-2025-23267; GPU Operator 25.3.2.
    """
    for pool in spec.pools:
        version = pool.host.container_toolkit_version
        if is_older(version, TOOLKIT_FLOOR):
            yield Problem(
                at=host_setting(spec, pool, "containerToolkit", "version"),
                message=f"container toolkit {version} has known container escapes",
                hint=f"use {TOOLKIT_FLOOR} or newer",
                pool=pool.name,
            )


@check("system-not-supported", "PRE-03")
def system(spec: ClusterSpec) -> Iterator[Problem]:
    """The host roles do not support this operating system. Source: its row in the catalogue."""
    for pool in spec.pools:
        row = pool.host.os
        reason = "" if row.is_supported else row.reason
        if row.is_supported and row.family not in FAMILIES:
            reason = f"so far they install packages of the {' and '.join(FAMILIES)} family only"
        if reason:
            yield Problem(
                at=host_setting(spec, pool, "os"),
                message=f"the host roles do not support {row.id!r}: {reason}",
                hint="'gpugen catalog systems' lists what they support",
                pool=pool.name,
            )


@check("system-without-architecture", "DRV-26")
def architecture_in_repository(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor has no packages for this operating system on this architecture.

    Source: the system's row in the catalogue; Debian has amd64 only.
    """
    for pool in spec.pools:
        host = pool.host
        known = host.os.cuda_repository.architectures if host.os.cuda_repository else ()
        stated = host.repositories.driver
        is_asked = host.driver.method is DriverMethod.VENDOR or (stated and stated.is_vendor)
        if is_asked and known and host.architecture not in known:
            yield Problem(
                at=host_setting(spec, pool, "os"),
                message=f"the vendor has no packages for {host.os.id} on {host.architecture}, the"
                f" architecture of hosts with {pool.gpu.id}",
                hint="choose another operating system for this pool, such as ubuntu-24.04",
                pool=pool.name,
            )


@check("system-without-branch", "DRV-26")
def branch_in_repository(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor's repository for this operating system does not have the driver branch.

    Source: the system's row in the catalogue; Ubuntu 26.04 begins with 595.
    """
    for pool in _driven(spec):
        branch = pool.host.driver.branch
        low, high = pool.host.os.min_branch, pool.host.os.max_branch
        if branch is None or pool.host.driver.method is not DriverMethod.VENDOR:
            continue
        if (low is not None and branch.id < low) or (high is not None and branch.id > high):
            span = f"{low or 'the first'} to {high or 'the newest'}"
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"the vendor's repository for {pool.host.os.id} has branches {span}, not"
                f" {branch.id}",
                hint="use one of these branches, or another operating system",
                pool=pool.name,
            )


@check("driver-newer-than-known", "DRV-01", severity=Severity.WARNING)
def newer_than_known(spec: ClusterSpec) -> Iterator[Problem]:
    """The version is newer than any this gpugen knows: a typo, or an untested version.

    If the repository does not have it, the whole package transaction fails. Source: the branch's
    row in the catalogue, latestKnown.
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
