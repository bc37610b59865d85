"""The worker of node feature discovery, on the nodes of every pool.

It writes one NodeFeature per node in its own namespace and reads its own pod to be the object's
owner. Source: node-feature-discovery v0.18.3, pkg/nfd-worker (get, create, update of nodefeatures,
get of pods; port 8080 serves /healthz), source/* (which host files are read; the image reads them
below /host-), deployment/helm (thresholds of the probes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen import kube
from gpugen.components.devices.node_feature_discovery.controllers import CONFIG_FOLDER, HTTP_PORT
from gpugen.components.devices.node_feature_discovery.crds import GROUP
from gpugen.model.assembly import KubeObject
from gpugen.model.options import NodeFeatureDiscovery
from gpugen.model.spec import ClusterSpec

WORKER = "nfd-worker"
SYS = "/sys"
HOST_PATHS = {  # source -> what it reads on the host
    "cpu": (SYS,),
    "kernel": (SYS, "/boot", "/lib", "/usr/lib"),
    "memory": (SYS, "/proc/swaps"),
    "network": (SYS,),
    "pci": (SYS,),
    "storage": (SYS,),
    "system": (SYS, "/etc/os-release"),
    "usb": (SYS,),
}


def worker(spec: ClusterSpec, options: NodeFeatureDiscovery) -> Iterator[KubeObject]:
    """Return the DaemonSet, its configuration and its rights."""
    namespace = spec.namespaces.agents
    text = kube.to_yaml(_config(options))
    yield kube.service_account(WORKER, namespace)
    yield kube.role(
        WORKER,
        namespace,
        [
            kube.rule([GROUP], ["nodefeatures"], ["get", "create", "update"]),
            kube.rule([""], ["pods"], ["get"]),
        ],
    )
    yield kube.role_binding(WORKER, namespace, WORKER, WORKER)
    yield kube.config_map(WORKER, namespace, {"nfd-worker.conf": text})
    paths = sorted({path for source in options.sources for path in HOST_PATHS[source]})
    yield kube.node_agent(
        spec,
        kube.Agent(
            WORKER,
            None,
            containers=[_container(spec, options, paths)],
            volumes=[
                kube.config_volume("config", WORKER),
                *(kube.host_path(_volume(path), path) for path in paths),
            ],
            service_account=WORKER,
            checksum=kube.checksum(text),
            annotations=options.annotations,
            max_unavailable=options.max_unavailable,
        ),
    )


def _config(options: NodeFeatureDiscovery) -> dict[str, Any]:
    """Return nfd-worker.conf; the label of a PCI device is its vendor alone, as charts expect."""
    sources = sorted(options.sources)
    config: dict[str, Any] = {
        "core": {
            "featureSources": sources,
            "labelSources": sources,
            "sleepInterval": options.sleep_interval,
        }
    }
    if "pci" in sources:
        config["sources"] = {"pci": {"deviceLabelFields": ["vendor"]}}
    return config


def _container(
    spec: ClusterSpec, options: NodeFeatureDiscovery, paths: list[str]
) -> dict[str, Any]:
    health = {"httpGet": {"path": "/healthz", "port": "http"}}
    return {
        "name": "worker",
        "image": kube.image(spec, "node-feature-discovery"),
        "command": [WORKER],
        "env": [
            kube.field_env("NODE_NAME", "spec.nodeName"),
            kube.field_env("POD_NAME", "metadata.name"),
            kube.field_env("POD_UID", "metadata.uid"),
        ],
        "ports": [{"name": "http", "containerPort": HTTP_PORT}],
        "resources": options.resources.worker,
        "securityContext": kube.restricted_security(),
        "livenessProbe": {**health, "initialDelaySeconds": 10},
        "readinessProbe": {**health, "initialDelaySeconds": 5, "failureThreshold": 10},
        "volumeMounts": [
            kube.mount("config", CONFIG_FOLDER, read_only=True),
            *(kube.mount(_volume(path), f"/host-{path[1:]}", read_only=True) for path in paths),
        ],
    }


def _volume(path: str) -> str:
    return f"host{path.replace('/', '-')}"
