"""How an agent of ours comes to see a node's GPUs: environment, privileges, configuration, pauses.

Source: k8s-device-plugin v0.19.3, deployments/helm/nvidia-device-plugin (_helpers.tpl: a container
gets SYS_ADMIN where MIG is possible or devices are listed by volume mounts, else nothing).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugen import kube
from gpugen.gpu.prediction import MPS_ROOT
from gpugen.model.assembly import KubeObject
from gpugen.model.options import DevicePlugin
from gpugen.model.spec import ClusterSpec, MigManager, MigStrategy, NodePool

CONFIG_FILE = "/config/config.yaml"
CONFIG_MOUNT = "/config"


def sees_mig(pool: NodePool) -> bool:
    """Tell whether GPUs of the pool may carry MIG instances."""
    return pool.mig.strategy is not MigStrategy.NONE or bool(pool.mig.layout)


def environment(pool: NodePool) -> list[dict[str, Any]]:
    """Return what makes the container runtime hand all GPUs to the container.

    Monitoring MIG devices is granted by the runtime only together with SYS_ADMIN.
    """
    values = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    if sees_mig(pool):
        values["NVIDIA_MIG_MONITOR_DEVICES"] = "all"
    return kube.env(**values)


def security(spec: ClusterSpec, pool: NodePool, *, is_admin: bool = False) -> dict[str, Any]:
    """Return the least with which the container still sees the GPUs.

    With volume mounts as list strategy the runtime hands out devices by the environment only to
    containers that have SYS_ADMIN. is_admin: the program itself needs it.
    """
    needs_admin = is_admin or sees_mig(pool) or "volume-mounts" in spec.device_list_strategy
    return kube.confined_security(*(["SYS_ADMIN"] if needs_admin else []))


def is_paused_for_mig(pool: NodePool) -> bool:
    """Tell whether the cluster's MIG manager pauses the pool's agents while it cuts the GPUs."""
    return pool.mig.manager is MigManager.CLUSTER and bool(pool.prediction.mig_config_name)


def pause_label(pool: NodePool, agent: str) -> dict[str, str]:
    """Return the node label by which the MIG manager pauses an agent; empty where it does not.

    Source: mig-parted, pkg/mig/reconfigure: the manager sets it to paused-for-mig-change.
    """
    return {f"nvidia.com/gpu.deploy.{agent}": "true"} if is_paused_for_mig(pool) else {}


class PluginConfig(NamedTuple):
    """The one file that an agent reads, as ConfigMap, as volume, and as checksum of its text."""

    config_map: KubeObject
    volume: dict[str, Any]
    checksum: str


def plugin_config(name: str, spec: ClusterSpec, pool: NodePool) -> PluginConfig:
    """Return the pool's plugin configuration for one agent, to be mounted at CONFIG_MOUNT.

    Plugin, GFD and MPS daemon read the same text, so labels and resources cannot disagree.
    """
    text = kube.to_yaml(pool.prediction.plugin_config)
    labels = {kube.NAME_LABEL: name, kube.POOL_LABEL: pool.name}
    config_map = kube.config_map(
        f"{name}-{pool.name}", spec.namespaces.agents, {"config.yaml": text}, labels=labels
    )
    volume = kube.config_volume("config", config_map["metadata"]["name"])
    return PluginConfig(config_map, volume, kube.checksum(text))


def mps_volumes() -> list[dict[str, Any]]:
    """Return the host folders by which plugin, daemon and clients of MPS meet.

    The daemon mounts its shared memory at shm; without a type nothing is asked of that path.
    """
    return [
        kube.host_path("mps-root", MPS_ROOT, "DirectoryOrCreate"),
        kube.host_path("mps-shm", f"{MPS_ROOT}/shm"),
    ]


def mps_mounts() -> list[dict[str, Any]]:
    """Return where plugin and daemon look for those folders; fixed in the programs."""
    return [kube.mount("mps-root", "/mps"), kube.mount("mps-shm", "/dev/shm")]  # noqa: S108


def image(spec: ClusterSpec, component: str) -> str:
    """Return the image of the plugin, GFD or the MPS daemon, which are one image.

    A version chosen for the plugin holds for all three: they must agree on names.
    """
    plugin = spec.find(DevicePlugin)
    return kube.image(spec, component, version=plugin.version if plugin else "")
