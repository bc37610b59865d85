"""Parts of a pod: volumes, mounts, environment, privileges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen.model.spec import ClusterSpec


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


def secret_volume(name: str, secret_name: str) -> dict[str, Any]:
    """Return a volume of a Secret of the user's."""
    return {"name": name, "secret": {"secretName": secret_name}}


def empty_dir(name: str) -> dict[str, Any]:
    """Return an emptyDir volume."""
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


def resources(
    spec: ClusterSpec, stated: Mapping[str, Any], cpu: str, memory: str
) -> dict[str, Any]:
    """Return the key ``resources`` of a container: the spec's, or the release's own requests.

    No limit beside them: memory is limited only where it was measured, CPU never, because a
    throttled agent misses its deadlines.
    """
    if stated:
        return {"resources": dict(stated)}
    if not spec.release.features.requests_and_limits:
        return {}
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}}


def env(**values: str) -> list[dict[str, Any]]:
    """Return environment entries; every value is a string, as Kubernetes requires."""
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
    """Return what the Pod Security level ``restricted`` requires of a container."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
