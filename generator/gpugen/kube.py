"""Builders of Kubernetes objects as plain mappings; every object of ours is made here.

Selectors are ``app.kubernetes.io/name`` and ``gpugen/pool`` in every mode: they are immutable, so
they never depend on an option. Further labels stand on the pod template only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpugen.model.plan import KubeObject
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.yaml_text import to_yaml as yaml_text

__all__ = ["yaml_text"]

POOL_LABEL = "gpugen/pool"
NAME_LABEL = "app.kubernetes.io/name"
CHECKSUM = "gpugen/config-checksum"
RUNTIME_CLASS = "nvidia"
NOTHING: Mapping[str, str] = {}
_OWNER = {"app.kubernetes.io/managed-by": "gpugen", "app.kubernetes.io/part-of": "gpugen"}


def image(spec: ClusterSpec, component: str, *, version: str = "") -> str:
    """Return the image of a component: mirrored and pinned by digest where the spec says so.

    version: chosen for another component that this one must agree with.
    """
    row = spec.release.images[component]
    repository, tag = row["repository"], row["tag"]
    chosen = version or spec.options.get(component, {}).get("version", "")
    if chosen:
        tag = f"v{chosen}"
    if component == "scheduler":
        tag = spec.release.row["schedulerTags"][spec.kubernetes.version]
    if spec.images.registry:
        repository = f"{spec.images.registry}/{repository.partition('/')[2]}"
    digest = spec.images.digests.get(component, "")
    return f"{repository}:{tag}@{digest}" if digest else f"{repository}:{tag}"


def metadata(
    name: str,
    *,
    namespace: str = "",
    labels: Mapping[str, str] = NOTHING,
    annotations: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return object metadata that names gpugen as the owner."""
    result: dict[str, Any] = {"name": name}
    if namespace:
        result["namespace"] = namespace
    result["labels"] = {**labels, **_OWNER}
    if annotations:
        result["annotations"] = dict(annotations)
    return result


def checksum(*parts: str) -> str:
    """Return 16 hex digits that change when any of the texts does."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def config_map(
    name: str, namespace: str, data: Mapping[str, str], *, labels: Mapping[str, str] = NOTHING
) -> KubeObject:
    """Return a ConfigMap; its name is constant, a checksum on the pods makes a change count."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, namespace=namespace, labels=labels),
        "data": dict(data),
    }


def node_agent(
    name: str,
    spec: ClusterSpec,
    pool: NodePool | None,
    *,
    containers: Sequence[dict[str, Any]],
    init_containers: Sequence[dict[str, Any]] = (),
    volumes: Sequence[dict[str, Any]] = (),
    service_account: str = "",
    app: str = "",
    host_pid: bool = False,
    host_ipc: bool = False,
    runtime_class: bool = False,
    checksum: str = "",
    extra_node_selector: Mapping[str, str] = NOTHING,
    pod_labels: Mapping[str, str] = NOTHING,
    annotations: Mapping[str, str] = NOTHING,
    priority: str = "system-node-critical",
    termination_grace_seconds: int | None = None,
    max_unavailable: str = "10%",
) -> KubeObject:
    """Return the DaemonSet ``<name>-<pool>``, which runs on the pool's nodes whatever their taints.

    pool: None for the one agent that runs on the nodes of every pool, ``<name>``.
    app: value of the pod label ``app`` by which the MIG manager waits for the agent.
    extra_node_selector: labels besides ``gpugen/pool`` by which the MIG manager pauses it.
    """
    pool_label = {POOL_LABEL: pool.name} if pool else {}
    selector = {NAME_LABEL: name, **pool_label}
    pod = pod_spec(
        spec,
        containers=containers,
        init_containers=init_containers,
        volumes=volumes,
        service_account=service_account,
        priority=priority,
    )
    if pool:
        pod["nodeSelector"] = {**pool_label, **extra_node_selector}
    else:
        pod["affinity"] = _on_any_pool()
    pod["tolerations"] = [{"operator": "Exists"}]
    if host_pid:
        pod["hostPID"] = True
    if host_ipc:
        pod["hostIPC"] = True
    if runtime_class:
        pod["runtimeClassName"] = RUNTIME_CLASS
    if termination_grace_seconds is not None:
        pod["terminationGracePeriodSeconds"] = termination_grace_seconds
    labels = {**selector, **({"app": app} if app else {}), **pod_labels, **_OWNER}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(
            f"{name}-{pool.name}" if pool else name,
            namespace=spec.namespaces.agents,
            labels=selector,
        ),
        "spec": {
            "selector": {"matchLabels": selector},
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": whole_or_percent(max_unavailable)},
            },
            "template": _template(labels, checksum, annotations, pod),
        },
    }


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
    pod_labels: Mapping[str, str] = NOTHING,
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
    labels = {**selector, **pod_labels, **_OWNER}
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
    """Return the part of a pod that agents and controllers share; a token only with an account."""
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


def host_path(name: str, path: str, type: str = "") -> dict[str, Any]:
    """Return a volume of the host; without a type nothing is checked or created."""
    source = {"path": path, "type": type} if type else {"path": path}
    return {"name": name, "hostPath": source}


def config_volume(
    name: str, config_map_name: str, items: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a volume of a ConfigMap; items: key -> path in the volume."""
    source: dict[str, Any] = {"name": config_map_name}
    if items:
        source["items"] = [{"key": key, "path": path} for key, path in items.items()]
    return {"name": name, "configMap": source}


def empty_dir(name: str) -> dict[str, Any]:
    """Return a volume that lives as long as the pod."""
    return {"name": name, "emptyDir": {}}


def mount(
    name: str, path: str, *, read_only: bool = False, sub_path: str = "", propagation: str = ""
) -> dict[str, Any]:
    """Return the mount of a volume at a path in the container."""
    result: dict[str, Any] = {"name": name, "mountPath": path}
    if read_only:
        result["readOnly"] = True
    if sub_path:
        result["subPath"] = sub_path
    if propagation:
        result["mountPropagation"] = propagation
    return result


def env(**values: str) -> list[dict[str, Any]]:
    """Return environment entries; every value is a string, which Kubernetes demands."""
    return [{"name": name, "value": value} for name, value in values.items()]


def field_env(name: str, field_path: str) -> dict[str, Any]:
    """Return an environment entry filled from a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}}


def confined_security(*capabilities: str) -> dict[str, Any]:
    """Return the least a root agent needs; SYS_ADMIN forbids switching escalation off."""
    drop: dict[str, Any] = {"drop": ["ALL"]}
    if capabilities:
        drop["add"] = list(capabilities)
    return {
        "allowPrivilegeEscalation": "SYS_ADMIN" in capabilities,
        "capabilities": drop,
        "readOnlyRootFilesystem": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def restricted_security() -> dict[str, Any]:
    """Return what the Pod Security level ``restricted`` asks of a container."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def service_account(name: str, namespace: str) -> KubeObject:
    """Return a ServiceAccount whose token is mounted only where a pod asks for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(name, namespace=namespace),
        "automountServiceAccountToken": False,
    }


def rule(groups: Iterable[str], resources: Iterable[str], verbs: Iterable[str]) -> dict[str, Any]:
    """Return one RBAC rule."""
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}


def cluster_role(name: str, rules: Sequence[dict[str, Any]]) -> KubeObject:
    """Return a ClusterRole."""
    return _rbac("ClusterRole", metadata(name), {"rules": list(rules)})


def role(name: str, namespace: str, rules: Sequence[dict[str, Any]]) -> KubeObject:
    """Return a Role."""
    return _rbac("Role", metadata(name, namespace=namespace), {"rules": list(rules)})


def cluster_role_binding(name: str, role: str, account: str, namespace: str) -> KubeObject:
    """Return a ClusterRoleBinding of a ClusterRole to a ServiceAccount."""
    return _rbac(
        "ClusterRoleBinding", metadata(name), _binding("ClusterRole", role, account, namespace)
    )


def role_binding(
    name: str,
    namespace: str,
    role: str,
    account: str,
    account_namespace: str = "",
    *,
    kind: str = "Role",
) -> KubeObject:
    """Return a RoleBinding in ``namespace``; the account's namespace is the same unless given."""
    return _rbac(
        "RoleBinding",
        metadata(name, namespace=namespace),
        _binding(kind, role, account, account_namespace or namespace),
    )


def _binding(kind: str, role: str, account: str, namespace: str) -> dict[str, Any]:
    return {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def _rbac(kind: str, meta: dict[str, Any], rest: dict[str, Any]) -> KubeObject:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, **rest}
