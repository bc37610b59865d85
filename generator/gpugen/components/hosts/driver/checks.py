"""Checks of how a driver comes to its hosts."""

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
    """The catalogue knows no packages by which this method would bring the driver.

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
                message=f"the hosts of pool {POOL} cannot get a driver by {str(driver.method)!r}:"
                f" {problem}",
                hint=_way_out(pool, driver.branch),
                pool=pool.name,
            )


def _way_out(pool: NodePool, branch: DriverBranch) -> str:
    """Say what to take instead: the other flavour of the modules where that can be had."""
    is_open = not uses_open_modules(pool)
    other = "take vendor, or none where the image brings the driver"
    if pool.gpu.kernel_modules != "both":
        return other
    try:
        package_names(pool, branch, is_open=is_open, is_compute_only=False)
    except UnknownPackagesError:
        return other
    return f"write kernelModules: {'open' if is_open else 'proprietary'}, or {other}"


@check("driver-runfile-missing", "DRV-22")
def runfile_missing(spec: ClusterSpec) -> Iterator[Problem]:
    """Method runfile runs an installer that only the spec can name, with its checksum."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is DriverMethod.RUNFILE and driver.runfile is None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "method"),
                message="method runfile needs the installer's address and checksum",
                hint="write runfile: {url: ..., sha256: ...} beside it",
                pool=pool.name,
            )


@check("driver-runfile-without-effect")
def runfile_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """Other methods run no installer."""
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.method is not DriverMethod.RUNFILE and driver.runfile is not None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "runfile"),
                message=f"runfile has no effect with method {driver.method}",
                hint="leave it out, or write method: runfile",
                pool=pool.name,
            )


@check("driver-runfile-other-version", "DRV-22")
def runfile_version(spec: ClusterSpec) -> Iterator[Problem]:
    """The installer's name carries its version; another one would be installed than is verified."""
    for pool in spec.pools:
        driver = pool.host.driver
        own = driver.runfile
        if own is None or driver.method is not DriverMethod.RUNFILE:
            continue
        name = own.url.rpartition("/")[2]
        if f"-{driver.version}." not in name and f"-{driver.version}-" not in name:
            yield Problem(
                at=host_setting(spec, pool, "driver", "runfile"),
                message=f"the installer {name!r} is not of version {driver.version}",
                hint="name the installer of that version",
                pool=pool.name,
            )


@check("driver-secure-boot-unsigned", "DRV-11")
def unsigned(spec: ClusterSpec) -> Iterator[Problem]:
    """Modules that the hosts build themselves do not carry the system's signature.

    A firmware that checks signatures would refuse them: "Key was rejected by service".
    """
    for pool in spec.pools:
        driver = pool.host.driver
        if driver.secure_boot is SecureBoot.SIGNED and driver.method not in (
            DriverMethod.PRECOMPILED,
            DriverMethod.NONE,
        ):
            yield Problem(
                at=host_setting(spec, pool, "driver", "secureBoot"),
                message=f"method {driver.method} brings no modules that the system signed",
                hint="take method precompiled, or secureBoot: mok",
                pool=pool.name,
            )


@check("driver-graphics-unknown", "DRV-26")
def graphics_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """The catalogue knows no packages that bring OpenGL and Vulkan without a desktop.

    Source: rows of packages.yaml; names are never guessed.
    """
    for pool, names in _graphics(spec):
        if names is None:
            yield Problem(
                at=host_setting(spec, pool, "driver", "graphics"),
                message=f"no names are confirmed of packages with OpenGL and Vulkan alone for"
                f" {pool.host.os.id} by method {pool.host.driver.method}",
                hint="leave graphics out, or take a system of which they are known, such as"
                " ubuntu-24.04",
                pool=pool.name,
            )


@check("driver-graphics-without-effect")
def graphics_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """The driver brings OpenGL and Vulkan anyway, or nothing is installed."""
    for pool, names in _graphics(spec):
        if names == ():
            yield Problem(
                at=host_setting(spec, pool, "driver", "graphics"),
                message=f"graphics has no effect with method {pool.host.driver.method} and release"
                f" {spec.release.id}",
                hint="leave it out",
                pool=pool.name,
            )


def _graphics(spec: ClusterSpec) -> Iterator[tuple[NodePool, tuple[str, ...] | None]]:
    """Yield the pools that ask for graphics, and what brings them."""
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
    """The setting is about an installation, or about modules of DKMS, that there is not."""
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
                    hint="leave it out",
                    pool=pool.name,
                )
