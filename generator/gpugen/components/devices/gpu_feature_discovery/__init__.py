"""GPU feature discovery: one DaemonSet per pool, which labels nodes by NodeFeature objects.

It reads the plugin's configuration, so that labels and resources agree. It writes one NodeFeature
in its own namespace and reads its own pod to be the object's owner; the node itself is written by
node feature discovery. No features.d: that was used before NodeFeature. No probe: the program
serves none. Source: k8s-device-plugin v0.19.3, cmd/gpu-feature-discovery, internal/lm/output.go
(get, create, update of nodefeatures, get of pods) and daemonset-gfd.yml of the chart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpugen import kube
from gpugen.components import Component
from gpugen.components.devices import plugin
from gpugen.kube import gpu_access
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import Resources
from gpugen.model.spec import ClusterSpec, NodePool

NAME = "gpu-feature-discovery"


class Options(NamedTuple):
    """What a spec may say of GPU feature discovery."""

    sleep_interval: str
    vgpu_labels: bool
    resources: Resources
    annotations: Mapping[str, str]
    max_unavailable: int | str


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return GPU feature discovery of every pool and its rights."""
    agents = (
        Placed(Wave.DEVICES, item, pool.name)
        for pool in spec.pools
        for item in _agent(spec, pool, options)
    )
    return Contribution(
        objects=(*(Placed(Wave.DEVICES, item) for item in _rights(spec)), *agents),
        initial_labels={pool.name: gpu_access.pause_label(pool, NAME) for pool in spec.pools},
    )


def _rights(spec: ClusterSpec) -> tuple[KubeObject, ...]:
    namespace = spec.namespaces.agents
    rules = [
        kube.rule(["nfd.k8s-sigs.io"], ["nodefeatures"], ["get", "create", "update"]),
        kube.rule([""], ["pods"], ["get"]),
    ]
    return (
        kube.service_account(NAME, namespace),
        kube.role(NAME, namespace, rules),
        kube.role_binding(NAME, namespace, NAME, NAME),
    )


def _agent(spec: ClusterSpec, pool: NodePool, options: Options) -> tuple[KubeObject, ...]:
    config = plugin.plugin_config(NAME, spec, pool)
    container = {
        "name": NAME,
        "image": plugin.image(spec, NAME),
        "command": ["gpu-feature-discovery"],
        "env": [
            kube.field_env("NODE_NAME", "spec.nodeName"),
            kube.field_env("NAMESPACE", "metadata.namespace"),
            kube.field_env("POD_NAME", "metadata.name"),
            *kube.env(CONFIG_FILE=plugin.CONFIG_FILE, GFD_SLEEP_INTERVAL=options.sleep_interval),
            *gpu_access.environment(pool),
        ],
        "securityContext": gpu_access.security(spec, pool, is_admin=options.vgpu_labels),
        "volumeMounts": [
            kube.mount("config", plugin.CONFIG_MOUNT, read_only=True),
            kube.mount("host-sys", "/sys", read_only=True),
        ],
        **kube.resources(spec, options.resources, "10m", "32Mi"),
    }
    daemon_set = kube.node_agent(
        spec,
        kube.Agent(
            NAME,
            pool,
            containers=[container],
            volumes=[config.volume, kube.host_path("host-sys", "/sys", "Directory")],
            service_account=NAME,
            app=NAME if gpu_access.is_paused_for_mig(pool) else "",
            runtime_class=True,
            checksum=config.checksum,
            extra_node_selector=gpu_access.pause_label(pool, NAME),
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )
    return config.config_map, daemon_set


COMPONENT = Component(contribute, Options)
