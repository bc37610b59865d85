"""The rules: what is judged, and what the person who asked is told.

A rule is *certain* if what it names cannot start, or takes GPUs past the scheduler: mode
``enforce`` refuses those. All else is *advice* and only ever a warning, because another program, a
webhook or a node that the spec does not describe could still make it work.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen import kube
from gpugen.components.guardrails import cel
from gpugen.components.guardrails.facts import NAMED_POOLS, Facts
from gpugen.model.record import record

IS_POD, IS_TEMPLATE = "request.kind.kind == 'Pod'", "request.kind.kind != 'Pod'"
# A gated pod may yet be given tolerations, a bound one has passed the scheduler.
IS_SETTLED = "(has(variables.pod.schedulingGates) || has(variables.pod.nodeName))"
# A job that waits is given tolerations when its queue admits it.
IS_SUSPENDED = "dyn(object).spec.?suspend.orValue(false)"


@record
class Rule:
    """One thing that is judged. expression: true where all is well; message: CEL text."""

    id: str
    expression: str
    message: str
    summary: str  # said where the message cannot be made

    def validation(self) -> dict[str, str]:
        """Return the rule as an entry of a policy."""
        return {
            "expression": self.expression,
            "message": f"[{self.id}] {self.summary}",
            "messageExpression": f"'[{self.id}] ' + {self.message}",
            "reason": "Forbidden",  # kubectl prints "invalid: :" for the default
        }


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
        yield Rule(
            "more-than-one-share",
            "variables.split.size() == 0",
            "'a container asks for ' + variables.split"
            ".map(a, string(a.most) + ' ' + a.name).join(' and ')"
            " + '; each is a share of a GPU, and the device plugin fails a pod whose container"
            " asks for more than 1, which would be no more GPU. Ask for 1'",
            "a container asks for more than one share of a GPU",
        )
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
        yield _taint(facts, "untolerated-taint", f"{IS_TEMPLATE} || {IS_SETTLED}")
    yield Rule(
        "visible-devices",
        "!variables.containers.exists(c, c.?env.orValue([]).exists(e,"
        " e.name == 'NVIDIA_VISIBLE_DEVICES' && (has(e.valueFrom)"
        " || !(e.?value.orValue('') in ['', 'none', 'void']))))",
        "'a container sets NVIDIA_VISIBLE_DEVICES, which takes GPUs that the scheduler may have"
        " given to other pods. Remove it and ask for GPUs under resources.limits'",
        "a container sets NVIDIA_VISIBLE_DEVICES",
    )


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
    labels = {
        pool.name: ", ".join(f"{key}={value}" for key, value in pool.labels.items())
        for pool in facts.pools
    }
    return Rule(
        "wrong-pool",
        "variables.unpicked.size() == 0",
        "'the node selector or the required node affinity rules out every pool that has what the"
        f" pod asks for: ' + {_shown('variables.unpicked', labels)}",
        "the node selector rules out every pool that has what the pod asks for",
    )


def _taint(facts: Facts, id: str, excuse: str) -> Rule:
    taints = {
        pool.name: ", ".join(
            f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}"
            for t in pool.taints
        )
        for pool in facts.pools
    }
    return Rule(
        id,
        f"{excuse} || variables.closed.size() == 0",
        "'the pod does not tolerate the taints of any pool that it could run in: '"
        f" + {_shown('variables.closed', taints)} + '. Add a toleration'",
        "the pod does not tolerate the taints of any pool that has what it asks for",
    )


def _shown(pools: str, texts: dict[str, str]) -> str:
    """Name the first pools of a list, with a text each."""
    short = {name: text if len(text) <= 160 else f"{text[:159]}…" for name, text in texts.items()}
    return (
        f"{pools}.filter(p, {pools}.indexOf(p) < {NAMED_POOLS})"
        f".map(p, 'pool ' + p + ' (' + {cel.table(short)}[p] + ')').join('; ')"
        f" + ({pools}.size() > {NAMED_POOLS}"
        f" ? '; ' + string({pools}.size() - {NAMED_POOLS}) + ' more pools' : '')"
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
    yield from _counts(facts)
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


def _counts(facts: Facts) -> Iterator[Rule]:
    """Yield the rules about units that are no more GPU for the one who asks for several."""
    texts = {
        "shares": "there each is a share of a GPU: several are no more GPU than 1, and the device"
        " plugin may fail the pod",
        "instances": "there each is a MIG instance, and one process uses 1, whatever it is given",
    }
    asked = (
        "variables.asked.filter(a, a.most > 1).map(a, string(a.most) + ' ' + a.name).join(' and ')"
    )
    for kind, text in texts.items():
        if not any(getattr(pool, kind) for pool in facts.pools):
            continue
        pools = (
            "variables.picked.filter(p, variables.asked.exists(a,"
            f" a.most > 1 && a.name in variables.{kind}[p]))"
        )
        yield Rule(
            f"several-{kind}",
            f"variables.able.size() == 0 || {pools}.size() == 0",
            f"'a container asks for ' + {asked} + ' and may get it in pool ' + {pools}.join(', ')"
            f" + '; {text}'",
            f"a container asks for several units where these are {kind}",
        )
