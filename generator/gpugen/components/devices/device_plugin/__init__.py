"""NVIDIA's device plugin: one DaemonSet and one configuration per pool, no config-manager.

No probe: the program serves none, and it exits if it cannot start. No token: only the
config-manager would need the API server. Source: k8s-device-plugin v0.19.3,
cmd/nvidia-device-plugin and
deployments/helm/nvidia-device-plugin/templates/daemonset-device-plugin.yml.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components import Component
from gpugen.components.devices import plugin
from gpugen.kube import gpu_access
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import DevicePlugin
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

NAME = "device-plugin"
APP = "nvidia-device-plugin-daemonset"  # the MIG manager waits for pods with this label
KUBELET_SOCKETS = (
    "/var/lib/kubelet/device-plugins"  # fixed in the program, whatever the host's path
)
HOST_DRIVER_ROOT = "/"


def contribute(spec: ClusterSpec, options: DevicePlugin) -> Contribution:
    """Return the plugin of every pool."""
    return Contribution(
        objects=tuple(
            Placed(Wave.DEVICES, item, pool.name)
            for pool in spec.pools
            for item in _agent(spec, pool, options)
        ),
        initial_labels={pool.name: gpu_access.pause_label(pool, NAME) for pool in spec.pools},
    )


def _agent(spec: ClusterSpec, pool: NodePool, options: DevicePlugin) -> tuple[KubeObject, ...]:
    config = plugin.plugin_config(NAME, spec, pool)
    volumes, mounts = _volumes(spec, pool)
    container = {
        "name": NAME,
        "image": plugin.image(spec, NAME),
        "command": ["nvidia-device-plugin"],
        "env": _environment(pool, options),
        "securityContext": _security(spec, pool, options),
        "volumeMounts": [kube.mount("config", plugin.CONFIG_MOUNT, read_only=True), *mounts],
        **kube.resources(spec, options.resources, "10m", "32Mi"),
    }
    daemon_set = kube.node_agent(
        spec,
        kube.Agent(
            NAME,
            pool,
            containers=[container],
            volumes=[config.volume, *volumes],
            app=APP if gpu_access.is_paused_for_mig(pool) else "",
            runtime_class=True,
            checksum=config.checksum,
            extra_node_selector=gpu_access.pause_label(pool, NAME),
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )
    return config.config_map, daemon_set


def _environment(pool: NodePool, options: DevicePlugin) -> list[dict[str, Any]]:
    """Return what the file cannot state; the environment would override the file."""
    passed = [{"name": "PASS_DEVICE_SPECS", "value": "true"}] if options.pass_device_specs else []
    config = kube.env(CONFIG_FILE=plugin.CONFIG_FILE)
    return [*config, *passed, *gpu_access.environment(pool)]


def _security(spec: ClusterSpec, pool: NodePool, options: DevicePlugin) -> dict[str, Any]:
    """Return the privileges; passing device nodes to the kubelet needs all of them."""
    return {"privileged": True} if options.pass_device_specs else gpu_access.security(spec, pool)


def _volumes(
    spec: ClusterSpec, pool: NodePool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the host paths that this pool's configuration makes the plugin use, and mounts.

    MPS: the plugin checks the daemon's health. CDI: it writes a specification for the runtime, from
    the host's driver files.
    """
    sockets = f"{spec.kubernetes.distribution.kubelet_root}/device-plugins"
    volumes = [kube.host_path("kubelet-sockets", sockets, "Directory")]
    mounts = [kube.mount("kubelet-sockets", KUBELET_SOCKETS)]
    if pool.sharing.mode is SharingMode.MPS:
        volumes += plugin.mps_volumes()
        mounts += plugin.mps_mounts()
    if any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy):
        volumes += [
            kube.host_path("cdi", "/var/run/cdi", "DirectoryOrCreate"),
            kube.host_path("driver-root", HOST_DRIVER_ROOT, "Directory"),
        ]
        mounts += [
            kube.mount("cdi", "/var/run/cdi"),
            kube.mount("driver-root", "/driver-root", read_only=True),
        ]
    return volumes, mounts


COMPONENT = Component(contribute, DevicePlugin)
