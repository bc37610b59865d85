"""The guardrails: which policies a spec makes, and what they say of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.components import options_schema
from gpugen.components.scheduling.guardrails import cel, contribute
from gpugen.components.scheduling.guardrails.facts import NAMED_RESOURCES, facts_of
from gpugen.components.scheduling.guardrails.rules import advice, certain
from gpugen.kube.conform import difference
from gpugen.model.assembly import Wave
from gpugen.model.spec import ClusterSpec
from support.component_specs import cluster, key, objects, pool

NAME = "guardrails"
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
REQUESTS = "ValidatingAdmissionPolicy/gpugen-gpu-requests"
ADVICE = "ValidatingAdmissionPolicy/gpugen-gpu-advice"
DEFAULTS = "MutatingAdmissionPolicy/gpugen-gpu-defaults"
MIXED = {
    "mig": {
        "strategy": "mixed",
        "layout": [{"gpus": [0, 1], "profiles": {"1g.5gb": 7}}, {"gpus": [2, 3], "profiles": {}}],
    },
    "sharing": {"mode": "time-slicing", "resources": {"nvidia.com/mig-1g.5gb": 2}, "rename": True},
}


def spec_of(*pools: Any, **options: Any) -> ClusterSpec:
    return cluster(*pools, components={NAME: options, "scheduler": True})


def variables(policy: dict[str, Any]) -> dict[str, str]:
    return {v["name"]: v["expression"] for v in policy["spec"]["variables"]}


def rule_ids(policy: dict[str, Any]) -> list[str]:
    return [v["message"].partition("]")[0][1:] for v in policy["spec"]["validations"]]


def test_on_by_itself_and_only_warning() -> None:
    spec = cluster(pool(taints=[TAINT]))
    found = objects(spec, NAME)
    assert {REQUESTS, ADVICE, DEFAULTS} <= set(found)
    actions = {
        name: item["spec"]["validationActions"]
        for name, item in found.items()
        if name.startswith("ValidatingAdmissionPolicyBinding")
    }
    assert set(map(tuple, actions.values())) == {("Warn", "Audit")}
    assert found[REQUESTS]["spec"]["failurePolicy"] == "Ignore"


def test_enforcing_refuses_what_is_certain_and_fails_closed() -> None:
    found = objects(spec_of(pool(taints=[TAINT]), mode="enforce"), NAME)
    assert found[f"{REQUESTS.replace('/', 'Binding/')}"]["spec"]["validationActions"] == ["Deny"]
    assert found[REQUESTS]["spec"]["failurePolicy"] == "Fail"
    assert found[f"{ADVICE.replace('/', 'Binding/')}"]["spec"]["validationActions"] == [
        "Warn",
        "Audit",
    ]
    assert found[ADVICE]["spec"]["failurePolicy"] == "Ignore"
    assert found[DEFAULTS]["spec"]["failurePolicy"] == "Ignore"


def test_off_renders_nothing() -> None:
    assert objects(spec_of(mode="off"), NAME) == {}
    assert NAME not in cluster(components={NAME: False}).options


def test_every_binding_leaves_system_and_own_namespaces_alone() -> None:
    spec = cluster(
        components={NAME: {"exemptNamespaces": ["monitoring"]}},
        namespaces={"agents": "a", "controllers": "c"},
    )
    bindings = [item for name, item in objects(spec, NAME).items() if "Binding/" in name]
    assert len(bindings) == 3
    for item in bindings:
        (by_name,) = item["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert by_name == {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["a", "c", "kube-node-lease", "kube-public", "kube-system", "monitoring"],
        }


@pytest.mark.parametrize(("version", "is_rendered"), [("1.35", False), ("1.36", True)])
def test_pods_are_completed_where_kubernetes_can(version: str, is_rendered: bool) -> None:
    spec = cluster(kubernetes={"version": version, "distribution": "kubeadm"})
    assert any(
        "Mutating" in key(p.object) for p in contribute(spec, spec.options[NAME]).objects
    ) is (is_rendered)


def test_a_pod_is_given_what_the_spec_has() -> None:
    def mutations(spec: ClusterSpec) -> str:
        found = objects(spec, NAME).get(DEFAULTS)
        return json.dumps(found["spec"]["mutations"]) if found else ""

    tainted = pool(taints=[TAINT])
    everything = mutations(spec_of(tainted))
    assert all(path in everything for path in ("runtimeClassName", "tolerations"))
    assert "schedulerName" not in everything
    assert "tolerations" not in mutations(cluster())
    assert "tolerations" not in mutations(spec_of(tainted, toleratedTaints=["other"]))
    without = mutations(cluster(components={"runtime-class": False}))
    assert without == ""
    assert mutations(cluster(deviceListStrategy=["cdi-cri"])) == ""
    default = {"containerToolkit": {"version": "1.20.0", "defaultRuntime": True}}
    assert mutations(cluster(pool(host=default))) == ""
    k3s = cluster(distribution="k3s")
    assert "runtimeClassName" in mutations(k3s)  # which brings the class itself


NAMING = "MutatingAdmissionPolicy/gpugen-gpu-scheduler"
MAIN = {
    "controlPlane": {"hosts": ["cp-1.lab.example"]},
    "access": {"kubeconfigContext": "lab"},
}


def test_the_main_scheduler_is_named_only_while_the_play_says_so() -> None:
    """Without paramKind a paramRef is ignored; the ConfigMap is not in git."""
    spec = cluster(components={"scheduler": {}}, **MAIN)
    found = objects(spec, NAME)
    policy, binding = found[NAMING], found[NAMING.replace("/", "Binding/")]
    assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "ConfigMap"}
    assert binding["spec"]["paramRef"] == {
        "name": "gpugen-gpu-scheduler",
        "namespace": "kube-system",
        "parameterNotFoundAction": "Allow",
    }
    assert "schedulerName" in json.dumps(policy["spec"]["mutations"])
    rendered = [p.object for p in assemble(spec).objects]
    assert "ConfigMap/gpugen-gpu-scheduler" not in [key(item) for item in rendered]
    assert Wave.SCHEDULER_NAME not in {p.wave for p in assemble(spec).objects}


def test_a_second_scheduler_is_named_in_the_wave_behind_it() -> None:
    spec = cluster(components={"scheduler": {}})
    placed = {key(p.object): p for p in assemble(spec).objects}
    assert placed["Deployment/gpu-scheduler"].wave == Wave.SCHEDULING
    assert placed[NAMING].wave == Wave.SCHEDULER_NAME == max(p.wave for p in placed.values())
    assert "param" not in json.dumps(placed[NAMING].object)


@pytest.mark.parametrize(
    "more",
    [
        {"components": {}},
        {"components": {"scheduler": {"schedulerName": "default-scheduler"}}, **MAIN},
        {"components": {"scheduler": {}, NAME: {"complete": False}}},
        {"components": {"scheduler": {}, NAME: {"mode": "off"}}},
        {
            "components": {"scheduler": {}},
            "kubernetes": {"version": "1.35", "distribution": "kubeadm"},
        },
    ],
    ids=["none", "default", "not-completed", "off", "older"],
)
def test_no_scheduler_is_named(more: dict[str, Any]) -> None:
    spec = cluster(**more)
    assert NAMING not in objects(spec, NAME)


def test_only_taints_that_keep_pods_away_are_tolerated() -> None:
    wish = {"key": "nvidia.com/gpu", "effect": "PreferNoSchedule"}
    found = objects(cluster(pool(taints=[wish])), NAME)
    assert "tolerations" not in json.dumps(found[DEFAULTS])
    assert "untolerated-taint" not in rule_ids(found[REQUESTS])


def test_facts_are_those_of_the_algebra() -> None:
    spec = spec_of(pool("cut", **MIXED), pool("t4", "t4", 2, labels={"lab.example/a": "b"}))
    facts = facts_of(spec, spec.options[NAME])
    assert [dict(p.units) for p in facts.pools] == [p.prediction.capacity for p in spec.pools]
    assert facts.pools[0].single == facts.pools[0].instances == ("nvidia.com/mig-1g.5gb.shared",)
    assert facts.pools[1].labels == {
        "gpugen/pool": "t4",
        "lab.example/a": "b",
        "nvidia.com/gpu.product": "Tesla-T4",
    }
    assert facts.instead == {
        "nvidia.com/gpu.shared": "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb": "nvidia.com/mig-1g.5gb.shared",
    }


def test_a_label_is_judged_only_where_a_component_sets_it() -> None:
    spec = cluster(components={"gpu-feature-discovery": False, NAME: {}})
    (facts,) = facts_of(spec, spec.options[NAME]).pools
    assert facts.labels == {"gpugen/pool": "a"}


def test_requests_for_several_shares_fail_where_the_plugin_fails_them() -> None:
    for sharing, is_refused in (
        ({"mode": "time-slicing"}, True),
        ({"mode": "time-slicing", "failRequestsGreaterThanOne": False}, False),
        ({"mode": "mps"}, True),
    ):
        spec = cluster(pool(sharing={**sharing, "resources": {"nvidia.com/gpu": 4}}))
        found = objects(spec, NAME)
        assert ("more-than-one-share" in rule_ids(found[REQUESTS])) is is_refused
        assert "several-shares" in rule_ids(found[ADVICE])


def test_every_rule_can_be_left_out_and_no_other() -> None:
    spec = cluster(
        pool("cut", **MIXED, taints=[TAINT]), kubernetes={"version": "1.35", "distribution": "k3s"}
    )
    facts = facts_of(spec, spec.options[NAME])
    rules = [*certain(facts), *advice(facts, idle_scheduler="x", needs_runtime_class=True)]
    schema = options_schema(NAME)
    assert schema is not None
    names = schema["properties"]["withoutRules"]["items"]["enum"]
    assert sorted(rule.id for rule in rules) == sorted(names)
    without = cluster(pool(), components={NAME: {"withoutRules": names}})
    assert {k.partition("/")[0] for k in objects(without, NAME)} == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }


def test_only_the_variables_that_rules_need_are_there() -> None:
    found = objects(cluster(), NAME)
    assert {"shares", "foreign"} & set(variables(found[REQUESTS])) == set()
    assert "taints" not in variables(found[REQUESTS])  # the pool has none


def test_a_new_pool_adds_rows_and_changes_none() -> None:
    one = variables(objects(cluster(pool("a")), NAME)[REQUESTS])["units"].splitlines()
    two = variables(objects(cluster(pool("a"), pool("b")), NAME)[REQUESTS])["units"].splitlines()
    assert two == [one[0], one[1] + ",", "  'b': {'nvidia.com/gpu': 4}", one[2]]


def test_what_is_said_has_an_end() -> None:
    """Warnings have room for 4096 characters together."""
    profiles = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
    pools = [
        pool(
            f"pool-{n:02d}",
            mig={"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {p: 1}}]},
        )
        for n, p in enumerate(profiles * 8)
    ]
    spec = cluster(*pools)
    facts = facts_of(spec, spec.options[NAME])
    assert len(facts.names) < NAMED_RESOURCES
    assert facts.where("nvidia.com/mig-1g.5gb") == (
        "4 per node in pools pool-00, pool-05, pool-10, pool-15, pool-20, pool-25, 2 more"
    )
    assert len(facts.overview) < 800


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", "'it\\'s'"),
        ("a\\b", "'a\\\\b'"),
        (8, "8"),
        (["a", "b"], "['a', 'b']"),
        ({"a": {"b": 1}, "c": {}}, "{'a': {'b': 1}, 'c': {}}"),
        ([], "[]"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert cel.literal(value) == text


def test_all_stands_in_the_last_wave_once_and_conforms() -> None:
    spec = spec_of(pool("cut", **MIXED, taints=[TAINT]))
    placed = contribute(spec, spec.options[NAME]).objects
    waves = [Wave.SCHEDULING] * 6 + [Wave.SCHEDULER_NAME] * 2
    assert [(item.wave, item.pool) for item in placed] == [(wave, "") for wave in waves]
    for item in placed:
        assert difference(item.object) == "", key(item.object)
        assert "$" not in json.dumps(item.object)  # Flux would take it for a variable


@pytest.mark.parametrize(
    ("strategy", "toolkit", "words"),
    [
        (["envvar"], True, "a container sets"),
        (["volume-mounts"], True, "a privileged container sets"),
        (["volume-mounts"], False, "a container that is privileged, or asks for no GPU, sets"),
        (["cdi-cri"], True, "Remove it, or the runtime class,"),
        (["cdi-cri", "envvar"], True, "Remove it, or the runtime class,"),
    ],
)
def test_the_rule_about_the_variable_follows_the_strategy(
    strategy: list[str], toolkit: bool, words: str
) -> None:
    on = {} if toolkit else {"container-toolkit": False}
    spec = cluster(deviceListStrategy=strategy, components=on)
    rules = objects(spec, NAME)[REQUESTS]["spec"]["validations"]
    (rule,) = (r for r in rules if r["message"].startswith("[visible-devices]"))
    assert words in rule["messageExpression"]
