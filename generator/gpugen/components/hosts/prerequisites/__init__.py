"""What a GPU host needs before the driver: repositories, kernel headers, no driver auto-updates.

Its role also validates the host: operating system, and its PCI GPUs against those of the pool.
"""

from __future__ import annotations

from typing import Any

from gpugen.catalog.packages import package_sources
from gpugen.components import Component
from gpugen.model.assembly import Contribution, Expression
from gpugen.model.driver import DriverMethod
from gpugen.model.spec import ClusterSpec, NodePool

ROLE = "gpu_prerequisites"
KEY_FOLDER = "gpu_prerequisites_key_folder"  # beside the inventory: plays lie in the collection
BUILDS_MODULES = (DriverMethod.VENDOR, DriverMethod.DISTRO, DriverMethod.RUNFILE)


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role and, for every pool, what it checks and installs."""
    return Contribution(
        host_variables={
            pool.name: {**_variables(pool), **_recommends(spec, pool)} for pool in spec.pools
        },
        expressions={KEY_FOLDER: Expression("{{ inventory_dir | dirname }}/files")},
        roles=(ROLE,),
    )


def _variables(pool: NodePool) -> dict[str, Any]:
    return {
        "gpu_prerequisites_os": pool.host.os.id,
        "gpu_prerequisites_architecture": pool.host.architecture,
        "gpu_prerequisites_gpu_count": pool.gpu_count,
        "gpu_prerequisites_gpu_devices": list(pool.gpu.pci_devices),
        "gpu_prerequisites_headers": pool.host.driver.method in BUILDS_MODULES,
        "gpu_prerequisites_allow_kernel_change": pool.host.allow_kernel_change,
        "gpu_prerequisites_hold_kernel_updates": _holds_kernels(pool),
        "gpu_prerequisites_repositories": _repositories(pool),
        **_header_packages(pool),
    }


def _recommends(spec: ClusterSpec, pool: NodePool) -> dict[str, bool]:
    """Return settings that skip recommended packages, if the release is compute-only."""
    is_lean = spec.release.features.packages == "compute-only" and not pool.host.os.is_dnf
    return {"gpu_prerequisites_install_recommends": False} if is_lean else {}


def _holds_kernels(pool: NodePool) -> bool:
    """Tell whether kernels are held: a new one would have no prebuilt modules."""
    is_built = pool.host.driver.method is DriverMethod.PRECOMPILED
    return is_built and not pool.host.allow_kernel_change


def _header_packages(pool: NodePool) -> dict[str, list[str]]:
    """Return the packages of kernel headers; in the Debian family the kernel's name tells."""
    system = pool.host.os
    return {"gpu_prerequisites_header_packages": list(system.headers)} if system.is_dnf else {}


def _repositories(pool: NodePool) -> list[dict[str, Any]]:
    """Return the pool's package repositories; signedMetadata is for dnf only."""
    signs = pool.host.os.is_dnf
    return [
        {
            "name": source.name,
            "uri": source.uri,
            "key": source.key_file,
            "fingerprint": source.fingerprint,
            **({} if source.signs_packages or not signs else {"signed_packages": False}),
            **({"signed_metadata": True} if source.signs_metadata and signs else {}),
        }
        for source in package_sources(pool)
    ]


COMPONENT = Component(contribute)
