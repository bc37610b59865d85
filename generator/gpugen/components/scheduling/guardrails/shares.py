"""The rules about units that are no more GPU for the one who asks for several of them."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.components.scheduling.guardrails.facts import Facts
from gpugen.components.scheduling.guardrails.rule import (
    IS_TEMPLATE,
    MAY_CHANGE,
    Rule,
    labels,
    shown,
    taints,
)

_SEVERAL = (
    "variables.asked.filter(a, a.most > 1).map(a, string(a.most) + ' ' + a.name).join(' and ')"
)
_FAILS = (
    "each is a share of a GPU, and the device plugin fails a pod whose container asks for more than"
    " 1, which would be no more GPU. Ask for 1"
)


def more_than_one_share(facts: Facts) -> Rule:
    """Refuse several shares wherever the scheduler would bind the pod, only for it to fail there.

    Every pool that has so many refuses them (split), or the node selector leaves only such pools
    (stuck), or the tolerations do (shared), while others have whole GPUs.
    """
    asks = f"'a container asks for ' + {_SEVERAL} + '; "
    split = (
        "'a container asks for ' + variables.split.map(a, string(a.most) + ' ' + a.name)"
        f".join(' and ') + '; {_FAILS}'"
    )
    stuck = (
        f"{asks}the node selector leaves only pool ' + variables.stuck.join(', ') + ', where"
        f" {_FAILS}, or let the pod into ' + {shown('variables.able', labels(facts))}"
    )
    holds, message = "variables.split.size() == 0 && variables.stuck.size() == 0", stuck
    if _has_taints(facts):
        shared = (
            f"{asks}the pod tolerates only the taints of pool ' + variables.shared.join(', ') + ',"
            f" where {_FAILS}, or tolerate those of ' + {shown('variables.closed', taints(facts))}"
        )
        holds += f" && ({IS_TEMPLATE} || {MAY_CHANGE} || variables.shared.size() == 0)"
        message = f"(variables.stuck.size() > 0 ? {stuck} : {shared})"
    return Rule(
        "more-than-one-share",
        holds,
        f"(variables.split.size() > 0 ? {split} : {message})",
        "a container asks for more than one share of a GPU",
    )


def only_shares(facts: Facts) -> str:
    """Return the first words about taints where the pools without them have shares alone.

    A template is told so by advice: something may add tolerations to its pods.
    """
    if not any(pool.single for pool in facts.pools):
        return ""
    return (
        "(variables.shared.size() == 0 ? '' : 'in pool ' + variables.shared.join(', ')"
        " + ', whose taints the pod tolerates, each ' + variables.asked.filter(a, a.most > 1)"
        ".map(a, a.name).join(' and ') + ' is a share of a GPU, of which a container gets 1; ') + "
    )


def _has_taints(facts: Facts) -> bool:
    return any(pool.taints for pool in facts.pools)


def _or_refused(facts: Facts) -> str:
    """Silence the advice where the rule above speaks, or the advice about taints."""
    if not any(pool.single for pool in facts.pools):
        return ""
    shared = f" || (variables.shared.size() > 0 && !{MAY_CHANGE})" if _has_taints(facts) else ""
    return f" || variables.stuck.size() > 0{shared}"


def counts(facts: Facts) -> Iterator[Rule]:
    """Yield the rules about units that are no more GPU for the one who asks for several."""
    texts = {
        "shares": "there each is a share of a GPU: several are no more GPU than 1, and the device"
        " plugin may fail the pod",
        "instances": "there each is a MIG instance, and one process uses 1, whatever it is given",
    }
    for kind, text in texts.items():
        if not any(getattr(pool, kind) for pool in facts.pools):
            continue
        pools = (
            "variables.picked.filter(p, variables.asked.exists(a,"
            f" a.most > 1 && a.name in variables.{kind}[p]))"
        )
        yield Rule(
            f"several-{kind}",
            f"variables.able.size() == 0 || {pools}.size() == 0{_or_refused(facts)}",
            f"'a container asks for ' + {_SEVERAL} + ' and may get it in pool '"
            f" + {pools}.join(', ') + '; {text}'",
            f"a container asks for several units where these are {kind}",
        )
