"""Guardrails: admission policies that answer a workload which could never start, and complete pods.

CEL inside the API server; nothing runs. What is refused follows from the spec alone, so it is as
right as the spec is. Namespaces of gpugen and of the system are left alone.
Source: kubernetes v1.36.3, admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpugen import kube
from gpugen.components import Component, options_schema
from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.agents import agent_policy
from gpugen.components.scheduling.guardrails.completion import asks, naming, patches
from gpugen.components.scheduling.guardrails.facts import Facts, facts_of
from gpugen.components.scheduling.guardrails.rule import Rule
from gpugen.components.scheduling.guardrails.rules import advice, certain
from gpugen.components.scheduling.guardrails.view import MIRROR, conditions, variables
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import Guardrails, Scheduler
from gpugen.model.spec import ClusterSpec

NAME = "guardrails"
REQUESTS, ADVICE, DEFAULTS = "gpugen-gpu-requests", "gpugen-gpu-advice", "gpugen-gpu-defaults"
VERSION = "admissionregistration.k8s.io/v1"
SYSTEM_NAMESPACES = ("kube-node-lease", "kube-public", "kube-system")
BY_NAME = "kubernetes.io/metadata.name"  # set by the API server; any other label a tenant may set
SCHEDULER_NAME = "gpugen-gpu-scheduler"
RUNTIME_CLASS = "runtime-class"
TELL = ["Warn", "Audit"]
REFUSE = ["Deny"]


def contribute(spec: ClusterSpec, options: Guardrails) -> Contribution:
    """Return the policies with their bindings; nothing where the mode is off."""
    if options.mode == "off":
        return Contribution()
    facts = facts_of(spec, options)
    enforces = options.mode == "enforce"
    objects = [
        *_judge(spec, options, facts, REQUESTS, certain(facts), refuses=enforces),
        *_judge(spec, options, facts, ADVICE, _advice(spec, facts), refuses=False),
    ]
    placed = [Placed(Wave.SCHEDULING, item) for item in objects]
    if scheduling.completes(spec):
        placed += _completion(spec, options, facts)
    if spec.release.features.agent_policy:
        placed += [Placed(Wave.ADMISSION, item) for item in agent_policy(spec, refuses=enforces)]
    return Contribution(tuple(placed))


def _completion(spec: ClusterSpec, options: Guardrails, facts: Facts) -> Iterator[Placed]:
    """Yield what completes pods; the name of a second scheduler stands in the wave behind it."""
    for item in _complete(spec, options, facts):
        yield Placed(Wave.SCHEDULING, item)
    last = Wave.SCHEDULER_NAME if scheduling.is_waited_for(spec) else Wave.SCHEDULING
    for item in _name_scheduler(spec, options, facts):
        yield Placed(last, item)


def _advice(spec: ClusterSpec, facts: Facts) -> Iterator[Rule]:
    schema = options_schema(scheduling.COMPONENT) or {}
    default: str = schema["properties"]["schedulerName"]["default"]
    return advice(
        facts,
        idle_scheduler="" if scheduling.COMPONENT in spec.options else default,
        needs_runtime_class=_needs_class(spec) and not scheduling.completes(spec),
    )


def _needs_class(spec: ClusterSpec) -> bool:
    """Tell whether pods see GPUs only by RuntimeClass nvidia, and it exists.

    Where it is the default runtime of all hosts they need none. By CDI they need none either, and
    must not be given one: the plugin then leaves NVIDIA_VISIBLE_DEVICES as the image has it, often
    "all", and that runtime would hand out every GPU.
    Source: k8s-device-plugin v0.19.3, internal/plugin/server.go, getAllocateResponse.
    """
    uses_cdi = any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy)
    exists = RUNTIME_CLASS in spec.options or spec.kubernetes.distribution.has_runtime_class
    is_default = all(pool.host.default_runtime for pool in spec.pools)
    return exists and not uses_cdi and not is_default


def _judge(
    spec: ClusterSpec,
    options: Guardrails,
    facts: Facts,
    name: str,
    rules: Iterable[Rule],
    *,
    refuses: bool,
) -> list[KubeObject]:
    """Return a validating policy and its binding.

    What refuses fails closed, or a request that is too costly to judge would pass; what only tells
    never stands in the way, whatever happens to it.
    """
    kept = [rule for rule in rules if rule.id not in options.without_rules]
    if not kept:
        return []
    validations = [rule.validation() for rule in kept]
    texts = [entry[key] for entry in validations for key in ("expression", "messageExpression")]
    policy = {
        "failurePolicy": "Fail" if refuses else "Ignore",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": _watched()},
        "matchConditions": conditions(),
        "variables": variables(facts, texts),
        "validations": validations,
    }
    actions = {"validationActions": list(REFUSE if refuses else TELL)}
    return _policy(
        "ValidatingAdmissionPolicy", name, policy, _binding(spec, options, name, actions)
    )


def _complete(spec: ClusterSpec, options: Guardrails, facts: Facts) -> list[KubeObject]:
    """Return the policy that adds runtime class and tolerations, and its binding."""
    mutations = patches(facts, needs_runtime_class=_needs_class(spec))
    if not mutations or not facts.names:
        return []
    policy = _mutating(mutations, [asks(facts), MIRROR])
    return _policy("MutatingAdmissionPolicy", DEFAULTS, policy, _binding(spec, options, DEFAULTS))


def _name_scheduler(spec: ClusterSpec, options: Guardrails, facts: Facts) -> list[KubeObject]:
    """Return the policy that names the scheduler which packs.

    Of the main scheduler, which a play configures, it is in force only while the ConfigMap is there
    that the play writes after its proof: git does not hold it. Without paramKind the API server
    would ignore paramRef. A second scheduler is delivered in the wave before.
    """
    name = scheduling.name(spec)
    if not name or not facts.names:
        return []
    conditions = [asks(facts), MIRROR]
    policy: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if scheduling.is_main(spec, spec.own(Scheduler)):
        served = f"params.?data.?{scheduling.SWITCH_KEY}.orValue('') == {cel.literal(name)}"
        conditions.append({"name": "scheduler-serves-the-name", "expression": served})
        policy = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
        place = {"name": scheduling.SWITCH, "namespace": scheduling.SWITCH_NAMESPACE}
        more = {"paramRef": {**place, "parameterNotFoundAction": "Allow"}}
    policy |= _mutating(naming(name), conditions)
    binding = _binding(spec, options, SCHEDULER_NAME, more)
    return _policy("MutatingAdmissionPolicy", SCHEDULER_NAME, policy, binding)


def _mutating(mutations: list[dict[str, Any]], conditions: list[dict[str, str]]) -> dict[str, Any]:
    """Return a policy over new pods; it helps, so it never stands in the way."""
    return {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "resourceRules": [_rule("", "v1", ["CREATE"], "pods")],
        },
        "matchConditions": conditions,
        "mutations": mutations,
    }


def _policy(
    kind: str, name: str, policy: dict[str, Any], binding: dict[str, Any]
) -> list[KubeObject]:
    return [
        {"apiVersion": VERSION, "kind": kind, "metadata": kube.metadata(name), "spec": policy},
        {
            "apiVersion": VERSION,
            "kind": f"{kind}Binding",
            "metadata": kube.metadata(name),
            "spec": binding,
        },
    ]


def _binding(
    spec: ClusterSpec, options: Guardrails, name: str, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a binding says: which namespaces, and what follows.

    Namespaces are exempt by name alone. Who renames ours lists the new names first, the old ones
    until the roll has ended (exemptNamespaces).
    """
    exempt = {
        *SYSTEM_NAMESPACES,
        spec.namespaces.agents,
        spec.namespaces.controllers,
        *options.exempt_namespaces,
    }
    elsewhere = {
        "key": BY_NAME,
        "operator": "NotIn",
        "values": sorted(exempt),
    }
    return {
        "policyName": name,
        **(more or {}),
        "matchResources": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchExpressions": [elsewhere]},
        },
    }


def _watched() -> list[dict[str, Any]]:
    """Return the requests that are judged: pods, and what makes pods."""
    both = ["CREATE", "UPDATE"]
    return [
        _rule("", "v1", ["CREATE"], "pods"),
        _rule("", "v1", ["UPDATE"], "pods/ephemeralcontainers"),
        _rule("", "v1", both, "replicationcontrollers"),
        _rule("apps", "v1", both, "daemonsets", "deployments", "replicasets", "statefulsets"),
        _rule("batch", "v1", both, "cronjobs", "jobs"),
    ]


def _rule(group: str, version: str, operations: Sequence[str], *resources: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


COMPONENT = Component(contribute, Guardrails)
