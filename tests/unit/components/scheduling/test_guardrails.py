"""The guardrails: which policies a spec makes, and what they say of it."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.components import options_schema
from gpugen.components.scheduling.guardrails import cel, contribute, facts, rows
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

    everything = mutations(spec_of(pool()))
    assert all(path in everything for path in ("runtimeClassName", "tolerations"))
    assert "schedulerName" not in everything
    assert mutations(spec_of(pool(taints=[TAINT]))) == everything
    without = {"toleratedTaints": []}
    assert "tolerations" not in mutations(spec_of(**without))
    default = {"containerToolkit": {"version": "1.20.0", "defaultRuntime": True}}
    for spec in (
        cluster(components={"runtime-class": False}),
        cluster(deviceListStrategy=["cdi-cri"]),
        cluster(pool(host=default)),
    ):
        assert "runtimeClassName" not in mutations(spec)
    nothing = cluster(components={"runtime-class": False, NAME: without})
    assert mutations(nothing) == ""
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


def table(policy: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the rows of a variable, by pool; these literals of CEL are literals of Python, too."""
    found: dict[str, Any] = ast.literal_eval(variables(policy)[name])
    return found


def test_only_taints_that_keep_pods_away_are_facts() -> None:
    wish = {"key": "nvidia.com/gpu", "effect": "PreferNoSchedule"}
    found = objects(cluster(pool(taints=[wish, TAINT | {"effect": "NoExecute"}])), NAME)
    for name in (REQUESTS, DEFAULTS):
        (row,) = table(found[name], "taints").values()
        assert row == [["nvidia.com/gpu", "", "NoExecute"]]


def test_facts_are_those_of_the_algebra() -> None:
    spec = spec_of(pool("mig", **MIXED), pool("t4", "t4", 2, labels={"lab.example/a": "b"}))
    policy = objects(spec, NAME)[REQUESTS]
    assert table(policy, "units") == {p.name: p.prediction.capacity for p in spec.pools}
    assert table(policy, "single") == {"mig": ["nvidia.com/mig-1g.5gb.shared"], "t4": []}
    assert table(objects(spec, NAME)[ADVICE], "instances") == table(policy, "single")
    labels = {"lab.example/a": "b", "nvidia.com/gpu.product": "Tesla-T4"}
    assert table(policy, "labels")["t4"] == labels
    assert table(policy, "instead") == {"mig": {}, "t4": {}}
    layout = [{"gpus": "all", "profiles": {"1g.5gb": 7}}]
    single = spec_of(pool("all", mig={"strategy": "single", "layout": layout}))
    meant = {"nvidia.com/mig-1g.5gb": "nvidia.com/gpu"}
    assert table(objects(single, NAME)[REQUESTS], "instead") == {"all": meant}


def test_what_something_else_advertises_is_no_fact() -> None:
    spec = spec_of(pool("a"), pool("mig", **MIXED), otherResources=["nvidia.com/gpu"])
    policy = objects(spec, NAME)[REQUESTS]
    assert table(policy, "units") == {
        "a": {},
        "mig": {"nvidia.com/mig-1g.5gb.shared": 28},
    }
    assert variables(policy)["others"] == "[\n'nvidia.com/gpu'\n,\n]"


def test_a_label_is_a_fact_only_where_a_component_sets_it() -> None:
    spec = cluster(components={"gpu-feature-discovery": False, NAME: {}})
    assert table(objects(spec, NAME)[REQUESTS], "labels") == {"a": {}}


def test_a_container_gets_one_share_where_the_plugin_gives_one() -> None:
    for sharing, is_single in (
        ({"mode": "time-slicing"}, True),
        ({"mode": "time-slicing", "failRequestsGreaterThanOne": False}, False),
        ({"mode": "mps"}, True),
    ):
        spec = cluster(pool(sharing={**sharing, "resources": {"nvidia.com/gpu": 4}}))
        found = objects(spec, NAME)
        assert table(found[REQUESTS], "single") == {"a": ["nvidia.com/gpu"] if is_single else []}
        assert table(found[ADVICE], "shares") == {"a": ["nvidia.com/gpu"]}


def test_every_rule_can_be_left_out_and_no_other() -> None:
    schema = options_schema(NAME)
    assert schema is not None
    names = schema["properties"]["withoutRules"]["items"]["enum"]
    assert [rule.id for rule in rows.rules()] == names
    without = cluster(pool(), components={NAME: {"withoutRules": names}})
    assert {k.partition("/")[0] for k in objects(without, NAME)} == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }


def test_every_rule_has_examples_and_a_fact_that_is_known() -> None:
    known = facts.holding(spec_of(), spec_of().options[NAME])
    known |= {"mainScheduler", "idleScheduler", "runtimeClassMissing"}
    examples = {row["id"]: row["examples"] for row in rows.read("rules")}
    for rule in rows.rules():
        assert rule.where in known
        assert examples[rule.id] or rule.id == "template-taint"
    assert {row.where for row in rows.mutations()} <= known


def test_only_the_variables_that_rules_need_are_there() -> None:
    found = objects(cluster(), NAME)
    assert {"shares", "foreign", "due"} & set(variables(found[REQUESTS])) == set()
    assert {"labels", "single"} & set(variables(found[DEFAULTS])) == set()


def test_a_new_pool_adds_lines_and_changes_none() -> None:
    one = objects(cluster(pool("a")), NAME)[REQUESTS]
    two = objects(cluster(pool("a"), pool("b")), NAME)[REQUESTS]
    for name, text in variables(one).items():
        after = iter(variables(two)[name].splitlines())
        assert all(line in after for line in text.splitlines())
    assert one["spec"]["validations"] == two["spec"]["validations"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", "'it\\'s'"),
        ("a\\b", "'a\\\\b'"),
        (8, "8"),
        (["a", "b"], "['a', 'b']"),
        ({"a": {"b": 1}, "c": {}}, "{'a': {'b': 1}, 'c': {}}"),
        ({"a": True, "b": False}, "{'a': true, 'b': false}"),
        ([], "[]"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert cel.literal(value) == text


def test_all_stands_in_the_last_wave_once_and_conforms() -> None:
    spec = spec_of(pool("mig", **MIXED, taints=[TAINT]))
    placed = contribute(spec, spec.options[NAME]).objects
    waves = [Wave.SCHEDULING] * 6 + [Wave.SCHEDULER_NAME] * 2
    assert [(item.wave, item.pool) for item in placed] == [(wave, "") for wave in waves]
    for item in placed:
        assert difference(item.object) == "", key(item.object)
        assert "$" not in json.dumps(item.object)  # Flux would take it for a variable


@pytest.mark.parametrize(
    ("strategy", "toolkit", "fact"),
    [
        (["envvar"], True, (False, False, False)),
        (["volume-mounts"], True, (False, True, True)),
        (["volume-mounts"], False, (False, True, False)),
        (["cdi-cri"], True, (True, False, False)),
        (["cdi-cri", "envvar"], True, (True, False, False)),
    ],
)
def test_the_fact_about_the_variable_follows_the_strategy(
    strategy: list[str], toolkit: bool, fact: tuple[bool, ...]
) -> None:
    on = {} if toolkit else {"container-toolkit": False}
    spec = cluster(deviceListStrategy=strategy, components=on)
    names = ("needsClass", "needsPrivileges", "isRefused")
    expected = cel.literal(dict(zip(names, fact, strict=True)))
    assert variables(objects(spec, NAME)[REQUESTS])["variable"] == expected
