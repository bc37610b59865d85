"""Names of the packages that make up a driver, from the catalogue's rows; never glued here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from gpugen.catalog import reading
from gpugen.model.catalog import DriverBranch
from gpugen.model.record import record
from gpugen.model.spec import NodePool

OLDEST, NEWEST = 0, 100_000  # branches, where a row leaves its end open
NO_SWITCHES = ("never", "never-on-single-node", "switch-trays-only")


@record
class Names:
    """Package names of one pool.

    driver, fabric: at the driver's exact version; fabric only where NVSwitches are found. nvlink5:
    with versions of their own, for boards whose switches hide behind InfiniBand.
    """

    driver: tuple[str, ...]
    fabric: tuple[str, ...]
    nvlink5: tuple[str, ...]


def package_names(pool: NodePool, branch: DriverBranch, *, is_open: bool) -> Names:
    """Return what the pool's hosts install. Raises KeyError: the catalogue names no package."""
    row = pool.host.os.row
    rows = _packages()["driverPackages"][row["driverPackages"]]["byBranch"]
    flavour = "open" if is_open else "proprietary"
    driver = tuple(_named(each, branch) for each in _each(_for_branch(rows, branch.id)[flavour]))
    if pool.gpu.fabric_manager in NO_SWITCHES:
        return Names(driver, (), ())
    return Names(driver, *_fabric(pool, branch))


def module_stream(pool: NodePool, branch: DriverBranch, *, is_open: bool) -> str:
    """Return module and stream of the driver; empty where the system has no module streams."""
    row = pool.host.os.row
    if not row.get("moduleStreams", False):
        return ""
    streams = _packages()["driverPackages"][row["driverPackages"]]["streams"]
    return _named(streams["openBranch" if is_open else "proprietaryBranch"], branch)


def _fabric(pool: NodePool, branch: DriverBranch) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fabric manager's set for NVSwitch boards, and what NVLink 5 needs beside it."""
    table = _packages()["fabricPackages"]
    is_rpm = pool.host.os.row.get("packageModule") == "dnf"
    row = _for_branch(table["rpm" if is_rpm else "deb"], branch.id)
    beside = (*table["nvlink5"]["packages"], *(table["nvlink5"]["rpmAlso"] if is_rpm else ()))
    if not pool.gpu.needs_nvlsm:
        return (_named(row["fabricManager"], branch), _named(row["nscq"], branch)), ()
    names = [_named(row["fabricManager"], branch)]
    if pool.host.architecture == "amd64":  # libnvsdm exists for amd64 only
        names.append(_named(row["nvsdm"], branch))
    return tuple(names), beside


def _for_branch(rows: Iterable[Mapping[str, Any]], branch: int) -> Mapping[str, Any]:
    return next(
        row
        for row in rows
        if row.get("minBranch", OLDEST) <= branch <= row.get("maxBranch", NEWEST)
    )


def _each(names: str | Iterable[str]) -> Iterable[str]:
    """Return names that a row gives, one or several."""
    return (names,) if isinstance(names, str) else names


def _named(pattern: str, branch: DriverBranch) -> str:
    return pattern.replace("{branch}", str(branch.id))


@cache
def _packages() -> dict[str, Any]:
    return reading.table("packages")
