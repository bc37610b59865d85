"""The MIG boot service of hosts: applies the MIG layout of pools with manager: host.

One owner per host (MIG-01): in pools with manager: cluster the same role makes sure that there is
no boot service. The layouts are byte for byte those of the cluster's manager. Source:
NVIDIA/mig-parted v0.14.5, deployments/systemd.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components import Component
from gpugen.model.assembly import Contribution
from gpugen.model.spec import ClusterSpec, MigManager, NodePool

ROLE = "nvidia_mig"
RELEASED_AS = "mig-manager"  # the image of the same project, in the release's row


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role and, for every pool with MIG, its layout and what applies it."""
    return Contribution(
        host_variables={pool.name: _variables(spec, pool) for pool in spec.pools},
        cluster_variables={"nvidia_mig_manager": "none"},
        roles=(ROLE,),
    )


def is_cut_by_host(pool: NodePool) -> bool:
    """Tell whether the boot service of the pool's hosts applies a MIG layout."""
    return pool.mig.manager is MigManager.HOST and bool(pool.prediction.mig_config_name)


def version(spec: ClusterSpec, pool: NodePool) -> str:
    """Return the version of the package: the stated one, else the release's."""
    if pool.host.mig_service is not None:
        return pool.host.mig_service.version
    return spec.release.images[RELEASED_AS].tag.removeprefix("v")


def _variables(spec: ClusterSpec, pool: NodePool) -> dict[str, Any]:
    name = pool.prediction.mig_config_name
    if not name:
        return {}
    if pool.mig.manager is MigManager.CLUSTER:
        return {"nvidia_mig_manager": "cluster"}
    major, minor = pool.gpu.compute_capability
    return {
        "nvidia_mig_manager": "host",
        "nvidia_mig_version": version(spec, pool),
        "nvidia_mig_config": name,
        "nvidia_mig_layouts": kube.to_yaml(pool.prediction.mig_config),
        "nvidia_mig_compute_capability": f"{major}.{minor}",
        "nvidia_mig_kubelet_root": spec.kubernetes.distribution.kubelet_root,
        "nvidia_mig_can_drain": bool(spec.access.kubeconfig_context),
    }


COMPONENT = Component(contribute)
