"""Checks of what MIG needs on hosts: drivers, and GPU models that need preparation."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.gpu import mig
from gpugen.hosts.places import host_setting
from gpugen.model.catalog import MigGeometry
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text.versions import is_older, parts


@check("mig-needs-newer-driver", "GG-11")
def needs_driver(spec: ClusterSpec) -> Iterator[Problem]:
    """MIG on this GPU model, or this profile, needs a newer driver.

    Source: MIG user guide v620.
    """
    for pool in spec.pools:
        geometry, version = pool.gpu.geometry, pool.host.driver.version
        if not pool.mig.has_instances or geometry is None or not version:
            continue
        late = [
            (floor, what)
            for floor, what in _floors(pool, geometry)
            if is_older(version, floor) and not _is_said(pool, version, floor)
        ]
        if late:
            floor, what = max(late, key=lambda item: parts(item[0]))
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"{what} on {pool.gpu.id} needs driver {floor} or newer; pool {POOL}"
                f" has {version}",
                hint="use a newer driver for this pool",
                pool=pool.name,
            )


def _is_said(pool: NodePool, version: str, floor: str) -> bool:
    """Tell whether the driver that the GPU model itself needs is new enough for MIG."""
    gpu = pool.gpu
    own = gpu.min_driver or str(gpu.min_branch or 0)
    return is_older(version, own) and not is_older(own, floor)


def _floors(pool: NodePool, geometry: MigGeometry) -> Iterator[tuple[str, str]]:
    """List the oldest drivers for what the pool's MIG layout needs, and what each is for."""
    for floor in (geometry.min_driver, pool.gpu.mig_min_driver):
        if floor:
            yield floor, "MIG"
    for name in sorted({name for entry in pool.mig.layout for name in entry.profiles}):
        instances = mig.gpu_instances(geometry, {name: 1})
        for instance in () if isinstance(instances, mig.Refusal) else instances:
            branch = geometry.profiles[instance].min_branch
            if branch is not None:
                yield str(branch), f"profile {name}"


@check("mig-driver-without-mig", "GG-11")
def driver_without_mig(spec: ClusterSpec) -> Iterator[Problem]:
    """MIG is broken in this driver version on this GPU model. Source: its row in the catalogue."""
    for pool in spec.pools:
        version = pool.host.driver.version
        if pool.mig.has_instances and version in pool.gpu.mig_excluded_drivers:
            yield Problem(
                at=host_setting(spec, pool, "driver", "version"),
                message=f"driver {version} has no MIG on {pool.gpu.id}",
                hint="choose another version for this pool",
                pool=pool.name,
            )


@check("mig-board-needs-preparation", severity=Severity.WARNING)
def preparation(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model has MIG only after a preparation that gpugen does not do.

    Source: its row in the catalogue.
    """
    for pool in spec.pools:
        gpu = pool.gpu
        needs = [gpu.mig_needs, f"VBIOS {gpu.mig_min_vbios} or newer" if gpu.mig_min_vbios else ""]
        if pool.mig.has_instances and any(needs):
            yield Problem(
                at=pool.mig.at,
                message=f"MIG on {gpu.id} needs {' and '.join(filter(None, needs))}",
                hint="prepare the hosts by hand first; see 'gpugen catalog gpus " + gpu.id + "'",
                pool=pool.name,
            )
