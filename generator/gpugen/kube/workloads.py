"""DaemonSets and Deployments.

Selectors are ``app.kubernetes.io/name`` and ``gpugen/pool`` in every mode: they are immutable, so
they never depend on an option. Other labels are on the pod template only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpugen.kube.objects import (
    CHECKSUM,
    NAME_LABEL,
    NOTHING,
    OWNED,
    POOL_LABEL,
    RUNTIME_CLASS,
    metadata,
)
from gpugen.model.assembly import KubeObject
from gpugen.model.spec import ClusterSpec, NodePool


class Agent(NamedTuple):
    """An agent, ``<name>-<pool>``, which runs on the pool's nodes whatever their taints.

    pool: None for an agent on the nodes of every pool, ``<name>``. app: value of the pod label
    ``app`` by which the MIG manager waits for the agent. extra_node_selector: labels besides
    ``gpugen/pool`` by which the MIG manager pauses it.
    """

    name: str
    pool: NodePool | None
    containers: Sequence[dict[str, Any]]
    init_containers: Sequence[dict[str, Any]] = ()
    volumes: Sequence[dict[str, Any]] = ()
    service_account: str = ""
    app: str = ""
    host_pid: bool = False
    host_ipc: bool = False
    host_network: bool = False
    runtime_class: bool = False
    checksum: str = ""
    extra_node_selector: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    max_unavailable: int | str = "10%"


def node_agent(spec: ClusterSpec, agent: Agent) -> KubeObject:
    """Return the DaemonSet of an agent."""
    pool_label = {POOL_LABEL: agent.pool.name} if agent.pool else {}
    selector = {NAME_LABEL: agent.name, **pool_label}
    labels = {**selector, **({"app": agent.app} if agent.app else {}), **OWNED}
    name = f"{agent.name}-{agent.pool.name}" if agent.pool else agent.name
    allowed = whole_or_percent(str(agent.max_unavailable))
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(name, namespace=spec.namespaces.agents, labels=selector),
        "spec": {
            "selector": {"matchLabels": selector},
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": allowed},
            },
            "template": _template(
                labels, agent.checksum, agent.annotations, _agent_pod(spec, agent)
            ),
        },
    }


def _agent_pod(spec: ClusterSpec, agent: Agent) -> dict[str, Any]:
    pod = pod_spec(
        spec,
        containers=agent.containers,
        init_containers=agent.init_containers,
        volumes=agent.volumes,
        service_account=agent.service_account,
        priority="system-node-critical",
    )
    if agent.pool:
        pod["nodeSelector"] = {POOL_LABEL: agent.pool.name, **agent.extra_node_selector}
    else:
        pod["affinity"] = _on_any_pool()
    pod["tolerations"] = [{"operator": "Exists"}]
    spaces = {
        "hostPID": agent.host_pid,
        "hostIPC": agent.host_ipc,
        "hostNetwork": agent.host_network,
    }
    pod |= {key: True for key, is_shared in spaces.items() if is_shared}
    if agent.runtime_class:
        pod["runtimeClassName"] = RUNTIME_CLASS
    return pod


def _on_any_pool() -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": POOL_LABEL, "operator": "Exists"}]}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": rule}


def deployment(
    name: str,
    spec: ClusterSpec,
    *,
    containers: Sequence[dict[str, Any]],
    volumes: Sequence[dict[str, Any]] = (),
    service_account: str = "",
    replicas: int = 1,
    checksum: str = "",
    annotations: Mapping[str, str] = NOTHING,
    priority: str = "",
    tolerations: Sequence[dict[str, Any]] = (),
    affinity: Mapping[str, Any] | None = None,
) -> KubeObject:
    """Return a Deployment among the controllers."""
    selector = {NAME_LABEL: name}
    pod = pod_spec(
        spec,
        containers=containers,
        volumes=volumes,
        service_account=service_account,
        priority=priority,
    )
    if tolerations:
        pod["tolerations"] = list(tolerations)
    if affinity:
        pod["affinity"] = dict(affinity)
    labels = {**selector, **OWNED}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, namespace=spec.namespaces.controllers, labels=selector),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": _template(labels, checksum, annotations, pod),
        },
    }


def _template(
    labels: Mapping[str, str], checksum: str, annotations: Mapping[str, str], pod: dict[str, Any]
) -> dict[str, Any]:
    template: dict[str, Any] = {"metadata": {"labels": dict(labels)}, "spec": pod}
    notes = {**annotations, **({CHECKSUM: checksum} if checksum else {})}
    if notes:
        template["metadata"]["annotations"] = dict(sorted(notes.items()))
    return template


def pod_spec(
    spec: ClusterSpec,
    *,
    containers: Sequence[dict[str, Any]],
    init_containers: Sequence[dict[str, Any]] = (),
    volumes: Sequence[dict[str, Any]] = (),
    service_account: str = "",
    priority: str = "",
) -> dict[str, Any]:
    """Return the common part of pods of agents and controllers; a token only with an account."""
    pod: dict[str, Any] = {}
    if service_account:
        pod["serviceAccountName"] = service_account
    pod["automountServiceAccountToken"] = bool(service_account)
    pod["enableServiceLinks"] = False
    if priority:
        pod["priorityClassName"] = priority
    if spec.images.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in spec.images.pull_secrets]
    if init_containers:
        pod["initContainers"] = list(init_containers)
    pod["containers"] = list(containers)
    if volumes:
        pod["volumes"] = list(volumes)
    return pod


def whole_or_percent(text: str) -> int | str:
    """Return Kubernetes' IntOrString of a text such as ``2`` or ``10%``."""
    return int(text) if text.isdigit() else text
