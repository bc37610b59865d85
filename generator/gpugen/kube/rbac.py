"""Service accounts and what they may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugen.kube.objects import metadata
from gpugen.model.assembly import KubeObject


def service_account(name: str, namespace: str) -> KubeObject:
    """Return a ServiceAccount whose token is mounted only by pods that request it."""
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
