"""Checks of DCGM on the hosts."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.dcgm import cuda_major
from gpugen.gpu import metrics
from gpugen.hosts.places import host_setting
from gpugen.model.finding import Severity
from gpugen.model.host_services import Dcgm, DcgmMode
from gpugen.model.spec import ClusterSpec, NodePool


def _pools(spec: ClusterSpec, mode: DcgmMode) -> Iterator[tuple[NodePool, Dcgm]]:
    """Yield the pools with that mode, and what they state."""
    for pool in spec.pools:
        if pool.host.dcgm is not None and pool.host.dcgm.mode is mode:
            yield pool, pool.host.dcgm


@check("dcgm-without-version", "DCG-01")
def without_version(spec: ClusterSpec) -> Iterator[Problem]:
    """A host engine is installed at an exact version, which the spec states."""
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if not dcgm.version:
            yield Problem(
                at=dcgm.at,
                message=f"pool {POOL} is to run DCGM's host engine, of no stated version",
                hint='write dcgm: {version: "4.5.3"}, or the version that your repository offers',
                pool=pool.name,
            )


@check("dcgm-version-without-engine", "DCG-02")
def version_without_engine(spec: ClusterSpec) -> Iterator[Problem]:
    """A masked service needs no version: nothing is installed."""
    for pool, dcgm in _pools(spec, DcgmMode.MASKED):
        if dcgm.version:
            yield Problem(
                at=host_setting(spec, pool, "dcgm", "version"),
                message=f"pool {POOL} keeps DCGM's service off, so its version has no effect",
                hint="leave the version out, or write mode: host",
                pool=pool.name,
            )


@check("dcgm-driver-unknown", "DCG-01")
def driver_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """DCGM's packages follow the CUDA version of the driver, which must be known."""
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if not cuda_major(pool):
            yield Problem(
                at=dcgm.at,
                message=f"which DCGM package pool {POOL} takes depends on its driver's CUDA "
                f"version, and that of driver {pool.host.driver.version or 'unknown'} is not known",
                hint="state a driver version whose CUDA version the catalogue knows "
                "('gpugen catalog drivers')",
                pool=pool.name,
            )


@check("dcgm-not-for-this-system", severity=Severity.WARNING)
def not_for_this_system(spec: ClusterSpec) -> Iterator[Problem]:
    """NVIDIA lists DCGM 4 for some systems; elsewhere a repository may not carry its packages.

    Source: docs.nvidia.com/datacenter/dcgm (installation, 4.x).
    """
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if pool.host.os.row.get("isListedForDcgm4") is False:
            yield Problem(
                at=dcgm.at,
                message=f"DCGM 4 is not listed for {pool.host.os.id}, the system of pool {POOL}",
                hint="see that the hosts' repositories carry its packages, or leave dcgm out",
                pool=pool.name,
            )


@check("dcgm-engine-not-the-exporters", severity=Severity.WARNING, component=metrics.EXPORTER)
def not_the_exporters(spec: ClusterSpec) -> Iterator[Problem]:
    """The exporter is tested with one version of DCGM; its image names it first.

    Source: docs.nvidia.com/datacenter/dcgm, installation of the exporter, version compatibility.
    """
    paired = spec.release.images[metrics.EXPORTER]["tag"].partition("-")[0]
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if dcgm.version and dcgm.version != paired:
            yield Problem(
                at=host_setting(spec, pool, "dcgm", "version"),
                message=f"the exporter of release {spec.release.id} is paired with DCGM {paired}; "
                f"pool {POOL} runs host engine {dcgm.version}",
                hint=f'write version: "{paired}" where your repository offers it',
                pool=pool.name,
            )
