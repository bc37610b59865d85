"""DCGM on the hosts: one engine per host, its service or the exporter's own.

Source: docs.nvidia.com/datacenter/dcgm (installation, 4.x), NVIDIA/DCGM v4 packaging.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gpugen.catalog import reading
from gpugen.components import Component
from gpugen.model.assembly import Contribution
from gpugen.model.host_services import DcgmMode
from gpugen.model.spec import ClusterSpec, NodePool

ROLE = "nvidia_dcgm"


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role and, for every pool that states one, the engine of its hosts."""
    return Contribution(
        host_variables={pool.name: _variables(pool) for pool in spec.pools},
        cluster_variables={"nvidia_dcgm_mode": "none"},
        roles=(ROLE,),
    )


def cuda_major(pool: NodePool) -> str:
    """Return the CUDA major version of the pool's driver for package names; empty: not known.

    A driver newer than all packages uses the newest.
    """
    branch = pool.host.driver.branch
    if branch is None or not branch.cuda:
        return ""
    major = int(branch.cuda.partition(".")[0])
    known: list[str] = [name for name in _packages()["byCudaMajor"] if int(name) <= major]
    return max(known, key=int, default="")


def _variables(pool: NodePool) -> dict[str, Any]:
    dcgm = pool.host.dcgm
    if dcgm is None:
        return {}
    major = cuda_major(pool)
    if dcgm.mode is DcgmMode.MASKED or not major:
        return {"nvidia_dcgm_mode": str(dcgm.mode)}
    names = _packages()
    return {
        "nvidia_dcgm_mode": str(dcgm.mode),
        "nvidia_dcgm_version": dcgm.version,
        "nvidia_dcgm_packages": [names["byCudaMajor"][major], names["core"]],
        "nvidia_dcgm_expected_gpus": pool.gpu_count,
    }


@cache
def _packages() -> dict[str, Any]:
    table: dict[str, Any] = reading.table("packages")["dcgm"]
    return table


COMPONENT = Component(contribute)
