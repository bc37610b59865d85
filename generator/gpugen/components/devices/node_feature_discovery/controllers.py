"""Master and garbage collector of node feature discovery, once per cluster.

Rights are those that the programs use at v0.18.3, fewer than the chart's: the master lists nodes,
reads one and patches it; namespaces are listed only with a namespace selector, NodeFeatureGroups
only with their feature gate, nodes/status is patched only for extended resources. The collector
uses nodes' names only. NodeResourceTopologies are another program's, which is not deployed here;
the collector requests them once an hour anyway, and logs that it may not. Source:
node-feature-discovery v0.18.3, pkg/nfd-master, pkg/nfd-gc, cmd/*/main.go (port 8080 serves
/healthz) and deployment/helm (limits, thresholds of the probes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen import kube
from gpugen.components.devices.node_feature_discovery.crds import GROUP
from gpugen.model.assembly import KubeObject
from gpugen.model.options import NodeFeatureDiscovery
from gpugen.model.spec import ClusterSpec

MASTER = "nfd-master"
COLLECTOR = "nfd-gc"
CONFIG_FOLDER = "/etc/kubernetes/node-feature-discovery"
LEASE = "nfd-master.nfd.kubernetes.io"  # fixed in the program
HTTP_PORT = 8080
TOLERATIONS = (
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
)


def master(spec: ClusterSpec, options: NodeFeatureDiscovery) -> Iterator[KubeObject]:
    """Return the program that writes the labels of NodeFeatures onto nodes, and its rights."""
    namespace = spec.namespaces.controllers
    text = kube.to_yaml(
        {
            "extraLabelNs": ["nvidia.com"],
            "restrictions": {"disableExtendedResources": not options.extended_resources},
        }
    )
    yield kube.service_account(MASTER, namespace)
    yield kube.cluster_role(MASTER, list(_master_rules(options)))
    yield kube.cluster_role_binding(MASTER, MASTER, MASTER, namespace)
    leases = {"resourceNames": [LEASE]}
    yield kube.role(
        MASTER,
        namespace,
        [
            kube.rule(["coordination.k8s.io"], ["leases"], ["create"]),
            {**kube.rule(["coordination.k8s.io"], ["leases"], ["get", "update"]), **leases},
        ],
    )
    yield kube.role_binding(MASTER, namespace, MASTER, MASTER)
    yield kube.config_map(MASTER, namespace, {"nfd-master.conf": text})
    container = {
        **_container(MASTER, "master", spec, options),
        "args": ["-enable-leader-election"],
        "startupProbe": {**_health(), "failureThreshold": 30},
        "livenessProbe": _health(),
        "readinessProbe": {**_health(), "failureThreshold": 10},
        "volumeMounts": [kube.mount("config", CONFIG_FOLDER, read_only=True)],
    }
    volumes = [kube.config_volume("config", MASTER)]
    yield _deployment(MASTER, spec, container, volumes, options, kube.checksum(text))


def _master_rules(options: NodeFeatureDiscovery) -> Iterator[dict[str, Any]]:
    yield kube.rule([""], ["nodes"], ["get", "list", "patch"])
    if options.extended_resources:
        yield kube.rule([""], ["nodes/status"], ["patch"])
    yield kube.rule([GROUP], ["nodefeatures", "nodefeaturerules"], ["list", "watch"])


def collector(spec: ClusterSpec, options: NodeFeatureDiscovery) -> Iterator[KubeObject]:
    """Return the program that deletes NodeFeatures of removed nodes, and its rights."""
    namespace = spec.namespaces.controllers
    yield kube.service_account(COLLECTOR, namespace)
    yield kube.cluster_role(
        COLLECTOR,
        [
            kube.rule([""], ["nodes"], ["list", "watch"]),
            kube.rule([GROUP], ["nodefeatures"], ["list", "delete"]),
        ],
    )
    yield kube.cluster_role_binding(COLLECTOR, COLLECTOR, COLLECTOR, namespace)
    container = {
        **_container(COLLECTOR, "gc", spec, options),
        "livenessProbe": {**_health(), "initialDelaySeconds": 10},
        "readinessProbe": {**_health(), "initialDelaySeconds": 5},
    }
    yield _deployment(COLLECTOR, spec, container, [], options)


def _container(
    name: str, program: str, spec: ClusterSpec, options: NodeFeatureDiscovery
) -> dict[str, Any]:
    return {
        "name": program,
        "image": kube.image(spec, "node-feature-discovery"),
        "command": [name],
        "env": [kube.field_env("NODE_NAME", "spec.nodeName")],
        "ports": [{"name": "http", "containerPort": HTTP_PORT}],
        "resources": options.resources._asdict()[program],
        "securityContext": kube.restricted_security(),
    }


def _health() -> dict[str, Any]:
    return {"httpGet": {"path": "/healthz", "port": "http"}}


def _deployment(
    name: str,
    spec: ClusterSpec,
    container: dict[str, Any],
    volumes: list[dict[str, Any]],
    options: NodeFeatureDiscovery,
    checksum: str = "",
) -> KubeObject:
    """Return a Deployment that prefers nodes without GPUs and may run on the control plane."""
    elsewhere = {"matchExpressions": [{"key": kube.POOL_LABEL, "operator": "DoesNotExist"}]}
    wish = {"weight": 100, "preference": elsewhere}
    return kube.deployment(
        name,
        spec,
        containers=[container],
        volumes=volumes,
        service_account=name,
        checksum=checksum,
        annotations=options.annotations,
        tolerations=[dict(toleration) for toleration in TOLERATIONS],
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}},
    )
