"""NetworkPolicies: gpugen's pods reach the API server if they use it, and nothing else.

In each namespace everything is denied to gpugen's pods, then each program is allowed what it needs.
Programs read the API server's address from their environment, so none needs DNS. The address and
port that count are those behind the Service, after the network plugin translated it, and a spec
knows neither: hence ports, and networks where the spec states them. Probes of the same node's
kubelet are always allowed. Pods in the host's network (the exporter in mode static, or with the
host's engine) are out of reach of any policy, so none is written for them. Source: Kubernetes
documentation, Network Policies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpugen import kube
from gpugen.components import Component
from gpugen.kube import exporters
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import DcgmExporter, NodeFeatureDiscovery, Prometheus
from gpugen.model.spec import ClusterSpec

NAME = "network-policies"
DENY = "gpugen-deny-all"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
SCHEDULER = "gpu-scheduler"


class ApiServer(NamedTuple):
    """Where the API server is: behind its Service, after translation."""

    ports: tuple[int, ...]
    networks: tuple[str, ...]


class Options(NamedTuple):
    """What a spec may say of the network policies."""

    api_server: ApiServer
    scrape_from: tuple[str, ...]


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return the denial of each namespace, and what each program is allowed."""
    agents, controllers = spec.namespaces.agents, spec.namespaces.controllers
    objects = [_denial(agents), _denial(controllers)]
    objects += [
        _policy(name, namespace, {"policyTypes": ["Egress"], "egress": [_api_server(options)]})
        for name, namespace in _clients(spec)
    ]
    if exporters.NAME in spec.options and exporters_in_pod_network(spec):
        objects.append(_policy(exporters.NAME, agents, _exporter(spec, options)))
    return Contribution(tuple(Placed(Wave.DEVICES, item) for item in objects))


def exporters_in_pod_network(spec: ClusterSpec) -> bool:
    """Tell whether any pool's exporter is in the pod network, where policies apply."""
    return any(not exporters.shares_host_network(spec, pool) for pool in spec.pools)


def scrapers(spec: ClusterSpec, options: Options) -> list[str]:
    """List the namespaces that may scrape; empty if none is stated: then all may."""
    prometheus = spec.find(Prometheus)
    stated = prometheus.namespace if prometheus else None
    return sorted({*options.scrape_from, *([stated] if stated else [])})


def _clients(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    """Yield the programs that use the API server, with their namespaces."""
    agents, controllers = spec.namespaces.agents, spec.namespaces.controllers
    for component in ("gpu-feature-discovery", "mig-manager"):
        if component in spec.options:
            yield component, agents
    discovery = spec.find(NodeFeatureDiscovery)
    if discovery and discovery.mode == "own":
        yield "nfd-master", controllers
        yield "nfd-gc", controllers
        if discovery.worker:
            yield "nfd-worker", agents
    if "scheduler" in spec.options:  # selects no pod if the main one does the bin packing
        yield SCHEDULER, controllers


def _denial(namespace: str) -> KubeObject:
    """Return the policy that selects all pods of gpugen and allows nothing."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": kube.metadata(DENY, namespace=namespace),
        "spec": {
            "podSelector": {"matchLabels": {kube.OWNER_LABEL: kube.OWNER}},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def _policy(name: str, namespace: str, rules: dict[str, Any]) -> KubeObject:
    selector = {kube.NAME_LABEL: name}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": kube.metadata(name, namespace=namespace, labels=selector),
        "spec": {"podSelector": {"matchLabels": selector}, **rules},
    }


def _api_server(options: Options) -> dict[str, Any]:
    server = options.api_server
    rule: dict[str, Any] = {
        "ports": [{"port": port, "protocol": "TCP"} for port in sorted(server.ports)]
    }
    if server.networks:
        rule["to"] = [{"ipBlock": {"cidr": network}} for network in sorted(server.networks)]
    return rule


def _exporter(spec: ClusterSpec, options: Options) -> dict[str, Any]:
    """Return who may scrape, and the API server if labels or usage of pods are read."""
    ingress: dict[str, Any] = {"ports": [{"port": exporters.PORT, "protocol": "TCP"}]}
    if names := scrapers(spec, options):
        places = {"key": NAMESPACE_NAME, "operator": "In", "values": names}
        ingress["from"] = [{"namespaceSelector": {"matchExpressions": [places]}}]
    asks = spec.own(DcgmExporter)
    if not (asks.pod_labels or asks.per_pod_usage):
        return {"policyTypes": ["Ingress"], "ingress": [ingress]}
    return {
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [ingress],
        "egress": [_api_server(options)],
    }


COMPONENT = Component(contribute, Options)
