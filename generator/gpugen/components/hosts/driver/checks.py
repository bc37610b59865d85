"""Checks of how a driver is installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.driver import installs_compute_only, uses_open_modules
from gpugen.components.hosts.driver.packages import (
    UnknownPackagesError,
    graphics_names,
    package_names,
)
from gpugen.hosts.places import host_setting
from gpugen.model.catalog import DriverBranch
from gpugen.model.driver import Activation, DriverMethod, InUse, SecureBoot
from gpugen.model.spec import ClusterSpec, NodePool


@check("driver-method-not-supported", "DRV-24", "DRV-26")
def method(spec: ClusterSpec) -> Iterator[Problem]:
    """The catalogue has no packages that install the driver by this method.

    Source: rows of packages.yaml and operating-systems/; names are never guessed.
    """
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.branch is None or driver.method in (DriverMethod.VENDOR, DriverMethod.NONE):
            continue
        try:
            package_names(
                pool, driver.branch, is_open=uses_open_modules(pool), is_compute_only=False
            )
        except UnknownPackagesError as problem:
            yield Problem(
                at=host_setting(spec, pool, "driver", "method"),
                message=f"the driver of pool {POOL} cannot be installed by method"
                f" {str(driver.method)!r}: {problem}",
                hint=_way_out(pool, driver.branch),
                pool=pool.name,
            )


def _way_out(pool: NodePool, branch: DriverBranch) -> str:
    """Return what to use instead: the other flavour of the modules where that exists."""
    is_open = not uses_open_modules(pool)
    other = "use method: vendor, or none if the image contains the driver"
    if pool.gpu.kernel_modules != "both":
        return other
    try:
        package_names(pool, branch, is_open=is_open, is_compute_only=False)
    except UnknownPackagesError:
        return other
    return f"write kernelModules: {'open' if is_open else 'proprietary'}, or {other}"


@check("driver-runfile-missing", "DRV-22")
def runfile_missing(spec: ClusterSpec) -> Iterator[Problem]:
    """Method runfile runs an installer, whose address and checksum the spec must state."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is DriverMethod.RUNFILE and driver.runfile is None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "method"),
                message="method runfile needs the installer's URL and checksum",
                hint="write runfile: {url: ..., sha256: ...} beside it",
                pool=pool.name,
            )


@check("driver-runfile-without-effect")
def runfile_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """Other methods do not run an installer."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is not DriverMethod.RUNFILE and driver.runfile is not None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "runfile"),
                message=f"runfile has no effect with method {driver.method}",
                hint="remove it, or write method: runfile",
                pool=pool.name,
            )


@check("driver-runfile-other-version", "DRV-22")
def runfile_version(spec: ClusterSpec) -> Iterator[Problem]:
    """The installer's file name contains its version, which must be driver.version."""
    for pool in spec.pools:
        driver = pool.host.driver
        own = driver.runfile
        if own is None or driver.method is not DriverMethod.RUNFILE:
            continue
        name = own.url.rpartition("/")[2]
        if f"-{driver.version}." not in name and f"-{driver.version}-" not in name:
            yield Problem(
                at=host_setting(spec, pool, "driver", "runfile"),
                message=f"the installer {name!r} is not version {driver.version}",
                hint="use the installer of that version",
                pool=pool.name,
            )


@check("driver-secure-boot-unsigned", "DRV-11")
def unsigned(spec: ClusterSpec) -> Iterator[Problem]:
    """Kernel modules that hosts build themselves are not signed by the operating system's vendor.

    With Secure Boot on, the kernel rejects them: "Key was rejected by service".
    """
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.secure_boot is SecureBoot.SIGNED and driver.method not in (
            DriverMethod.PRECOMPILED,
            DriverMethod.NONE,
        ):
            yield Problem(
                at=host_setting(spec, pool, "driver", "secureBoot"),
                message=f"method {driver.method} has no kernel modules signed by the operating"
                " system's vendor",
                hint="use method: precompiled, or secureBoot: mok",
                pool=pool.name,
            )


@check("driver-graphics-unknown", "DRV-26")
def graphics_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """The catalogue has no packages for OpenGL and Vulkan without a desktop.

    Source: rows of packages.yaml; names are never guessed.
    """
    for pool, names in _graphics(spec):
        if names is None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "graphics"),
                message=f"no package with OpenGL and Vulkan alone is known for {pool.host.os.id}"
                f" and method {pool.host.driver.method}",
                hint="remove graphics, or choose an operating system that has one, such as"
                " ubuntu-24.04",
                pool=pool.name,
            )


@check("driver-graphics-without-effect")
def graphics_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """The driver contains OpenGL and Vulkan anyway, or nothing is installed."""
    for pool, names in _graphics(spec):
        if names == ():
            yield Problem(
                at=host_setting(spec, pool, "driver", "graphics"),
                message=f"graphics has no effect with method {pool.host.driver.method} and release"
                f" {spec.release.id}",
                hint="remove it",
                pool=pool.name,
            )


def _graphics(spec: ClusterSpec) -> Iterator[tuple[NodePool, tuple[str, ...] | None]]:
    is_compute_only = installs_compute_only(spec)
    for pool in spec.pools:
        driver = pool.host.driver
        if not driver.graphics:
            continue
        if driver.branch is None:
            yield pool, ()
        elif pool.host.os.is_supported:
            yield pool, graphics_names(pool, driver.branch, is_compute_only=is_compute_only)


@check("driver-setting-without-effect")
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """The setting concerns an installation, or DKMS modules, that this method does not have."""
    for pool in spec.pools:
        driver = pool.host.driver
        is_none = driver.method is DriverMethod.NONE
        is_built = driver.method is DriverMethod.PRECOMPILED
        stated = {
            ("driver", "secureBoot"): (is_none and driver.secure_boot is not SecureBoot.REFUSE)
            or (is_built and driver.secure_boot is SecureBoot.MOK),
            ("driver", "inUse"): is_none and driver.in_use is not InUse.REFUSE,
            ("driver", "activation"): is_none and driver.activation is not Activation.REBOOT,
            ("allowKernelChange",): is_none and pool.host.allow_kernel_change,
        }
        for path, has_no_effect in stated.items():
            if has_no_effect:
                yield Problem(
                    at=host_setting(spec, pool, *path),
                    message=f"{path[-1]} has no effect with method {driver.method}",
                    hint="remove it",
                    pool=pool.name,
                )
