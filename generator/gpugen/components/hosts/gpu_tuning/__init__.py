"""Tuning of hosts: GPU settings, kernel command line, huge pages, limits; only stated ones."""

from __future__ import annotations

from typing import Any

from gpugen.components import Component
from gpugen.model.assembly import Contribution
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.model.tuning import Tuning

ROLE = "gpu_tuning"
WORDS = {True: "enabled", False: "disabled", None: ""}
UNTOUCHED: tuple[Any, ...] = (None, "", [])


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role, every pool's settings, and the units that hosts may have."""
    kubelet = spec.kubernetes.distribution.kubelet_unit
    runtimes = runtime_services(spec)
    return Contribution(
        host_variables={pool.name: _variables(pool) for pool in spec.pools},
        cluster_variables={
            f"{ROLE}_runtime_services": runtimes,
            # The kubelet is a unit of its own, or part of the unit that runs everything.
            f"{ROLE}_kubelet_services": [kubelet] if kubelet else runtimes,
        },
        roles=(ROLE,),
    )


def runtime_services(spec: ClusterSpec) -> list[str]:
    """List the units that may run the container runtime; the distribution's row names its own."""
    runtime = spec.kubernetes.distribution.runtime
    is_own = spec.kubernetes.container_runtime == runtime.name
    units = runtime.units if is_own else [spec.kubernetes.container_runtime]
    return [f"{unit}.service" for unit in units]


def _variables(pool: NodePool) -> dict[str, Any]:
    tuning = pool.host.tuning
    if tuning is None:
        return {}
    stated = {
        **_of_gpus(tuning),
        **_of_kernel(tuning),
        "memlock": tuning.memlock,
        "nofile": tuning.nofile,
    }
    return {f"{ROLE}_{name}": v for name, v in stated.items() if v not in UNTOUCHED}


def _of_gpus(tuning: Tuning) -> dict[str, Any]:
    return {
        "power_limit_watts": tuning.power_limit_watts,
        "locked_clocks_mhz": list(tuning.locked_clocks_mhz or ()),
        "ecc": WORDS[tuning.ecc],
        "compute_mode": tuning.compute_mode,
        "acs": tuning.acs,
        "gpu_direct_rdma": tuning.gpu_direct_rdma,
    }


def _of_kernel(tuning: Tuning) -> dict[str, Any]:
    return {
        "iommu": tuning.iommu,
        "hugepages_2mi": tuning.hugepages_2mi,
        "hugepages_1gi": tuning.hugepages_1gi,
        "numa_balancing": WORDS[tuning.numa_balancing],
    }


COMPONENT = Component(contribute)
