"""The MIG manager: applies the MIG layout that a node's label names.

Only for pools with manager: cluster. Its node labels have two owners: the host play sets
``nvidia.com/mig.config``; the manager changes ``nvidia.com/gpu.deploy.*`` while it works, so those
are only created if missing. Source: NVIDIA/mig-parted v0.14.5, cmd/nvidia-mig-manager/main.go,
pkg/mig/reconfigure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpugen import kube
from gpugen.components import Component, stacks
from gpugen.model.assembly import Contribution, Placed, Wave
from gpugen.model.options import Resources
from gpugen.model.spec import ClusterSpec, NodePool

NAME = "mig-manager"
CLUSTER_NAME = "gpugen-mig-manager"  # of objects without a namespace
CONFIG_LABEL = "nvidia.com/mig.config"
PAUSED_LABELS = tuple(  # the manager sets all five, whichever agents exist
    f"nvidia.com/gpu.deploy.{agent}"
    for agent in ("dcgm", "dcgm-exporter", "device-plugin", "gpu-feature-discovery", "nvsm")
)
CONFIG_FOLDER = "/mig-parted-config"
CLIENTS_FOLDER = "/gpu-clients"
HOST_ROOT = "/host"


class Options(NamedTuple):
    """What a spec may say of the MIG manager."""

    host_services: tuple[str, ...]
    reboot: bool
    resources: Resources
    annotations: Mapping[str, str]
    max_unavailable: int | str


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Add one manager per pool with its layout, and the labels that start and pause it."""
    pools = stacks.pools(spec, NAME)
    if not pools:
        return Contribution()
    clients = kube.to_yaml({"version": "v1", "systemd-services": list(options.host_services)})
    checksums = {pool.name: _checksum(pool, clients) for pool in pools}
    objects = [
        *_access(spec),
        Placed(
            Wave.DEVICES,
            kube.config_map("mig-gpu-clients", spec.namespaces.agents, {"clients.yaml": clients}),
        ),
    ]
    for pool in pools:
        layout = kube.to_yaml(pool.prediction.mig_config)
        config = kube.config_map(
            f"mig-config-{pool.name}", spec.namespaces.agents, {"config.yaml": layout}
        )
        agent = _agent(spec, pool, options, checksums[pool.name])
        objects += [Placed(Wave.DEVICES, item, pool.name) for item in (config, agent)]
    return Contribution(
        objects=tuple(objects),
        node_labels={pool.name: {CONFIG_LABEL: pool.prediction.mig_config_name} for pool in pools},
        initial_labels={pool.name: dict.fromkeys(PAUSED_LABELS, "true") for pool in pools},
        host_variables={
            name: {"gpu_node_mig_checksum": checksum}
            for name, checksum in checksums.items()
            if spec.access.kubeconfig_context
        },
    )


def _checksum(pool: NodePool, clients: str) -> str:
    """Return the pool's configuration for its manager's pod."""
    return kube.checksum(kube.to_yaml(pool.prediction.mig_config), clients)


def _access(spec: ClusterSpec) -> list[Placed]:
    """Return the account and its rights.

    Upstream's sample allows everything. The program reads and labels its node and lists the pods
    that it waits for; it deletes only pods of the GPU Operator's validators, which do not exist
    here, and writes ConfigMaps only if it generates a layout itself.
    """
    namespace = spec.namespaces.agents
    nodes = kube.rule([""], ["nodes"], ["get", "list", "watch", "patch"])
    pods = kube.rule([""], ["pods"], ["list"])
    objects = (
        kube.service_account(NAME, namespace),
        kube.cluster_role(CLUSTER_NAME, [nodes]),
        kube.cluster_role_binding(CLUSTER_NAME, CLUSTER_NAME, NAME, namespace),
        kube.role(NAME, namespace, [pods]),
        kube.role_binding(NAME, namespace, NAME, NAME),
    )
    return [Placed(Wave.DEVICES, item) for item in objects]


def _agent(spec: ClusterSpec, pool: NodePool, options: Options, checksum: str) -> dict[str, Any]:
    """Return the manager's DaemonSet; it works in the host's root and needs no injected driver."""
    container = {
        "name": NAME,
        "image": kube.image(spec, NAME),
        "env": _environment(spec, options),
        "securityContext": {"privileged": True},
        "volumeMounts": [
            kube.mount("host-root", HOST_ROOT, propagation="HostToContainer"),
            kube.mount("host-sys", "/sys"),
            kube.mount("layout", CONFIG_FOLDER, read_only=True),
            kube.mount("gpu-clients", CLIENTS_FOLDER, read_only=True),
        ],
        **kube.resources(spec, options.resources, "10m", "64Mi"),
    }
    return kube.node_agent(
        spec,
        kube.Agent(
            NAME,
            pool,
            containers=[container],
            volumes=[
                kube.host_path("host-root", "/", "Directory"),
                kube.host_path("host-sys", "/sys", "Directory"),
                kube.config_volume("layout", f"mig-config-{pool.name}"),
                kube.config_volume("gpu-clients", "mig-gpu-clients"),
            ],
            service_account=NAME,
            host_pid=True,  # /proc in the host's root shows the program only there
            host_ipc=True,
            checksum=checksum,
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )


def _environment(spec: ClusterSpec, options: Options) -> list[dict[str, Any]]:
    """Return the environment; the driver is on the host, so the manager stops the host's clients.

    NVIDIA_VISIBLE_DEVICES: the image requests all GPUs, so with nvidia as default runtime its start
    would depend on the GPUs that are to be partitioned.
    """
    return [
        kube.field_env("NODE_NAME", "spec.nodeName"),
        *kube.env(
            CONFIG_FILE=f"{CONFIG_FOLDER}/config.yaml",
            GPU_CLIENTS_FILE=f"{CLIENTS_FOLDER}/clients.yaml",
            DEFAULT_GPU_CLIENTS_NAMESPACE=spec.namespaces.agents,
            HOST_ROOT_MOUNT=HOST_ROOT,
            HOST_NVIDIA_DIR="/usr/local/nvidia",
            HOST_KUBELET_SYSTEMD_SERVICE="kubelet.service",
            WITH_SHUTDOWN_HOST_GPU_CLIENTS="true",
            WITH_REBOOT="true" if options.reboot else "false",
            NVIDIA_VISIBLE_DEVICES="void",
        ),
    ]


COMPONENT = Component(contribute, Options)
