"""Names of a driver's packages, from the catalogue's rows; never constructed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpugen.catalog import reading
from gpugen.model.catalog import DriverBranch
from gpugen.model.driver import DriverMethod
from gpugen.model.spec import NodePool

OLDEST, NEWEST = 0, 100_000  # branches, if a row has no end
NO_SWITCHES = ("never", "never-on-single-node", "switch-trays-only")
IMEX = ("multi-node", "nvl32-only")
IMEX_FROM_BRANCH = 550


class UnknownPackagesError(LookupError):
    """The catalogue has no package names for this; the text says for what."""


class Names(NamedTuple):
    """Package names of one pool.

    driver, fabric: at the driver's exact version; fabric only if NVSwitches are found. nvlink5:
    with versions of their own, for GPU models whose switches are behind InfiniBand. beside: with
    versions of their own on every host; {kernel} and {flavour} are filled in on the host. complete:
    a larger set; a host that has it at the exact version keeps it.
    """

    driver: tuple[str, ...]
    fabric: tuple[str, ...] = ()
    nvlink5: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    complete: tuple[str, ...] = ()


def package_names(
    pool: NodePool, branch: DriverBranch, *, is_open: bool, is_compute_only: bool
) -> Names:
    """Return what the pool's hosts install. Raises UnknownPackagesError.

    is_compute_only: as the release states, if a system has a smaller set than the complete one.
    """
    method = pool.host.driver.method
    if method is DriverMethod.RUNFILE:
        return _by_installer(pool)
    if method in (DriverMethod.DISTRO, DriverMethod.PRECOMPILED) and not pool.host.os.is_dnf:
        return _from_archive(pool, branch, is_open=is_open)
    if method is DriverMethod.DISTRO:
        raise UnknownPackagesError(f"the archive of {pool.host.os.id} has no driver")
    return _from_vendor(pool, branch, is_open=is_open, is_compute_only=is_compute_only)


def graphics_names(
    pool: NodePool, branch: DriverBranch, *, is_compute_only: bool
) -> tuple[str, ...] | None:
    """Return what adds OpenGL and Vulkan; empty if they are included, None: not known."""
    method, system = pool.host.driver.method, pool.host.os
    if method in (DriverMethod.RUNFILE, DriverMethod.NONE):
        return ()
    if method in (DriverMethod.DISTRO, DriverMethod.PRECOMPILED) and not pool.host.os.is_dnf:
        names = _table(system.archive.packages).get("graphics") if system.archive else None
        return None if names is None else _all_named(names, branch)
    own = _for_branch(_table(system.driver_packages)["byBranch"], branch.id)
    if "computeOnly" in own and not is_compute_only:
        return ()
    return _all_named(own["graphics"], branch) if "graphics" in own else None


def _with_graphics(
    pool: NodePool, branch: DriverBranch, *, is_compute_only: bool
) -> tuple[str, ...]:
    """Return the packages of OpenGL and Vulkan if the spec states graphics."""
    if not pool.host.driver.graphics:
        return ()
    return graphics_names(pool, branch, is_compute_only=is_compute_only) or ()


def module_stream(pool: NodePool, branch: DriverBranch, *, is_open: bool) -> str:
    """Return module and stream of the driver; empty if the system has no module streams."""
    system = pool.host.os
    if not system.has_module_streams or pool.host.driver.method is DriverMethod.RUNFILE:
        return ""
    streams = _table(system.driver_packages)["streams"]
    flavour = "openBranch" if is_open else "proprietaryBranch"
    is_built = pool.host.driver.method is DriverMethod.PRECOMPILED
    return _named(streams["precompiledBranch" if is_built else flavour], branch)


def _by_installer(pool: NodePool) -> Names:
    if pool.gpu.fabric_manager not in NO_SWITCHES:
        raise UnknownPackagesError(
            f"the installer has no Fabric Manager, which {pool.gpu.id} needs"
        )
    if pool.gpu.imex in IMEX:
        raise UnknownPackagesError(f"the installer has no IMEX, which {pool.gpu.id} needs")
    return Names(())


def _from_vendor(
    pool: NodePool, branch: DriverBranch, *, is_open: bool, is_compute_only: bool
) -> Names:
    table = _table(pool.host.os.driver_packages)
    row = _for_branch(table["byBranch"], branch.id)
    flavour = "open" if is_open else "proprietary"
    beside: tuple[str, ...] = ()
    if pool.host.driver.method is DriverMethod.PRECOMPILED:
        flavour = f"precompiled{flavour.capitalize()}"
        is_built = pool.host.os.id in table.get("precompiledSystems", ())
        beside = tuple(_each(table["precompiledModules"])) if is_built else ()
    if flavour not in row or (pool.host.driver.method is DriverMethod.PRECOMPILED and not beside):
        word = "open" if is_open else "proprietary"
        raise UnknownPackagesError(f"there are no prebuilt {word} modules for {pool.host.os.id}")
    imex = _imex(pool, branch)
    complete: tuple[str, ...] = (*_all_named(row[flavour], branch), *imex)
    driver = complete
    if is_compute_only and "computeOnly" in row:
        driver = (*_all_named(row["computeOnly"][flavour], branch), *imex)
    else:
        complete = ()
    driver += _with_graphics(pool, branch, is_compute_only=is_compute_only)
    has_switches = pool.gpu.fabric_manager not in NO_SWITCHES
    fabric, nvlink5 = _fabric(pool, branch) if has_switches else ((), ())
    return Names(driver, fabric, nvlink5, beside, complete)


def _from_archive(pool: NodePool, branch: DriverBranch, *, is_open: bool) -> Names:
    """Return the packages of the system's own archive."""
    system, method = pool.host.os, str(pool.host.driver.method)
    archive = system.archive
    table = _table(archive.packages) if archive else {}
    row = table.get(method, {})
    flavour = "open" if is_open else "proprietary"
    if flavour not in row:
        raise UnknownPackagesError(f"the archive of {system.id} has no such packages")
    if archive and archive.branches and branch.id not in archive.branches:
        known = " and ".join(map(str, archive.branches))
        raise UnknownPackagesError(f"the archive of {system.id} has {known}, not {branch.id}")
    if pool.gpu.imex in IMEX:
        raise UnknownPackagesError(f"the archive has no IMEX, which {pool.gpu.id} needs")
    beside = [*_each(row.get("beside", ())), *_each(row.get(f"{flavour}Modules", ()))]
    if pool.host.allow_kernel_change:
        beside += _each(row.get(f"{flavour}Following", ()))
    fabric = _archived_fabric(pool, table, branch)
    driver = _all_named(row[flavour], branch)
    driver += _with_graphics(pool, branch, is_compute_only=True)
    return Names(driver, fabric, (), _all_named(beside, branch))


def _archived_fabric(
    pool: NodePool, table: Mapping[str, Any], branch: DriverBranch
) -> tuple[str, ...]:
    if pool.gpu.fabric_manager in NO_SWITCHES:
        return ()
    if pool.gpu.needs_nvlsm or "fabricManager" not in table:
        raise UnknownPackagesError(
            f"the archive of {pool.host.os.id} does not have all fabric packages that"
            f" {pool.gpu.id} needs"
        )
    return _all_named([table["fabricManager"], table["nscq"]], branch)


def _fabric(pool: NodePool, branch: DriverBranch) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the Fabric Manager's set for NVSwitch systems, and what NVLink 5 needs in addition."""
    row = _fabric_row(pool, branch)
    table = _packages()["fabricPackages"]["nvlink5"]
    beside = (*table["packages"], *(table["rpmAlso"] if pool.host.os.is_dnf else ()))
    if not pool.gpu.needs_nvlsm:
        return (_named(row["fabricManager"], branch), _named(row["nscq"], branch)), ()
    names = [_named(row["fabricManager"], branch)]
    if pool.host.architecture == "amd64":  # libnvsdm exists for amd64 only
        names.append(_named(row["nvsdm"], branch))
    return tuple(names), beside


def _imex(pool: NodePool, branch: DriverBranch) -> tuple[str, ...]:
    """Return the daemon for memory sharing between nodes (IMEX), for multi-node NVLink."""
    if pool.gpu.imex not in IMEX or branch.id < IMEX_FROM_BRANCH:
        return ()
    return (_named(_fabric_row(pool, branch)["imex"], branch),)


def _fabric_row(pool: NodePool, branch: DriverBranch) -> Mapping[str, Any]:
    table = _packages()["fabricPackages"]
    return _for_branch(table["rpm" if pool.host.os.is_dnf else "deb"], branch.id)


def _for_branch(rows: Iterable[Mapping[str, Any]], branch: int) -> Mapping[str, Any]:
    return next(
        row
        for row in rows
        if row.get("minBranch", OLDEST) <= branch <= row.get("maxBranch", NEWEST)
    )


def _each(names: str | Iterable[str]) -> Iterable[str]:
    """Return names that a row gives, one or several."""
    return (names,) if isinstance(names, str) else names


def _all_named(patterns: str | Iterable[str], branch: DriverBranch) -> tuple[str, ...]:
    return tuple(_named(each, branch) for each in _each(patterns))


def _named(pattern: str, branch: DriverBranch) -> str:
    return pattern.replace("{branch}", str(branch.id))


def _table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = _packages()["driverPackages"][name]
    return table


@cache
def _packages() -> dict[str, Any]:
    return reading.table("packages")
