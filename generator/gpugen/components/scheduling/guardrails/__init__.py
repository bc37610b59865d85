"""Guardrails: admission policies that answer a workload which could never start, and complete pods.

CEL inside the API server; nothing runs. What is refused follows from the spec alone, so it is as
right as the spec is. Namespaces of gpugen and of the system are left alone. Rules and mutations are
rows of YAML; facts of the cluster enter as variables.
Source: kubernetes v1.36.3, admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen.components import Component
from gpugen.components.scheduling.guardrails import facts, policy, rows
from gpugen.components.scheduling.guardrails.agents import agent_policy
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import Guardrails
from gpugen.model.spec import ClusterSpec

NAME = "guardrails"
REQUESTS, ADVICE, DEFAULTS = "gpugen-gpu-requests", "gpugen-gpu-advice", "gpugen-gpu-defaults"
SCHEDULER_NAME = "gpugen-gpu-scheduler"
SYSTEM_NAMESPACES = ("kube-node-lease", "kube-public", "kube-system")
POD_MAKERS = (  # the requests that are validated: pods, and what makes pods
    policy.watched("", "v1", ["CREATE"], "pods"),
    policy.watched("", "v1", ["UPDATE"], "pods/ephemeralcontainers"),
    policy.watched("", "v1", ["CREATE", "UPDATE"], "replicationcontrollers"),
    policy.watched(
        *("apps", "v1", ["CREATE", "UPDATE"]),
        *("daemonsets", "deployments", "replicasets", "statefulsets"),
    ),
    policy.watched("batch", "v1", ["CREATE", "UPDATE"], "cronjobs", "jobs"),
)


def contribute(spec: ClusterSpec, options: Guardrails) -> Contribution:
    """Return the policies with their bindings; nothing where the mode is off."""
    if options.mode == "off":
        return Contribution()
    texts = facts.texts(spec, options)
    enforces = options.mode == "enforce"
    placed = [
        Placed(Wave.SCHEDULING, item)
        for name, is_certain in ((REQUESTS, True), (ADVICE, False))
        for item in _validate(spec, options, texts, name, is_certain, refuses=enforces)
    ]
    if scheduling.completes(spec):
        placed += _complete(spec, options, texts)
    if spec.release.features.agent_policy:
        placed += [Placed(Wave.ADMISSION, item) for item in agent_policy(spec, refuses=enforces)]
    return Contribution(tuple(placed))


def _validate(
    spec: ClusterSpec,
    options: Guardrails,
    texts: dict[str, str],
    name: str,
    is_certain: bool,
    *,
    refuses: bool,
) -> list[KubeObject]:
    """Return the policy of the certain rules or that of advice, which never refuses."""
    holding = facts.holding(spec, options)
    validations = [
        rule.validation()
        for rule in rows.rules()
        if rule.is_certain is is_certain
        and rule.where in holding
        and rule.id not in options.without_rules
    ]
    if not validations:
        return []
    read = [entry[key] for entry in validations for key in ("expression", "messageExpression")]
    return policy.validating(
        name,
        POD_MAKERS,
        rows.conditions("conditions"),
        rows.variables(texts, read),
        validations,
        _namespaces(spec, options),
        refuses=refuses and is_certain,
    )


def _complete(spec: ClusterSpec, options: Guardrails, texts: dict[str, str]) -> Iterator[Placed]:
    """Yield what completes pods; the name of a second scheduler is in the wave behind it.

    The main scheduler, which a play configures, is named only while the ConfigMap is there that the
    play writes after its proof: git does not hold it.
    """
    holding = facts.holding(spec, options)
    due = {row.id: row for row in rows.mutations() if row.where in holding}
    namers = [due.pop(name) for name in ("main-scheduler", "second-scheduler") if name in due]
    selector = _namespaces(spec, options)
    if due:
        for item in policy.mutating(DEFAULTS, due.values(), texts, selector):
            yield Placed(Wave.SCHEDULING, item)
    last = Wave.SCHEDULER_NAME if scheduling.is_waited_for(spec) else Wave.SCHEDULING
    switch = {"name": scheduling.SWITCH, "namespace": scheduling.SWITCH_NAMESPACE}
    params = switch if "mainScheduler" in holding else None
    if namers:
        for item in policy.mutating(SCHEDULER_NAME, namers, texts, selector, params=params):
            yield Placed(last, item)


def _namespaces(spec: ClusterSpec, options: Guardrails) -> dict[str, Any]:
    """Return which namespaces are looked at. Others are exempt by name alone.

    Who renames ours lists the new names first, the old ones until the roll has ended
    (exemptNamespaces).
    """
    ours = (spec.namespaces.agents, spec.namespaces.controllers)
    exempt = {*SYSTEM_NAMESPACES, *ours, *options.exempt_namespaces}
    expression = {"key": policy.BY_NAME, "operator": "NotIn", "values": sorted(exempt)}
    return {"matchExpressions": [expression]}


COMPONENT = Component(contribute, Guardrails)
