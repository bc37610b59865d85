"""NVIDIA's DCGM exporter: one DaemonSet and one list of metrics per pool, and one Service.

Root without capabilities: the kubelet's pod-resources socket belongs to root, and without it
metrics have no pod labels. SYS_ADMIN only for profiling counters, stated or with MIG instances.
Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2, pkg/cmd/app.go, internal/pkg/transformation, deployment/.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from gpugen import kube
from gpugen.components import Component
from gpugen.components.monitoring import metrics
from gpugen.kube import exporters, gpu_access
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import DcgmExporter
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text import templates

NAME = exporters.NAME
CLUSTER_NAME = f"gpugen-{NAME}"  # of objects without a namespace
APP = "nvidia-dcgm-exporter"  # the MIG manager waits for pods with this label
CSV_FOLDER = "/metrics-config"
WEB_FOLDER = "/etc/dcgm-exporter-web"
CSV_FILE = "counters.csv"
CSV_TEMPLATE = "components/monitoring/dcgm_exporter/counters.csv.j2"
HOST_ENGINE = "localhost:5555"  # it listens only there, so the pod uses the host's network
POD_RESOURCES = "/var/lib/kubelet/pod-resources"  # fixed in the program, whatever the host's path


class Counters(NamedTuple):
    """What the template of the list receives."""

    rows: tuple[metrics.Row, ...]


def contribute(spec: ClusterSpec, options: DcgmExporter) -> Contribution:
    """Return the exporter of every pool, their Service, and rights if needed."""
    once = [_service(spec)]
    if any(_asks_the_api(options, pool) for pool in spec.pools):
        once += _rights(spec)
    agents = (
        Placed(Wave.MONITORING, item, pool.name)
        for pool in spec.pools
        for item in _agent(spec, pool, options)
    )
    return Contribution(
        objects=(*(Placed(Wave.MONITORING, item) for item in once), *agents),
        initial_labels={pool.name: gpu_access.pause_label(pool, NAME) for pool in spec.pools},
    )


def csv(options: DcgmExporter, pool: NodePool) -> str:
    """Return the pool's list of metrics: three columns, no comma within one."""
    return templates.render(CSV_TEMPLATE, Counters(metrics.rows(options, pool)))


def _asks_the_api(options: DcgmExporter, pool: NodePool) -> bool:
    """Tell whether the pool's exporter reads pods; pod labels are for unshared pools only."""
    return bool(options.per_pod_usage if metrics.is_shared(pool) else options.pod_labels)


def _service(spec: ClusterSpec) -> KubeObject:
    """Return the headless Service by which Prometheus finds the exporters of all pools."""
    selector = {kube.NAME_LABEL: NAME}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": kube.metadata(NAME, namespace=spec.namespaces.agents, labels=selector),
        "spec": {
            "clusterIP": "None",
            "selector": selector,
            "ports": [
                {
                    "name": exporters.PORT_NAME,
                    "port": exporters.PORT,
                    "targetPort": exporters.PORT_NAME,
                    "protocol": "TCP",
                }
            ],
        },
    }


def _rights(spec: ClusterSpec) -> list[KubeObject]:
    """Return the account that watches pods; the program requests those of its own node."""
    namespace = spec.namespaces.agents
    return [
        kube.service_account(NAME, namespace),
        kube.cluster_role(CLUSTER_NAME, [kube.rule([""], ["pods"], ["list", "watch"])]),
        kube.cluster_role_binding(CLUSTER_NAME, CLUSTER_NAME, NAME, namespace),
    ]


def _agent(spec: ClusterSpec, pool: NodePool, options: DcgmExporter) -> tuple[KubeObject, ...]:
    text = csv(options, pool)
    labels = {kube.NAME_LABEL: NAME, kube.POOL_LABEL: pool.name}
    config = kube.config_map(
        f"{NAME}-{pool.name}", spec.namespaces.agents, {CSV_FILE: text}, labels=labels
    )
    sockets = f"{spec.kubernetes.distribution.kubelet_root}/pod-resources"
    daemon_set = kube.node_agent(
        spec,
        kube.Agent(
            NAME,
            pool,
            containers=[_container(spec, pool, options)],
            volumes=[
                kube.config_volume("metrics", config["metadata"]["name"]),
                kube.host_path("pod-resources", sockets, "Directory"),
                kube.empty_dir("tmp"),
                *([kube.secret_volume("web", web.secret)] if (web := options.web_config) else []),
            ],
            service_account=NAME if _asks_the_api(options, pool) else "",
            app=APP if gpu_access.is_paused_for_mig(pool) else "",
            host_pid=options.per_pod_usage and metrics.is_shared(pool),
            host_network=exporters.shares_host_network(spec, pool),
            runtime_class=True,
            checksum=kube.checksum(text),
            extra_node_selector=gpu_access.pause_label(pool, NAME),
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )
    return config, daemon_set


def _container(spec: ClusterSpec, pool: NodePool, options: DcgmExporter) -> dict[str, Any]:
    port: dict[str, Any] = {"name": exporters.PORT_NAME, "containerPort": exporters.PORT}
    if exporters.shares_host_network(spec, pool):  # the API server would add it
        port["hostPort"] = exporters.PORT
    web = options.web_config  # the kubelet has neither password nor certificate
    health: dict[str, Any] = {"httpGet": {"path": "/health", "port": exporters.PORT_NAME}}
    if web:
        health = {"tcpSocket": {"port": exporters.PORT_NAME}}
    return {
        "name": "exporter",
        "image": kube.image(spec, NAME),
        "env": _environment(spec, pool, options),
        "ports": [{**port, "protocol": "TCP"}],
        "startupProbe": {**health, "periodSeconds": 5, "failureThreshold": 36},
        "livenessProbe": {**health, "periodSeconds": 15, "timeoutSeconds": 5},
        "readinessProbe": {**health, "periodSeconds": 15, "timeoutSeconds": 5},
        "securityContext": _security(spec, pool, options),
        "volumeMounts": [
            kube.mount("metrics", CSV_FOLDER, read_only=True),
            kube.mount("pod-resources", POD_RESOURCES, read_only=True),
            kube.mount("tmp", "/tmp"),  # noqa: S108 a folder in the container
            *([kube.mount("web", WEB_FOLDER, read_only=True)] if web else []),
        ],
        **({"resources": options.resources} if options.resources else {}),
    }


def _security(spec: ClusterSpec, pool: NodePool, options: DcgmExporter) -> dict[str, Any]:
    """Return the least privileges; upstream's chart also gives SYS_ADMIN without escalation."""
    least = gpu_access.security(spec, pool, is_admin=metrics.has_profiling(options, pool))
    return {**least, "allowPrivilegeEscalation": False}


def _environment(spec: ClusterSpec, pool: NodePool, options: DcgmExporter) -> list[dict[str, Any]]:
    """Return the settings; resources under another name than the plugin's own must be listed.

    In the host's network it listens only on the node's address, not on every interface. Brackets
    are right for both families: Go takes them off before it reads the address.
    """
    in_host = exporters.shares_host_network(spec, pool)
    values = {
        "DCGM_EXPORTER_LISTEN": f"[$(HOST_IP)]:{exporters.PORT}"
        if in_host
        else f":{exporters.PORT}",
        "DCGM_EXPORTER_KUBERNETES": "true",
        "DCGM_EXPORTER_COLLECTORS": f"{CSV_FOLDER}/{CSV_FILE}",
        "DCGM_EXPORTER_INTERVAL": str(metrics.seconds(options.interval) * 1000),
    }
    if options.web_config:  # read for every connection, so a new certificate needs no restart
        values["DCGM_EXPORTER_WEB_CONFIG_FILE"] = f"{WEB_FOLDER}/web-config.yaml"
    if exporters.uses_host_engine(pool):
        values["DCGM_REMOTE_HOSTENGINE_INFO"] = HOST_ENGINE
    renamed = [r.name for r in pool.prediction.resources if r.name != r.base]
    if renamed:
        values["NVIDIA_RESOURCE_NAMES"] = ",".join(renamed)
    if metrics.is_shared(pool):
        values["KUBERNETES_VIRTUAL_GPUS"] = "true"
    elif options.pod_labels:
        values["DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"] = "true"
        patterns = (f"^{re.escape(label)}$" for label in options.pod_labels)
        values["DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"] = ",".join(patterns)
    return [
        kube.field_env("NODE_NAME", "spec.nodeName"),
        *([kube.field_env("HOST_IP", "status.hostIP")] if in_host else []),
        *kube.env(**values),
        *gpu_access.environment(pool),
    ]


COMPONENT = Component(contribute, DcgmExporter)
