"""The guardrails on a real API server: every rule both ways, word for word, in every mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from gpugen.components.scheduling.guardrails import rows
from support.guarded import (
    ADVICE,
    REQUESTS,
    Guarded,
    made_by,
    opened,
    pod,
    refusal,
    spec_of,
    told,
    warning,
)
from support.lab.cluster.api import Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]


@pytest.fixture(scope="module")
def server(plane: Plane) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        yield found


class Case(NamedTuple):
    """An example of a row: a rule, and in which cluster what is answered how."""

    rule: rows.Rule
    example: Mapping[str, Any]

    def pod(self, kind: str) -> Object:
        """Return the pod that is ``refused`` or ``accepted``."""
        stated = self.example[kind]
        item = pod(*stated["limits"], **stated.get("pod", {}))
        for container in item["spec"]["containers"]:
            if "devices" in stated:
                shown = {"name": "NVIDIA_VISIBLE_DEVICES", "value": stated["devices"]}
                container["env"] = [shown]
        return item

    def answer(self, kind: str) -> tuple[str, str]:
        """Return the rule that answers a pod, or what makes pods, and what it says.

        Something may add tolerations to the pods of a template, so that is only advice.
        """
        of_template = kind != "Pod" and (
            "template" in self.example or self.rule.id == "untolerated-taint"
        )
        if of_template:
            return "template-taint", self.example.get("template", self.example["says"])
        return self.rule.id, self.example["says"]


def cases() -> list[Case]:
    """Return the examples of all rows; each cluster is applied once a mode."""
    rules = {rule.id: rule for rule in rows.rules()}
    found = [
        Case(rules[row["id"]], example) for row in rows.read("rules") for example in row["examples"]
    ]
    return sorted(found, key=lambda case: str(case.example["cluster"]))


@pytest.mark.parametrize("case", cases(), ids=lambda c: f"{c.example['cluster']}-{c.rule.id}")
@pytest.mark.parametrize("mode", ["warn", "enforce"])
def test_rule(server: Guarded, mode: str, case: Case) -> None:
    server.use(spec_of(case.example["cluster"], {"mode": mode}))
    certain = {rule.id for rule in rows.rules() if rule.is_certain}
    for kind in ("Pod", "Deployment"):
        bad, good = (
            item if kind == "Pod" else made_by(kind, item)
            for item in (case.pod("refused"), case.pod("accepted"))
        )
        passed = server.ask(good)
        assert passed.is_good, passed.message
        assert told(passed) == []
        rule, text = case.answer(kind)
        answer, says = server.ask(bad), f"[{rule}] {text}"
        if mode == "enforce" and rule in certain:
            assert answer.status == 403
            assert answer.message.partition('" ')[2] == refusal(REQUESTS, says)
        else:
            assert answer.is_good, answer.message
            assert told(answer) == [warning(REQUESTS if rule in certain else ADVICE, says)]
