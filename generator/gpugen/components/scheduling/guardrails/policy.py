"""Builders of admission policies with their bindings.

Source: kubernetes v1.36.3, admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from gpugen import kube
from gpugen.components.scheduling.guardrails import rows
from gpugen.model.assembly import KubeObject

VERSION = "admissionregistration.k8s.io/v1"
BY_NAME = "kubernetes.io/metadata.name"  # set by the API server; any other label a tenant may set
TELL, REFUSE = ["Warn", "Audit"], ["Deny"]
Content: TypeAlias = dict[str, Any]


def validating(
    name: str,
    resources: Sequence[Content],
    conditions: list[dict[str, str]],
    variables: list[dict[str, str]],
    validations: list[dict[str, str]],
    namespaces: Content,
    *,
    refuses: bool,
) -> list[KubeObject]:
    """Return a validating policy and its binding to the namespaces of a selector.

    What refuses fails closed, or a request that is too costly to evaluate would pass; what only
    tells never refuses, whatever happens to it.
    """
    content = {
        "failurePolicy": "Fail" if refuses else "Ignore",
        "matchConstraints": _constraints(resources),
        "matchConditions": conditions,
        "variables": variables,
        "validations": validations,
    }
    actions = {"validationActions": list(REFUSE if refuses else TELL)}
    return _with_binding("ValidatingAdmissionPolicy", name, content, actions, namespaces)


def mutating(
    name: str,
    mutations: Iterable[rows.Mutation],
    facts: dict[str, str],
    namespaces: Content,
    *,
    params: Content | None = None,
) -> list[KubeObject]:
    """Return a policy over new pods and its binding; it helps, so it never refuses.

    params: the ConfigMap that its expressions read. Without paramKind the API server would ignore
    paramRef.
    """
    patches = list(mutations)
    content = {
        **({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}} if params else {}),
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": _constraints([watched("", "v1", ["CREATE"], "pods")]),
        "matchConditions": rows.conditions("completed"),
        "variables": rows.variables(facts, [patch.expression for patch in patches]),
        "mutations": [patch.patch() for patch in patches],
    }
    more = {"paramRef": {**params, "parameterNotFoundAction": "Allow"}} if params else {}
    return _with_binding("MutatingAdmissionPolicy", name, content, more, namespaces)


def watched(group: str, version: str, operations: Sequence[str], *resources: str) -> Content:
    """Return a rule that names requests."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


def _constraints(resources: Sequence[Content]) -> Content:
    return {"matchPolicy": "Equivalent", "resourceRules": list(resources)}


def _with_binding(
    kind: str, name: str, content: Content, more: Content, namespaces: Content
) -> list[KubeObject]:
    binding = {
        "policyName": name,
        **more,
        "matchResources": {"matchPolicy": "Equivalent", "namespaceSelector": namespaces},
    }
    return [
        {"apiVersion": VERSION, "kind": kind, "metadata": kube.metadata(name), "spec": content},
        {
            "apiVersion": VERSION,
            "kind": f"{kind}Binding",
            "metadata": kube.metadata(name),
            "spec": binding,
        },
    ]
