"""What device plugin, GPU feature discovery and MPS daemon share: image, configuration, folders."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugen import kube
from gpugen.gpu.prediction import MPS_ROOT
from gpugen.model.assembly import KubeObject
from gpugen.model.options import DevicePlugin
from gpugen.model.spec import ClusterSpec, NodePool

CONFIG_FILE = "/config/config.yaml"
CONFIG_MOUNT = "/config"


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
