"""The MPS control daemon, on the nodes of pools that share by MPS.

It selects the pool, not nvidia.com/mps.capable, which GPU feature discovery sets a minute later.
Privileged, because it sets the compute mode of GPUs and mounts a shared memory of its own for
clients; in the host's PID namespace, because the MPS server looks itself up there. It gets no MPS
root: its paths below /mps are fixed, and the host path behind them is the plugin's. Source:
k8s-device-plugin v0.19.3, cmd/mps-control-daemon and daemonset-mps-control-daemon.yml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpugen import kube
from gpugen.components import Component, stacks
from gpugen.components.devices import plugin
from gpugen.kube import gpu_access
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import Resources
from gpugen.model.spec import ClusterSpec, NodePool

NAME = "mps-control-daemon"


class Options(NamedTuple):
    """What a spec may say of the MPS control daemon."""

    resources: Resources
    annotations: Mapping[str, str]
    max_unavailable: int | str


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return the daemon of every pool that shares by MPS."""
    return Contribution(
        tuple(
            Placed(Wave.DEVICES, item, pool.name)
            for pool in stacks.pools(spec, NAME)
            for item in _agent(spec, pool, options)
        )
    )


def _agent(spec: ClusterSpec, pool: NodePool, options: Options) -> tuple[KubeObject, ...]:
    config = plugin.plugin_config(NAME, spec, pool)
    daemon = {
        **_container(NAME, [NAME], spec, options),
        "env": [*kube.env(CONFIG_FILE=plugin.CONFIG_FILE), *gpu_access.environment(pool)],
        "volumeMounts": [
            kube.mount("config", plugin.CONFIG_MOUNT, read_only=True),
            *plugin.mps_mounts(),
        ],
    }
    shared_memory = {
        **_container("mount-shm", [NAME, "mount-shm"], spec, options),
        "volumeMounts": [kube.mount("mps-root", "/mps", propagation="Bidirectional")],
    }
    daemon_set = kube.node_agent(
        spec,
        kube.Agent(
            NAME,
            pool,
            init_containers=[shared_memory],
            containers=[daemon],
            volumes=[config.volume, *plugin.mps_volumes()],
            host_pid=True,
            runtime_class=True,
            checksum=config.checksum,
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )
    return config.config_map, daemon_set


def _container(
    name: str, command: list[str], spec: ClusterSpec, options: Options
) -> dict[str, Any]:
    return {
        "name": name,
        "image": plugin.image(spec, NAME),
        "command": command,
        "securityContext": {"privileged": True},
        **kube.resources(spec, options.resources, "10m", "32Mi"),
    }


COMPONENT = Component(contribute, Options)
