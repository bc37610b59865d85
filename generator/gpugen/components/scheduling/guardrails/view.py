"""How the rules see a request: the pod in it, what that asks for, and the pools that could take it.

Each variable is evaluated at most once a request, and only where a rule needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.facts import Facts

MIRROR = {
    "name": "no-mirror-pod",  # the kubelet runs those, whatever becomes of their image here
    "expression": "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))",
}
POD = """\
request.kind.kind == 'Pod' ? dyn(object).spec :
request.kind.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec.template.spec :
dyn(object).spec.template.spec"""
DEBUG = "has(request.subResource)"  # ephemeral containers, by kubectl debug; they ask for nothing
HAS = "a.name in variables.units[p] && a.total <= variables.units[p][a.name]"
ONE = "a.name in variables.single[p]"
_REFERENCE = re.compile(r"\bvariables\.(\w+)")


def variables(facts: Facts, texts: Iterable[str]) -> list[dict[str, str]]:
    """Return the variables that these expressions need, in an order in which they can be read."""
    everything = {**_cluster(facts), **_request(facts), **_verdicts(facts)}
    needed: set[str] = set()
    new = set(_REFERENCE.findall(" ".join(texts)))
    while new:
        needed |= new
        new = {name for text in new for name in _REFERENCE.findall(everything[text])} - needed
    return [{"name": n, "expression": text} for n, text in everything.items() if n in needed]


def conditions() -> list[dict[str, str]]:
    """Return when a request is judged at all; most requests have nothing to do with GPUs.

    An update counts only if it changes the template: whoever scales, labels or finalises a workload
    that was there before must not be stopped. What a Deployment or CronJob makes was judged there.
    """
    changed = (
        "request.operation == 'CREATE' || request.kind.kind == 'Pod' ||\n"
        "(request.kind.kind == 'CronJob' ?\n"
        "  dyn(object).spec.jobTemplate.spec.template"
        " != dyn(oldObject).spec.jobTemplate.spec.template :\n"
        "  dyn(object).spec.template != dyn(oldObject).spec.template)"
    )
    owner = "object.metadata.?ownerReferences.orValue([])"
    made = (
        "!(request.kind.kind in ['Job', 'ReplicaSet']"
        f" && {owner}.exists(o, o.kind in ['CronJob', 'Deployment']))"
    )
    gpus = (
        f"[{POD}].exists(pod, ({cel.containers('pod')}"
        " + pod.?ephemeralContainers.orValue([])).exists(c,\n"
        f"  {cel.LIMITS}.exists(n, (n.startsWith('nvidia.com/') || {cel.is_gpu('n')})"
        f" && {cel.IS_SOME}) ||\n"
        "  c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES')))"
    )
    return [
        {"name": "about-gpus", "expression": gpus},
        {"name": "new-or-changed", "expression": changed},
        {"name": "not-judged-above", "expression": made},
        MIRROR,
    ]


def _cluster(facts: Facts) -> dict[str, str]:
    """Return what the cluster has, one row a pool."""
    pools = {pool.name: pool for pool in facts.pools}
    taints = {
        name: [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints]
        for name, pool in pools.items()
    }
    return {
        "pools": cel.literal(list(pools)),
        "units": cel.table({name: pool.units for name, pool in pools.items()}),
        "single": cel.table({name: pool.single for name, pool in pools.items()}),
        "shares": cel.table({name: pool.shares for name, pool in pools.items()}),
        "instances": cel.table({name: pool.instances for name, pool in pools.items()}),
        "labels": cel.table({name: pool.labels for name, pool in pools.items()}),
        "taints": cel.table(taints),
        "where": cel.table({name: facts.where(name) for name in facts.names}),
    }


def _request(facts: Facts) -> dict[str, str]:
    """Return what the request is about.

    Containers that run beside each other add up; an init container that stays is one of them, and
    runs beside the init containers after it, too.
    Source: kubernetes v1.36.3, component-helpers/resource/helpers.go, AggregateContainerRequests.
    """
    each = f"variables.containers{cel.units('n')}"
    beside = f"variables.beside{cel.units('n')}.sum()"
    stays = "{0}.?restartPolicy.orValue('') == 'Always'"
    before = (
        "variables.first.transformList(i, c, ([c] + variables.first.transformList(j, d,"
        f" j < i && {stays.format('d')}, d)){cel.units('n')}.sum())"
    )
    return {
        "pod": POD,
        "first": "variables.pod.?initContainers.orValue([])",
        "beside": f"variables.pod.containers + variables.first.filter(c, {stays.format('c')})",
        "containers": f"{DEBUG} ? variables.pod.?ephemeralContainers.orValue([]) :\n"
        f"{cel.containers('variables.pod')}",
        "tolerations": "variables.pod.?tolerations.orValue([])",
        "terms": "variables.pod.?affinity.?nodeAffinity"
        ".?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])",
        "unknown": _names(
            f"{cel.is_gpu('n')} && !(n in {cel.literal([*facts.names, *facts.others])})"
        ),
        "foreign": _names(
            f"n.startsWith('nvidia.com/') && !{cel.is_gpu('n')}"
            f" && !(n in {cel.literal(facts.others)})"
        ),
        "asked": f"{cel.literal(facts.names)}"
        f".filter(n, variables.containers.exists(c, n in {cel.LIMITS}))\n"
        f".map(n, {{'name': dyn(n),\n"
        f"  'most': dyn({each}.max()),\n"
        f"  'total': dyn(([{beside}] + {before}).max())}})\n"
        ".filter(a, a.most > 0)",
    }


def _names(condition: str) -> str:
    """Return the resources ``n`` of a kind that the containers ask for, each once, as text."""
    before = "variables.containers.transformList(j, d, j < i, d)"
    limits_before = cel.LIMITS.replace("c.", "d.", 1)
    return (
        f"variables.containers.transformList(i, c, {cel.LIMITS}.filter(n, {condition}"
        f" && {cel.IS_SOME} && !{before}.exists(d, n in {limits_before})))"
        ".filter(l, l.size() > 0).map(l, l.join(', ')).join(', ')"
    )


def _verdicts(facts: Facts) -> dict[str, str]:
    """Return which requests no pool can meet, and which pools could take the pod."""
    return {
        "excess": f"variables.asked.filter(a, !variables.pools.exists(p, {HAS}))",
        "split": "variables.asked.filter(a, a.most > 1"
        f" && variables.pools.exists(p, {HAS})"
        f" && !variables.pools.exists(p, {HAS} && !({ONE})))",
        "roomy": f"variables.pools.filter(p, variables.asked.all(a, {HAS}))",
        "able": f"variables.roomy.filter(p, variables.asked.all(a, a.most <= 1 || !({ONE})))",
        "picked": "variables.roomy.filter(p,\n"
        "  variables.pod.?nodeSelector.orValue({}).all(k, !(k in variables.labels[p])"
        " || variables.labels[p][k] == variables.pod.nodeSelector[k]) &&\n"
        "  (variables.terms.size() == 0 || variables.terms.exists(t,"
        " (has(t.matchExpressions) || has(t.matchFields)) &&"  # an empty term selects no node
        f" t.?matchExpressions.orValue([]).all(e, {_expression()}))))",
        "chosen": "variables.able.filter(p, p in variables.picked)",
        "reached": "variables.picked.filter(p,"
        f" variables.taints[p].all(t, {_no_hindrance(facts)}))",
        "open": "variables.chosen.filter(p, p in variables.reached)",
        "unpicked": "variables.asked.size() == 0 || variables.picked.size() > 0"
        " ? [] : variables.able",
        # The scheduler binds the pod where it asks for more shares than a container gets.
        "stuck": "variables.asked.size() == 0 || variables.able.size() == 0"
        " || variables.chosen.size() > 0 ? [] : variables.picked",
        "closed": "variables.asked.size() == 0 || variables.open.size() > 0"
        " ? [] : variables.chosen",
        "shared": "variables.closed.size() == 0 ? [] : variables.reached",
    }


def _expression() -> str:
    """Tell whether a requirement of a node affinity can hold, as far as labels are known."""
    value = "variables.labels[p][e.key]"
    return (
        "!(e.key in variables.labels[p]) ||"
        f" (e.operator == 'In' ? {value} in e.values :"
        f" e.operator == 'NotIn' ? !({value} in e.values) : e.operator != 'DoesNotExist')"
    )


def _no_hindrance(facts: Facts) -> str:
    """Tell whether a taint is tolerated, or will be by the completion.

    The completion adds to pods, not to templates, and leaves a key alone that the pod itself names.
    No pod is ever made of a DaemonSet whose template does not tolerate the taints itself.
    Source: kubernetes v1.36.3, pkg/controller/daemon, NodeShouldRunDaemonPod.
    """
    tolerated = cel.is_tolerated("t", "variables.tolerations")
    if not facts.completed_keys:
        return tolerated
    return (
        f"{tolerated} || (!(request.kind.kind in ['Pod', 'DaemonSet']) && t.key in"
        f" {cel.literal(facts.completed_keys)}"
        " && !variables.tolerations.exists(o, o.?key.orValue('') == t.key))"
    )
