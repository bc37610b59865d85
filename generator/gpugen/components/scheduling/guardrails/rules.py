"""The rules: what is judged, and what the person who asked is told.

A rule is *certain* if what it names cannot start, or takes GPUs past the scheduler: mode
``enforce`` refuses those. All else is *advice* and only ever a warning, because another program, a
webhook or a node that the spec does not describe could still make it work.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen import kube
from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.facts import Facts
from gpugen.components.scheduling.guardrails.rule import (
    IS_POD,
    IS_SUSPENDED,
    IS_TEMPLATE,
    MAY_CHANGE,
    Rule,
    labels,
    shown,
    taints,
)
from gpugen.components.scheduling.guardrails.shares import counts, more_than_one_share, only_shares
from gpugen.components.scheduling.guardrails.visible import visible_devices


def certain(facts: Facts) -> Iterator[Rule]:
    """Yield the rules that mode ``enforce`` refuses by, the most fundamental first."""
    yield _unknown_resource(facts)
    yield Rule(
        "too-many",
        "variables.excess.size() == 0",
        "'the pod asks for ' + variables.excess.map(a, string(a.total) + ' ' + a.name"
        " + ', more than any node has (' + variables.where[a.name] + ')').join('; ')",
        "the pod asks for more GPUs than any node has",
    )
    if any(pool.single for pool in facts.pools):
        yield more_than_one_share(facts)
    yield Rule(
        "no-single-node",
        "variables.asked.size() == 0 || variables.able.size() > 0"
        " || variables.excess.size() > 0 || variables.split.size() > 0",
        "'no node has all that the pod asks for: ' + variables.asked"
        ".map(a, string(a.total) + ' ' + a.name).join(' and ')"
        f" + {cel.literal(f'. Cluster {facts.cluster} has {facts.overview}')}",
        "no node has all that the pod asks for",
    )
    yield _wrong_pool(facts)
    if any(pool.taints for pool in facts.pools):
        excuse = f"{IS_TEMPLATE} || {MAY_CHANGE} || variables.shared.size() > 0"
        yield _taint(facts, "untolerated-taint", excuse)
    yield visible_devices(facts)


def _unknown_resource(facts: Facts) -> Rule:
    has = cel.literal(f". It has {facts.overview}" if facts.overview else "")
    hints = [
        f"(variables.containers.exists(c, {cel.literal(wrong)} in {cel.LIMITS})"
        f" ? {cel.literal(f'. For {wrong} ask for {right}')} : '')"
        for wrong, right in facts.instead.items()
    ]
    return Rule(
        "unknown-resource",
        "variables.unknown == ''",
        " + ".join(
            [
                f"{cel.literal(f'no node of cluster {facts.cluster} has ')} + variables.unknown",
                *hints,
                has,
            ]
        ),
        "no node of this cluster has a resource that the pod asks for",
    )


def _wrong_pool(facts: Facts) -> Rule:
    return Rule(
        "wrong-pool",
        "variables.unpicked.size() == 0",
        "'the node selector or the required node affinity rules out every pool that has what the"
        f" pod asks for: ' + {shown('variables.unpicked', labels(facts))}",
        "the node selector rules out every pool that has what the pod asks for",
    )


def _taint(facts: Facts, id: str, excuse: str) -> Rule:
    return Rule(
        id,
        f"{excuse} || variables.closed.size() == 0",
        f"{only_shares(facts)}'the pod does not tolerate the taints of any pool that it could run"
        f" in: ' + {shown('variables.closed', taints(facts))} + '. Add a toleration'",
        "the pod does not tolerate the taints of any pool that has what it asks for",
    )


def advice(
    facts: Facts, *, idle_scheduler: str = "", needs_runtime_class: bool = False
) -> Iterator[Rule]:
    """Yield the rules that only warn.

    idle_scheduler: a name that this cluster does not serve. needs_runtime_class: pods that name no
    class see no GPU, and nothing adds it.
    """
    others = "name it under components.guardrails.otherResources if something else advertises it"
    yield Rule(
        "other-resource",
        "variables.foreign == ''",
        f"{cel.literal(f'no pool of cluster {facts.cluster} advertises ')}"
        f" + variables.foreign + '; {others}'",
        "no pool of this cluster advertises a resource that the pod asks for",
    )
    yield from counts(facts)
    if any(pool.taints for pool in facts.pools):
        yield _taint(facts, "template-taint", f"{IS_POD} || {IS_SUSPENDED}")
    if needs_runtime_class:
        yield Rule(
            "runtime-class",
            "variables.asked.size() == 0 || has(variables.pod.runtimeClassName)",
            f"'the pod names no runtime class, and without {kube.RUNTIME_CLASS} its containers see"
            f" no GPU. Write runtimeClassName: {kube.RUNTIME_CLASS}'",
            "the pod names no runtime class",
        )
    if idle_scheduler:
        yield Rule(
            "idle-scheduler",
            f"variables.pod.?schedulerName.orValue('') != {cel.literal(idle_scheduler)}",
            cel.literal(
                f"the pod names scheduler {idle_scheduler}, which the spec of cluster"
                f" {facts.cluster} does not switch on; if nothing serves that name, the pod stays"
                " Pending without an event"
            ),
            f"the pod names scheduler {idle_scheduler}, which this cluster's spec does not have",
        )
