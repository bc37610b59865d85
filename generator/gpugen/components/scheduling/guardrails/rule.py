"""What a rule of the guardrails is, and the words and conditions that rules share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.facts import NAMED_POOLS, Facts

IS_POD, IS_TEMPLATE = "request.kind.kind == 'Pod'", "request.kind.kind != 'Pod'"
# A gated pod may yet be given tolerations, a bound one has passed the scheduler.
MAY_CHANGE = "(has(variables.pod.schedulingGates) || has(variables.pod.nodeName))"
# A job that waits is given tolerations when its queue admits it.
IS_SUSPENDED = "dyn(object).spec.?suspend.orValue(false)"


class Rule(NamedTuple):
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


def labels(facts: Facts) -> dict[str, str]:
    """Return the labels of each pool as text."""
    return {
        pool.name: ", ".join(f"{key}={value}" for key, value in pool.labels.items())
        for pool in facts.pools
    }


def taints(facts: Facts) -> dict[str, str]:
    """Return the taints of each pool as text."""
    return {
        pool.name: ", ".join(
            f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}"
            for t in pool.taints
        )
        for pool in facts.pools
    }


def shown(pools: str, texts: Mapping[str, str]) -> str:
    """Name the first pools of a list, with a text each."""
    short = {name: text if len(text) <= 160 else f"{text[:159]}…" for name, text in texts.items()}
    return (
        f"{pools}.filter(p, {pools}.indexOf(p) < {NAMED_POOLS})"
        f".map(p, 'pool ' + p + ' (' + {cel.table(short)}[p] + ')').join('; ')"
        f" + ({pools}.size() > {NAMED_POOLS}"
        f" ? '; ' + string({pools}.size() - {NAMED_POOLS}) + ' more pools' : '')"
    )
