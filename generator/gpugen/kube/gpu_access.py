"""Access of agents to a node's GPUs: environment, privileges, configuration, pauses.

Source: k8s-device-plugin v0.19.3, deployments/helm/nvidia-device-plugin (_helpers.tpl: a container
gets SYS_ADMIN where MIG is possible or devices are listed by volume mounts, else nothing).
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.model.spec import ClusterSpec, MigManager, MigStrategy, NodePool


def sees_mig(pool: NodePool) -> bool:
    """Tell whether GPUs of the pool may have MIG instances."""
    return pool.mig.strategy is not MigStrategy.NONE or bool(pool.mig.layout)


def environment(pool: NodePool) -> list[dict[str, Any]]:
    """Return what makes the container runtime give all GPUs to the container.

    Monitoring MIG devices is granted by the runtime only together with SYS_ADMIN.
    """
    values = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    if sees_mig(pool):
        values["NVIDIA_MIG_MONITOR_DEVICES"] = "all"
    return kube.env(**values)


def security(spec: ClusterSpec, pool: NodePool, *, is_admin: bool = False) -> dict[str, Any]:
    """Return the least privileges with which the container still sees the GPUs.

    With volume-mounts as list strategy the runtime gives devices by the environment only to
    containers that have SYS_ADMIN. is_admin: the program itself needs it.
    """
    needs_admin = is_admin or sees_mig(pool) or "volume-mounts" in spec.device_list_strategy
    return kube.confined_security(*(["SYS_ADMIN"] if needs_admin else []))


def is_paused_for_mig(pool: NodePool) -> bool:
    """Tell whether the cluster's MIG manager pauses the pool's agents while it applies a layout."""
    return pool.mig.manager is MigManager.CLUSTER and bool(pool.prediction.mig_config_name)


def pause_label(pool: NodePool, agent: str) -> dict[str, str]:
    """Return the node label by which the MIG manager pauses an agent; empty if it does not.

    Source: mig-parted, pkg/mig/reconfigure: the manager sets it to paused-for-mig-change.
    """
    return {f"nvidia.com/gpu.deploy.{agent}": "true"} if is_paused_for_mig(pool) else {}
