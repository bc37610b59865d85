"""The table of what is on by itself."""

from __future__ import annotations

import pytest

from gpugen import components
from gpugen.components import stacks
from support.component_specs import cluster, pool

MPS = {"mode": "mps", "resources": {"nvidia.com/gpu": 2}}


def test_every_component_has_one_line_and_a_rule_for_every_stack() -> None:
    assert tuple(stacks.TABLE) == components.names()
    assert {len(rules) for rules in stacks.TABLE.values()} == {len(stacks.STACKS)}


@pytest.mark.parametrize(
    ("component", "named"),
    [("mps-control-daemon", ["b"]), ("device-plugin", ["a", "b"]), ("scheduler", [])],
)
def test_a_component_is_on_for_the_pools_that_its_rule_names(
    component: str, named: list[str]
) -> None:
    spec = cluster(pool("a"), pool("b", sharing=MPS))
    assert [one.name for one in stacks.pools(spec, component)] == named
    assert (component in spec.options) == bool(named)


def test_what_the_spec_says_of_a_component_wins() -> None:
    spec = cluster(components={"grafana": {}, "guardrails": False})
    assert "grafana" in spec.options
    assert "guardrails" not in spec.options
