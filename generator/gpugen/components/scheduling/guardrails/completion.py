"""What pods that ask for a GPU are given: runtime class and tolerations, and a scheduler's name.

Only what a pod leaves open: a scheduler or runtime class that it names stays, and so do its
tolerations of a key that it names itself. JSON patches, because the list of tolerations is atomic
and an applied configuration would replace it.
Source: kubernetes v1.36.3, apiserver/pkg/admission/plugin/policy/mutating.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gpugen import kube
from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.facts import Facts
from gpugen.kube import scheduling

Mutation: TypeAlias = dict[str, Any]


def patches(facts: Facts, *, needs_runtime_class: bool) -> list[Mutation]:
    """Return the mutations that need nothing but the API server."""
    expressions = []
    if needs_runtime_class:
        expressions.append(
            "!has(object.spec.runtimeClassName) ?\n"
            "[JSONPatch{op: 'add', path: '/spec/runtimeClassName',"
            f" value: {cel.literal(kube.RUNTIME_CLASS)}}}] : []"
        )
    taints = _taints(facts)
    if taints:
        expressions.append(_tolerate(taints))
    return [_mutation(text) for text in expressions]


def naming(scheduler: str) -> list[Mutation]:
    """Return the mutation that sends a pod to a scheduler, where it names no other."""
    return [
        _mutation(
            "object.spec.?schedulerName.orValue('') in"
            f" ['', {cel.literal(scheduling.DEFAULT)}] ?\n"
            "[JSONPatch{op: 'add', path: '/spec/schedulerName',"
            f" value: {cel.literal(scheduler)}}}] : []"
        )
    ]


def asks(facts: Facts) -> dict[str, str]:
    """Return the condition that a pod asks for a resource that is judged."""
    is_asked = f"{cel.LIMITS}.exists(n, n in {cel.literal(facts.names)} && {cel.IS_SOME})"
    return {
        "name": "asks-for-gpu",
        "expression": f"{cel.containers('object.spec')}.exists(c, {is_asked})",
    }


def _mutation(text: str) -> Mutation:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def _taints(facts: Facts) -> dict[tuple[str, str], list[str]]:
    """Return key and effect of the taints to tolerate -> the resources whose pools have it."""
    found: dict[tuple[str, str], set[str]] = {}
    for pool in facts.pools:
        for taint in pool.taints:
            if taint.key in facts.completed_keys:
                found.setdefault((taint.key, taint.effect), set()).update(pool.units)
    return {taint: sorted(names) for taint, names in sorted(found.items())}


def _tolerate(taints: dict[tuple[str, str], list[str]]) -> str:
    """Add a toleration per taint that the pod does not tolerate and whose key it does not name."""
    tolerations = "object.spec.?tolerations.orValue([])"
    asked = cel.containers("object.spec")
    parts = [
        "(has(object.spec.tolerations) ? [] :\n"
        "[JSONPatch{op: 'add', path: '/spec/tolerations', value: []}])"
    ]
    for (key, effect), names in taints.items():
        parts.append(
            f"({tolerations}.exists(o, o.?key.orValue('') == {cel.literal(key)} ||\n"
            "o.?key.orValue('') == '' &&"
            f" o.?effect.orValue('') in ['', {cel.literal(effect)}]) ||\n"
            f"!{asked}.exists(c, {cel.LIMITS}.exists(n, n in {cel.literal(names)}"
            f" && {cel.IS_SOME})) ? [] :\n"
            "[JSONPatch{op: 'add', path: '/spec/tolerations/-', value: Object.spec.tolerations{"
            f"key: {cel.literal(key)}, operator: 'Exists', effect: {cel.literal(effect)}}}}}])"
        )
    return " +\n".join(parts)
