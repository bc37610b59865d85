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
    driver = _named(_for_branch(rows, branch.id)[flavour], branch)
    if pool.gpu.fabric_manager in NO_SWITCHES:
        return Names((driver,), (), ())
    return Names((driver,), *_fabric(pool, branch))


def _fabric(pool: NodePool, branch: DriverBranch) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fabric manager's set for NVSwitch boards, and what NVLink 5 needs beside it."""
    table = _packages()["fabricPackages"]
    row = _for_branch(table["deb"], branch.id)
    if not pool.gpu.needs_nvlsm:
        return (_named(row["fabricManager"], branch), _named(row["nscq"], branch)), ()
    names = [_named(row["fabricManager"], branch)]
    if pool.host.architecture == "amd64":  # libnvsdm exists for amd64 only
        names.append(_named(row["nvsdm"], branch))
    return tuple(names), tuple(table["nvlink5"]["packages"])


def _for_branch(rows: Iterable[Mapping[str, Any]], branch: int) -> Mapping[str, Any]:
    return next(
        row
        for row in rows
        if row.get("minBranch", OLDEST) <= branch <= row.get("maxBranch", NEWEST)
    )


def _named(pattern: str, branch: DriverBranch) -> str:
    return pattern.replace("{branch}", str(branch.id))


@cache
def _packages() -> dict[str, Any]:
    return reading.table("packages")
