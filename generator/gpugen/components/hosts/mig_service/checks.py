"""Checks of the boot service that applies MIG layouts on hosts."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.catalog.packages import package_sources
from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.mig_service import is_cut_by_host, version
from gpugen.hosts.places import host_setting
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec
from gpugen.text.versions import is_older

OLDEST = "0.14.5"


@check("mig-service-too-old", "MIG-03")
def too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """Older versions of the boot service lose the MIG layout at a reboot, or can hang the boot.

    Source: NVIDIA/mig-parted CHANGELOG.md, 0.14.2 to 0.14.5.
    """
    for pool in spec.pools:
        if is_cut_by_host(pool) and is_older(version(spec, pool), OLDEST):
            yield Problem(
                at=host_setting(spec, pool, "migManager", "version"),
                message=f"the MIG layout of pool {POOL} is applied by nvidia-mig-manager"
                f" {version(spec, pool)}, which before {OLDEST} may lose the layout at a"
                " reboot, or hang",
                hint=f'write migManager: {{version: "{OLDEST}"}} or newer, or remove migManager',
                pool=pool.name,
            )


@check("mig-service-without-work")
def without_work(spec: ClusterSpec) -> Iterator[Problem]:
    """The version of the boot service is stated, but none of the hosts use the service."""
    stated = [pool for pool in spec.pools if pool.host.mig_service is not None]
    places = {host_setting(spec, pool, "migManager") for pool in stated if is_cut_by_host(pool)}
    for pool in stated:
        place = host_setting(spec, pool, "migManager")
        if place not in places:
            places.add(place)
            yield Problem(
                at=place,
                message="migManager has no effect: none of its pools has a mig.layout with"
                " manager: host",
                hint="remove it, or write manager: host under a pool's mig",
                pool=pool.name,
            )


@check("mig-service-package-elsewhere", severity=Severity.WARNING)
def package_elsewhere(spec: ClusterSpec) -> Iterator[Problem]:
    """NVIDIA's package repositories do not have nvidia-mig-manager; the project's releases do.

    The play stops on a host none of whose repositories have the package. Source: NVIDIA/mig-parted,
    releases: deb, rpm and tarball per architecture.
    """
    for pool in spec.pools:
        sources = package_sources(pool)
        if not is_cut_by_host(pool) or any(not _is_vendors(source.uri) for source in sources):
            continue
        carried = "which NVIDIA's package repositories do not have"
        yield Problem(
            at=pool.mig.at,
            message=f"hosts of pool {POOL} need the package nvidia-mig-manager"
            f" {version(spec, pool)}, {carried if sources else 'and no repository is stated'}",
            hint="put the package of the project's releases into a mirror, and write"
            " repositories: {baseURL: https://packages.example, keyFile: keys/packages.asc,"
            " fingerprint: <40 hex digits>}, or into a repository that these hosts have"
            " configured; or write mig: {manager: cluster}",
            pool=pool.name,
        )


def _is_vendors(uri: str) -> bool:
    return uri.startswith(VENDORS)


VENDORS = ("https://developer.download.nvidia.", "https://nvidia.github.io/")
