"""Checks of DCGM on the hosts."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.dcgm import cuda_major
from gpugen.hosts.places import host_setting
from gpugen.kube import exporters
from gpugen.model.finding import Severity
from gpugen.model.host_services import Dcgm, DcgmMode
from gpugen.model.spec import ClusterSpec, NodePool


def _pools(spec: ClusterSpec, mode: DcgmMode) -> Iterator[tuple[NodePool, Dcgm]]:
    for pool in spec.pools:
        if pool.host.dcgm is not None and pool.host.dcgm.mode is mode:
            yield pool, pool.host.dcgm


@check("dcgm-without-version", "DCG-01")
def without_version(spec: ClusterSpec) -> Iterator[Problem]:
    """DCGM's host engine is installed at an exact version, which the spec must state."""
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if not dcgm.version:
            yield Problem(
                at=dcgm.at,
                message=f"pool {POOL} runs DCGM's host engine, but states no version",
                hint='write dcgm: {version: "4.5.3"}, or the version that your repository has',
                pool=pool.name,
            )


@check("dcgm-version-without-engine", "DCG-02")
def version_without_engine(spec: ClusterSpec) -> Iterator[Problem]:
    """Where DCGM's service is masked nothing is installed, so version has no effect."""
    for pool, dcgm in _pools(spec, DcgmMode.MASKED):
        if dcgm.version:
            yield Problem(
                at=host_setting(spec, pool, "dcgm", "version"),
                message=f"pool {POOL} masks DCGM's service, so version has no effect",
                hint="remove the version, or write mode: host",
                pool=pool.name,
            )


@check("dcgm-driver-unknown", "DCG-01")
def driver_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """The name of DCGM's package depends on the CUDA version of the driver, which must be known."""
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if not cuda_major(pool):
            yield Problem(
                at=dcgm.at,
                message=f"the DCGM package of pool {POOL} depends on the driver's CUDA version,"
                " which is not known for driver"
                f" {pool.host.driver.version or '(not stated)'}",
                hint="state a driver version whose CUDA version the catalogue knows "
                "('gpugen catalog drivers')",
                pool=pool.name,
            )


@check("dcgm-not-for-this-system", severity=Severity.WARNING)
def not_for_this_system(spec: ClusterSpec) -> Iterator[Problem]:
    """NVIDIA supports DCGM 4 on some operating systems; elsewhere packages may be missing.

    Source: docs.nvidia.com/datacenter/dcgm (installation, 4.x).
    """
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if pool.host.os.is_listed_for_dcgm4 is False:
            yield Problem(
                at=dcgm.at,
                message=f"DCGM 4 is not listed for {pool.host.os.id}, the operating system of"
                f" pool {POOL}",
                hint="make sure that the hosts' repositories have its packages, or remove dcgm",
                pool=pool.name,
            )


@check("dcgm-engine-not-the-exporters", severity=Severity.WARNING, component=exporters.NAME)
def not_the_exporters(spec: ClusterSpec) -> Iterator[Problem]:
    """The exporter is tested with one version of DCGM, the first part of its image's tag.

    Source: docs.nvidia.com/datacenter/dcgm, installation of the exporter, version compatibility.
    """
    paired = spec.release.images[exporters.NAME].tag.partition("-")[0]
    for pool, dcgm in _pools(spec, DcgmMode.HOST):
        if dcgm.version and dcgm.version != paired:
            yield Problem(
                at=host_setting(spec, pool, "dcgm", "version"),
                message=f"the exporter of release {spec.release.id} is paired with DCGM {paired}; "
                f"pool {POOL} runs host engine {dcgm.version}",
                hint=f'write version: "{paired}" if your repository has it',
                pool=pool.name,
            )
