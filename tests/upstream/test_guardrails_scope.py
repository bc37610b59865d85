"""The guardrails on a real API server: whom they check and when, and what pods are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.guarded import (
    GPU,
    MIG,
    ONE,
    REQUESTS,
    SPACE,
    TEMPLATES,
    Guarded,
    made_by,
    opened,
    pod,
    policies,
    refusal,
    seeing,
    spec_of,
    told,
    with_options,
)
from support.lab.cluster.api import MERGE, Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import example, examples

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]
TOO_MANY = (
    "[too-many] the pod asks for 9 nvidia.com/gpu, more than any node has (8 per node in pool hgx,"
    " 2 per node in pool t4)"
)
SANDBOXED = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "sandboxed"},
    "handler": "sandboxed",
}
SYSTEM = ("kube-system", "kube-public", "kube-node-lease", "gpu-agents", "gpu-controllers")


@pytest.fixture(scope="module")
def server(plane: Plane) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        yield found


# ---------------------------------------------------------------- who is checked, and when


@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_controller_is_answered(server: Guarded, kind: str) -> None:
    server.use(spec_of("lab", {"mode": "enforce"}))
    assert server.ask(made_by(kind, pod({GPU: "8"}))).is_good
    answer = server.ask(made_by(kind, pod({GPU: "9"})))
    assert refusal(REQUESTS, TOO_MANY) in answer.message


@pytest.mark.parametrize(
    ("main", "before", "stays", "is_good"),
    [
        (8, 8, False, True),  # one after the other
        (1, 9, False, False),
        (8, 1, True, False),  # beside each other
        (7, 1, True, True),
    ],
)
def test_init_containers_count_as_they_run(
    server: Guarded, main: int, before: int, stays: bool, is_good: bool
) -> None:
    server.use(spec_of("lab", {"mode": "enforce"}))
    item, first = pod({GPU: str(main)}), pod({GPU: str(before)})
    (container,) = first["spec"]["containers"]
    container |= {"name": "first", **({"restartPolicy": "Always"} if stays else {})}
    item["spec"]["initContainers"] = [container]
    answer = server.ask(item)
    assert answer.is_good is is_good, answer.message
    assert is_good or refusal(REQUESTS, TOO_MANY) in answer.message


@pytest.mark.parametrize(("order", "is_good"), [((4, -8), False), ((-8, 4), True)])
def test_what_stays_runs_beside_the_init_containers_after_it(
    server: Guarded, order: tuple[int, ...], is_good: bool
) -> None:
    """Positive numbers are containers that stay: 4 of them and 8 after that are 12 at a time."""
    server.use(spec_of("lab", {"mode": "enforce"}))
    item = pod(ONE)
    item["spec"]["initContainers"] = [
        {
            **pod({GPU: str(abs(count))})["spec"]["containers"][0],
            "name": f"first-{count}",
            **({"restartPolicy": "Always"} if count > 0 else {}),
        }
        for count in order
    ]
    answer = server.ask(item)
    assert answer.is_good is is_good, answer.message
    assert is_good or refusal(REQUESTS, TOO_MANY.replace("9", "12")) in answer.message


def test_the_api_answers_what_is_its_own(server: Guarded) -> None:
    """No expression of ours fails on what the API refuses anyway, or hides its reason."""
    server.use(spec_of("lab", {"mode": "enforce"}))
    half = server.ask(pod({GPU: "500m"}))
    assert "must be an integer" in half.message
    empty = pod()
    del empty["spec"]["containers"]
    assert "spec.containers: Required value" in server.ask(empty).message
    unequal = pod(ONE)
    unequal["spec"]["containers"][0]["resources"]["requests"] = {GPU: "2"}
    assert "must be equal to nvidia.com/gpu limit of 1" in server.ask(unequal).message


def test_debugging_a_pod_is_validated_by_its_environment_alone(server: Guarded) -> None:
    server.clear()
    old = pod({GPU: "9"})
    old["metadata"]["name"] = "old"
    path = f"/api/v1/namespaces/{SPACE}/pods"
    server.api.post(path, old)
    server.use(spec_of("lab", {"mode": "enforce"}))
    for value, is_good in (("all", False), ("void", True)):
        debugger = {
            "name": "debugger",
            "image": "work",
            "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}],
        }
        answer = server.api.call(
            "PATCH",
            f"{path}/old/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [debugger]}},
            query={"dryRun": "All"},
            type="application/strategic-merge-patch+json",
        )
        assert answer.is_good is is_good, answer.message
        assert is_good or "[visible-devices]" in answer.message
    server.api.delete(f"{path}/old")


def test_what_was_there_before_can_be_kept_and_removed(server: Guarded) -> None:
    """Only a new template is checked: scaling, labels, finalisers of an old workload go through."""
    server.clear()
    paths = {}
    for kind in TEMPLATES:
        old = made_by(kind, pod({GPU: "9"}))
        meta = {"name": "old", "finalizers": ["lab.example/x"]}
        folder = server.api.folder(old["apiVersion"], kind, SPACE)
        server.api.post(folder, {**old, "metadata": meta})
        paths[kind] = f"{folder}/old"
    server.use(spec_of("lab", {"mode": "enforce"}))
    for kind, path in paths.items():
        server.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        if kind != "Job":  # whose template is fixed
            template: Object = {"template": {"metadata": {"annotations": {"a": "b"}}}}
            change = {"jobTemplate": {"spec": template}} if kind == "CronJob" else template
            answer = server.api.call("PATCH", path, {"spec": change}, type=MERGE)
            assert refusal(REQUESTS, TOO_MANY) in answer.message, kind
        server.api.delete(path)
        server.api.merge(path, {"metadata": {"finalizers": None}})
        wait_until("end", lambda path=path: server.api.find(path) is None)


def test_a_controller_hears_why_its_pods_are_refused(server: Guarded) -> None:
    """A Deployment from before the policies gets an event in place of a pod that is Pending."""
    server.clear()
    old = made_by("Deployment", pod({GPU: "9"}))
    folder = server.api.folder("apps/v1", "Deployment", SPACE)
    server.api.post(folder, {**old, "spec": {**old["spec"], "replicas": 0}})
    server.use(spec_of("lab", {"mode": "enforce"}))
    server.api.merge(f"{folder}/work", {"spec": {"replicas": 1}})
    events = f"/api/v1/namespaces/{SPACE}/events"
    wait_until("event", lambda: any(TOO_MANY in e["message"] for e in server.api.items(events)))
    server.api.delete(f"{folder}/work")


# ---------------------------------------------------------------- how devices are handed out

ADMIN = {"capabilities": {"add": ["SYS_ADMIN"]}}
NVIDIA = {"runtimeClassName": "nvidia"}
STRATEGIES: dict[str, dict[str, Any]] = {
    "envvar": {"/deviceListStrategy": ["envvar"]},
    "mounts": {"/deviceListStrategy": ["volume-mounts"]},
    "mounts-of-others": {
        "/deviceListStrategy": ["volume-mounts"],
        "/components/container-toolkit": False,
    },
    "cdi": {"/deviceListStrategy": ["cdi-cri"]},
    "annotations": {"/deviceListStrategy": ["cdi-annotations", "cdi-cri"]},
    "both": {"/deviceListStrategy": ["cdi-cri", "volume-mounts"]},
    "both-by-default": {
        "/deviceListStrategy": ["cdi-cri", "volume-mounts"],
        "/hostDefaults/containerToolkit": {"version": "1.20.0", "defaultRuntime": True},
    },
}
SEEN: list[tuple[str, Object, Object, str]] = [
    # the container's own fields, the pod's, and the strategies with which it takes GPUs
    ("asks", {}, {}, "envvar"),
    ("asks-by-class", {}, NVIDIA, "envvar cdi annotations"),
    ("asks-by-another-class", {}, {"runtimeClassName": "sandboxed"}, "envvar"),
    ("asks-not", {"resources": {}}, NVIDIA, "envvar cdi annotations mounts-of-others"),
    (
        "asks-for-none",
        {"resources": {"limits": {GPU: "0"}}},
        NVIDIA,
        "envvar cdi annotations mounts-of-others",
    ),
    (
        "privileged",
        {"securityContext": {"privileged": True}},
        {},
        "envvar mounts mounts-of-others both-by-default",
    ),
    ("admin", {"securityContext": ADMIN}, NVIDIA, " ".join(STRATEGIES)),
    (
        "admin-in-small-letters",
        {"securityContext": {"capabilities": {"add": ["NET_ADMIN", "all"]}}},
        {},
        "envvar mounts mounts-of-others both-by-default",
    ),
    (
        "other-rights",
        {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": False}},
        NVIDIA,
        "envvar cdi annotations",
    ),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_devices_are_seen_as_they_are_handed_out(
    server: Guarded, plane: Plane, strategy: str
) -> None:
    """The variable is refused exactly where the runtime would take its word."""
    plane.api.apply(SANDBOXED)
    server.use(spec_of("single", {"mode": "enforce"}, **STRATEGIES[strategy]))
    for title, container, spec, dangerous in SEEN:
        item = seeing("all")
        item["spec"]["containers"][0].update(container)
        item["spec"].update(spec)
        for kind in ("Pod", "Deployment"):
            answer = server.ask(item if kind == "Pod" else made_by(kind, item))
            is_good = strategy not in dangerous.split()
            assert answer.is_good is is_good, (title, kind, answer.message)
            assert is_good or "[visible-devices]" in answer.message
            assert not [text for text in told(answer) if "visible-devices" in text]
    plane.api.delete(plane.api.path(SANDBOXED))


# ---------------------------------------------------------------- who is left alone


@pytest.mark.parametrize("mode", ["warn", "enforce"])
def test_system_and_own_namespaces_are_left_alone(server: Guarded, mode: str) -> None:
    server.use(spec_of("lab", {"mode": mode}))
    for space in SYSTEM:
        assert_untouched(server, space)


def test_exempt_namespaces_are_left_alone(server: Guarded) -> None:
    server.use(spec_of("lab", {"mode": "enforce", "exemptNamespaces": ["exempt"]}))
    assert_untouched(server, "exempt")
    assert not server.ask(pod({GPU: "9"})).is_good


@pytest.mark.parametrize(
    "labels",
    [
        {"app.kubernetes.io/managed-by": "gpugen"},
        {"kubernetes.io/metadata.name": "kube-system", "app.kubernetes.io/managed-by": "gpugen"},
        {"pod-security.kubernetes.io/enforce": "privileged", "gpugen/pool": "hgx"},
    ],
    ids=["as-ours", "another-name", "others"],
)
@pytest.mark.parametrize("mode", ["warn", "enforce"])
def test_no_label_exempts_a_namespace(server: Guarded, labels: Object, mode: str) -> None:
    """A tenant may label his namespace as he likes; its name is what the API server says."""
    server.use(spec_of("lab", {"mode": mode}))
    path = "/api/v1/namespaces/tenant"
    server.api.post("/api/v1/namespaces", {"metadata": {"name": "tenant", "labels": labels}})
    account = f"{path}/serviceaccounts/default"
    wait_until("account", lambda: server.api.find(account) is not None)
    server.api.call("PATCH", path, {"metadata": {"labels": labels}}, type=MERGE)
    found = server.api.get(path)["metadata"]["labels"]
    assert found == {**labels, "kubernetes.io/metadata.name": "tenant"}
    for item, rule in ((pod({GPU: "9"}), "too-many"), (seeing("all"), "visible-devices")):
        answer = server.ask(item, "tenant")
        assert answer.is_good is (mode == "warn")
        assert f"[{rule}]" in answer.message + "".join(told(answer))
    server.api.delete(path)
    wait_until("end", lambda: server.api.find(path) is None)


@pytest.mark.parametrize("step", [["new-agents", "new-controllers"], []])
def test_renaming_needs_the_new_names_first(server: Guarded, step: list[str]) -> None:
    """The policies in force see the agents come; afterwards the old names stay exempt as stated."""
    server.use(spec_of("lab", {"mode": "enforce", "exemptNamespaces": step}))
    server.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new-agents"}})
    account = "/api/v1/namespaces/new-agents/serviceaccounts/default"
    wait_until("account", lambda: server.api.find(account) is not None)
    assert server.ask(seeing("all"), "new-agents").is_good is bool(step)
    assert server.ask(seeing("all"), "gpu-agents").is_good
    names = {"agents": "new-agents", "controllers": "new-controllers"}
    renamed = {"mode": "enforce", "exemptNamespaces": ["gpu-agents", "gpu-controllers"]}
    server.use(spec_of("lab", renamed, **{"/namespaces": names}))
    for space in ("new-agents", "gpu-agents"):
        assert server.ask(seeing("all"), space).is_good


def assert_untouched(server: Guarded, space: str) -> None:
    """Ask for the impossible, and for what would be completed elsewhere."""
    for item in (pod({GPU: "9"}), seeing("all"), pod(ONE)):
        answer = server.ask(item, space)
        assert answer.is_good, answer.message
        assert told(answer) == []
        assert not {"runtimeClassName"} & set(answer.body["spec"])
        assert answer.body["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize("mode", ["warn", "enforce"])
def test_pods_without_gpus_are_left_alone(server: Guarded, mode: str) -> None:
    item = pod({"cpu": "1"}, {}, nodeSelector={"gpugen/pool": "none"}, tolerations=[])
    server.clear()
    alone = server.ask(item).body["spec"]
    server.use(spec_of("lab", {"mode": mode}))
    answer = server.ask(item)
    assert (answer.status, told(answer), answer.body["spec"]) == (201, [], alone)
    mirror = pod({GPU: "9"})
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    mirror["spec"]["nodeName"] = "n"
    answer = server.ask(mirror)
    assert answer.is_good, answer.message
    assert (told(answer), "runtimeClassName" in answer.body["spec"]) == ([], False)


@pytest.mark.parametrize("name", examples())
def test_our_own_pods_pass_untouched(server: Guarded, name: str) -> None:
    """Every pod of the example's DaemonSets and Deployments, in the strictest mode."""
    tree = example(name)
    for owner in ("agents", "controllers"):
        space = getattr(tree.spec.namespaces, owner)
        server.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    server.use(with_options(tree.spec, {"mode": "enforce"}))
    workloads = tree.of_kind("DaemonSet", "Deployment")
    assert workloads
    for workload in workloads:
        space = workload["metadata"]["namespace"]
        answer = server.ask(workload, space)
        assert (answer.is_good, told(answer)) == (True, []), answer.message
        template = workload["spec"]["template"]["spec"]
        bare = {
            k: v
            for k, v in template.items()
            if k not in ("serviceAccountName", "priorityClassName")
        }
        meta = {"name": "own", "labels": workload["spec"]["template"]["metadata"]["labels"]}
        item = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": bare}
        answer = server.ask(item, space)
        assert (answer.is_good, told(answer)) == (True, []), answer.message
        for key, default in (("runtimeClassName", None), ("schedulerName", "default-scheduler")):
            assert answer.body["spec"].get(key, default) == template.get(key, default)
        assert all(t in answer.body["spec"]["tolerations"] for t in template.get("tolerations", ()))


# ---------------------------------------------------------------- what pods are given


def test_a_pod_is_completed(server: Guarded) -> None:
    server.use(spec_of("lab"))
    added = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    plain = server.ask(pod(ONE)).body["spec"]
    assert plain["runtimeClassName"] == "nvidia"
    assert added in plain["tolerations"]
    assert not [t for t in plain["tolerations"] if t.get("key") == "lab.example/team"]
    first = pod({})
    first["spec"]["initContainers"] = [{**pod(ONE)["spec"]["containers"][0], "name": "first"}]
    assert server.ask(first).body["spec"]["runtimeClassName"] == "nvidia"
    given = server.ask(pod({f"{MIG}2g.10gb": "1"})).body["spec"]
    assert given["runtimeClassName"] == "nvidia"
    assert added not in given["tolerations"]  # its only pool has no taint


def test_a_toleration_of_another_effect_names_no_key(server: Guarded) -> None:
    """Whoever outlasts every eviction is still given what lets the pod in."""
    server.use(spec_of("lab", {"mode": "enforce"}))
    added = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    outlasts = {"operator": "Exists", "effect": "NoExecute"}
    answer = server.ask(pod(ONE, tolerations=[outlasts]))
    assert (answer.is_good, told(answer)) == (True, []), answer.message
    assert answer.body["spec"]["tolerations"] == [outlasts, added]
    everything = {"operator": "Exists", "effect": "NoSchedule"}
    answer = server.ask(pod(ONE, tolerations=[everything]))
    assert added not in answer.body["spec"]["tolerations"]


def test_a_daemonset_has_to_name_its_tolerations(server: Guarded) -> None:
    """Its controller makes no pod that could be completed; others' pods are made, and are."""
    server.use(spec_of("lab", {"mode": "enforce"}))
    tolerant = pod({GPU: "4"}, tolerations=[{"key": GPU, "operator": "Exists"}])
    for item, rules in ((pod({GPU: "4"}), ["[template-taint]"]), (tolerant, [])):
        answer = server.ask(made_by("DaemonSet", item))
        assert answer.is_good, answer.message
        assert [text.partition(": ")[2].split()[0] for text in told(answer)] == rules
    assert told(server.ask(made_by("Deployment", pod({GPU: "4"})))) == []


def test_none_is_not_one(server: Guarded) -> None:
    """Charts ask for 0 where they mean none; such pods start anywhere."""
    server.clear()
    item = pod({GPU: "0", f"{MIG}7g.40gb": "0", "nvidia.com/gpus": "0"})
    alone = server.ask(item).body["spec"]
    server.use(spec_of("lab", {"mode": "enforce"}))
    answer = server.ask(item)
    assert (answer.status, told(answer), answer.body["spec"]) == (201, [], alone)


def test_what_a_pod_chose_stays(server: Guarded, plane: Plane) -> None:
    plane.api.apply(SANDBOXED)
    server.use(spec_of("lab"))
    own = [
        {"key": GPU, "operator": "Equal", "value": "mine", "effect": "NoSchedule"},
        {"key": "lab.example/x", "operator": "Exists"},
    ]
    item = pod(ONE, schedulerName="volcano", runtimeClassName="sandboxed", tolerations=own)
    got = server.ask(item).body["spec"]
    assert (got["schedulerName"], got["runtimeClassName"]) == ("volcano", "sandboxed")
    assert [t for t in got["tolerations"] if "node.kubernetes.io" not in t["key"]] == own
    everything = [{"operator": "Exists"}]
    got = server.ask(pod(ONE, tolerations=everything)).body["spec"]
    assert got["tolerations"] == everything
    plane.api.delete(plane.api.path(SANDBOXED))


def test_only_stated_keys_are_tolerated(server: Guarded) -> None:
    keys = ["lab.example/team", GPU]
    server.use(spec_of("lab", {"mode": "enforce", "toleratedTaints": keys}))
    got = server.ask(pod(ONE)).body["spec"]["tolerations"]
    assert {t["key"] for t in got} >= set(keys)
    assert told(server.ask(pod({GPU: "2"}, nodeSelector={"gpugen/pool": "t4"}))) == []


def test_without_completion_pods_stay_as_they_are(server: Guarded) -> None:
    server.use(spec_of("lab", {"complete": False}))
    answer = server.ask(pod(ONE))
    assert answer.body["spec"]["schedulerName"] == "default-scheduler"
    assert "runtimeClassName" not in answer.body["spec"]
    rules = {text.partition("[")[2].partition("]")[0] for text in told(answer)}
    assert rules == {"runtime-class", "untolerated-taint"}


# ---------------------------------------------------------------- what may not be known


def test_what_something_else_advertises_is_not_checked(server: Guarded) -> None:
    others = [GPU, f"{MIG}7g.40gb", "nvidia.com/hostdev"]
    server.use(spec_of("lab", {"mode": "enforce", "otherResources": others}))
    for item in (pod({GPU: "16"}), pod({others[1]: "1"}), pod({others[2]: "1"})):
        answer = server.ask(item)
        assert (answer.is_good, told(answer)) == (True, []), answer.message
        assert "runtimeClassName" not in answer.body["spec"]
    assert not server.ask(pod({f"{MIG}4g.20gb": "1"})).is_good
    checked = spec_of("single", {"mode": "enforce", "otherResources": [GPU]})
    server.clear()
    for item in policies(checked):
        server.api.apply(item)
    impossible = pod({f"{MIG}2g.10gb": "1"})
    wait_until("refusal", lambda: not server.ask(impossible).is_good)
    assert server.ask(impossible).message.endswith(f"ask for {GPU}"), "nothing else is known of it"
    assert server.ask(pod({GPU: "100"})).is_good
    for item in policies(checked):
        server.api.delete(server.api.path(item))
    wait_until("silence", lambda: server.ask(impossible).is_good)


def test_rules_can_be_left_out(server: Guarded) -> None:
    server.use(spec_of("lab", {"mode": "enforce", "withoutRules": ["visible-devices"]}))
    assert server.ask(seeing("all")).is_good
    assert not server.ask(pod({GPU: "9"})).is_good


def test_a_gated_pod_may_yet_be_given_tolerations(server: Guarded) -> None:
    """Queues add tolerations when they open the gate of a pod, or start a suspended job."""
    server.use(spec_of("older", {"mode": "enforce"}))
    item = pod(ONE, runtimeClassName="nvidia")
    assert not server.ask(item).is_good
    gated = {**item, "spec": {**item["spec"], "schedulingGates": [{"name": "lab.example/queue"}]}}
    assert server.ask(gated).is_good
    job = made_by("Job", item)
    assert [t.partition("[")[2][:14] for t in told(server.ask(job))] == ["template-taint"]
    job["spec"]["suspend"] = True
    assert told(server.ask(job)) == []
