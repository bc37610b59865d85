"""What gpu_node decides about nodes in many states, by values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts import decisions

role = decisions.load("gpu_node")
UID = "0a"
MIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
PRODUCT = "nvidia.com/gpu.product"
POOL = {"gpugen/pool": "train"}
FLIPPED = {STATE: "pending"}
TAINT = {"key": "nvidia.com/gpu", "value": "", "effect": "NoSchedule"}
OTHER = {"key": "site/repair", "value": "x", "effect": "NoExecute"}
WANTED: dict[str, Any] = {
    "state": "present",
    "check_mode": False,
    "runs_all": True,
    "inventory_hostname": "n1.lab",
    "gpu_node_context": "lab",
    "gpu_node_cluster_uid": UID,
    "gpu_node_name": "n1",
    "gpu_node_namespace": "gpu-agents",
    "gpu_node_labels": POOL,
    "gpu_node_initial_labels": {},
    "gpu_node_taints": [],
    "gpu_node_plugin": "",
    "gpu_node_mig_manager": "",
    "gpu_node_mig_checksum": "",
    "gpu_node_mig_is_hosts": False,
    "gpu_node_resources": {},
    "gpu_node_patience": 300,
    "gpu_node_drain_timeout": "10m",
    "gpu_node_drain_empty_dir": False,
    "gpu_node_drain_past_budgets": False,
    "gpu_node_reasons": [],
    "gpu_node_kubelet_root": "/var/lib/kubelet",
    "gpu_node_registration_file": "",
}
LAYOUT = {
    "gpu_node_labels": {**POOL, MIG: "train-1"},
    "gpu_node_mig_manager": "mig-manager",
    "gpu_node_mig_checksum": "abc",
    "gpu_node_resources": {"nvidia.com/mig-1g.5gb": 28},
}
PLUGIN = {"gpu_node_plugin": "plugin", "gpu_node_resources": {"nvidia.com/gpu": 4}}
RICH = {
    **LAYOUT,
    "gpu_node_initial_labels": {"site/flips": "a"},
    "gpu_node_taints": [TAINT, OTHER],
    "gpu_node_plugin": "plugin",
    "gpu_node_registration_file": "/etc/rancher/k3s/config.yaml.d/90-gpugen.yaml",
}


def wanted(**changes: Any) -> dict[str, Any]:
    return {**WANTED, **changes}


def fields(manager: str, *keys: str, operation: str = "Apply", **more: str) -> dict[str, Any]:
    labels = {".": {}, **{f"f:{key}": {} for key in keys}}
    owned = {"f:metadata": {"f:labels": labels}}
    return {"manager": manager, "operation": operation, "fieldsV1": owned, **more}


def node(
    labels: Mapping[str, str] = POOL,
    *entries: dict[str, Any],
    notes: Mapping[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    amounts: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a node that carries labels, by default owned by the role."""
    own = entries or (fields("gpugen", *labels),)
    meta = {"resourceVersion": "7", "labels": labels, "managedFields": list(own)}
    if notes:
        meta["annotations"] = notes
    return {
        "kind": "Node",
        "metadata": meta,
        "spec": {**({"taints": taints} if taints else {}), **spec},
        "status": {"allocatable": amounts or {}},
    }


def agent(name: str, checksum: str = "") -> dict[str, Any]:
    notes = {"gpugen/config-checksum": checksum} if checksum else {}
    selector = {"matchLabels": {"app": name, "gpugen/pool": "train"}}
    spec = {"selector": selector, "template": {"metadata": {"annotations": notes}}}
    return {"kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}


def answer(*items: dict[str, Any], uid: str = UID) -> dict[str, Any]:
    space = {"kind": "Namespace", "metadata": {"uid": uid}}
    return {"rc": 0, "out": json.dumps({"items": [*items, space]}), "err": ""}


def seen(*items: dict[str, Any], files: dict[str, str] | None = None, **more: Any) -> Any:
    texts = {path: {"text": text, "mtime": 1.0} for path, text in (files or {}).items()}
    return {"files": texts, "control": {"commands": {"node": answer(*items, **more)}}}


def test_one_command_and_no_program_of_its_own_tell_everything() -> None:
    """An unchanged node costs one start of kubectl."""
    asked = role.questions(wanted(**RICH), {})
    (argv,) = asked["control"]["commands"].values()
    assert argv == [
        *("kubectl", "--context=lab", "--request-timeout=30s", "get", "--namespace=gpu-agents"),
        *("--ignore-not-found", "--show-managed-fields", "--output=json", "node/n1"),
        *("namespace/kube-system", "daemonset.apps/plugin", "daemonset.apps/mig-manager"),
    ]
    assert set(asked) == {"files", "control"}
    assert RICH["gpu_node_registration_file"] in asked["files"]
    private = wanted(__gpu_node_kubectl=["sudo", "k3s", "kubectl"])
    (argv,) = role.questions(private, {})["control"]["commands"].values()
    assert argv[:4] == ["sudo", "k3s", "kubectl", "--context=lab"]
    assert role.questions(private, seen(node())) == role.questions(private, {})


@pytest.mark.parametrize("changes", [{}, LAYOUT, PLUGIN, RICH])
def test_a_node_as_described_is_quiet(changes: dict[str, Any]) -> None:
    own = wanted(**changes)
    found = role.decide(role.described(own), own)
    assert (found["faults"], found["shortfalls"], found["interrupts"]) == ([], [], [])
    assert not found["due"]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_node_of_which_nothing_is_known_is_new(state: str) -> None:
    found = role.decide({}, wanted(state=state, **RICH))
    assert found["faults"] == []
    assert found["labels_due"] is (state == "present")
    assert not found["is_read"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rc": 1, "out": "", "err": "connection refused\n"}, "answer: connection refused"),
        (
            {"rc": 127, "out": "", "err": "[Errno 2] No such file or directory: 'kubectl'"},
            "answer: kubectl cannot be run on the control host",
        ),
        ({"rc": 1, "out": "", "err": ""}, "answer: kubectl cannot be run on the control host"),
        ({"rc": 0, "out": "", "err": ""}, "or does not answer:"),
        ({"rc": 0, "out": '{"kind": "List"}', "err": ""}, "or does not answer:"),
    ],
)
def test_a_node_that_is_not_there_is_refused(given: dict[str, Any], text: str) -> None:
    """PRE-09."""
    found = role.decide({"control": {"commands": {"node": given}}}, wanted())
    first, second = found["faults"]
    assert first.startswith("PRE-09: the cluster has no node n1 (gpu_node_name)")
    assert first.endswith(text)
    assert "access: context lab leads to the cluster that does not answer" in second
    assert found["shortfalls"] == found["faults"]


def test_another_cluster_is_refused() -> None:
    found = role.decide(seen(node(), uid="other"), wanted())
    assert found["faults"] == [
        "access: context lab leads to the cluster other, expected 0a (gpu_node_cluster_uid)"
    ]
    assert role.decide(seen(node(), uid="other"), wanted(gpu_node_cluster_uid=""))["faults"] == []


@pytest.mark.parametrize(
    ("found", "own", "due", "text"),
    [
        (node(), {}, "", ""),
        (node({"gpugen/pool": "x"}), {}, "labels_due", "gpugen/pool is x, expected train"),
        (node({}), {}, "labels_due", "gpugen/pool is absent, expected train"),
        (node(POOL, fields("other", *POOL)), {}, "labels_due", "not owned by server-side apply"),
        (
            node(POOL, fields("gpugen", *POOL, operation="Update")),
            {},
            "labels_due",
            "not owned by server-side apply",
        ),
        (
            node(POOL, fields("gpugen", *POOL, subresource="status")),
            {},
            "labels_due",
            "not owned by server-side apply",
        ),
        (
            node({**POOL, "gpugen/old": "1"}, fields("gpugen", *POOL)),
            {},
            "removals_due",
            "gpugen/old is there, and nothing names it",
        ),
        (node({**POOL, "site/own": "1"}, fields("gpugen", *POOL)), {}, "", ""),
        (node(), {"gpu_node_initial_labels": FLIPPED}, "once_due", "not owned"),
    ],
)
def test_labels_that_differ_are_due(
    found: dict[str, Any], own: dict[str, Any], due: str, text: str
) -> None:
    """KUB-01, KUB-02."""
    decision = role.decide(seen(found), wanted(**own))
    names = ("labels_due", "once_due", "removals_due")
    assert [name for name in names if decision[name]] == ([due] if due else [])
    assert bool(decision["shortfalls"]) is bool(due)
    assert decision["due"] is bool(due)
    assert text in "".join(decision["shortfalls"])


def test_labels_that_a_controller_flips_are_set_once() -> None:
    """Kept as they are where we still own them; the names are remembered."""
    initial = {"site/a": "1", "site/b": "1"}
    flipped = {**POOL, "site/a": "2"}
    own = node(flipped, fields("gpugen", *POOL), fields("gpugen-once", "site/a"))
    found = role.decide(seen(own), wanted(gpu_node_initial_labels=initial))
    given = json.loads(found["stdin"]["once"])["metadata"]
    assert given["labels"] == {"site/a": "2", "site/b": "1"}
    assert given["annotations"] == {"gpugen/initial-labels": "site/a,site/b"}
    assert found["once_due"]


def test_with_the_last_of_them_goes_what_the_controller_reported() -> None:
    labels = {**POOL, "site/a": "2", STATE: "success"}
    own = node(labels, fields("gpugen", *POOL), notes={"gpugen/initial-labels": "site/a"})
    found = role.decide(seen(own), wanted())
    assert found["argv"]["remove"][-2:] == ["site/a-", f"{STATE}-"]
    assert json.loads(found["stdin"]["once"])["metadata"]["annotations"] == {}


def test_taints_of_others_stay() -> None:
    """KUB-01."""
    theirs = {"key": "site/repair", "effect": "PreferNoSchedule"}
    old = {"key": "old", "effect": "NoSchedule"}
    own = node(taints=[theirs, old], notes={"gpugen/taints": "old:NoSchedule"})
    found = role.decide(seen(own), wanted(gpu_node_taints=[TAINT]))
    ours = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    patch = json.loads(found["argv"]["taint"][-1].removeprefix("--patch="))
    assert patch == [
        {"op": "test", "path": "/spec/taints", "value": [theirs, old]},
        {"op": "add", "path": "/spec/taints", "value": [theirs, ours]},
        {
            "op": "add",
            "path": "/metadata/annotations/gpugen~1taints",
            "value": "nvidia.com/gpu:NoSchedule",
        },
    ]
    assert found["shortfalls"] == [
        "KUB-01: taints are old:NoSchedule, site/repair:PreferNoSchedule, of which gpugen's are to"
        " be nvidia.com/gpu:NoSchedule (gpu_node_taints)"
    ]


def test_a_node_without_taints_is_guarded_by_its_version() -> None:
    found = role.decide(seen(node()), wanted(gpu_node_taints=[OTHER]))
    patch = json.loads(found["argv"]["taint"][-1].removeprefix("--patch="))
    assert patch[0] == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert patch[1]["value"] == [{"key": "site/repair", "effect": "NoExecute", "value": "x"}]
    assert patch[2] == {"op": "add", "path": "/metadata/annotations", "value": {}}
    noted = node(notes={"gpugen/taints": "old:NoSchedule"})
    patch = json.loads(
        role.decide(seen(noted), wanted())["argv"]["taint"][-1].removeprefix("--patch=")
    )
    assert patch[-1] == {"op": "remove", "path": "/metadata/annotations/gpugen~1taints"}


@pytest.mark.parametrize(
    ("labels", "amounts", "agents", "fault", "interrupts"),
    [
        ({}, {}, [], "", []),
        ({}, {"nvidia.com/gpu": "0"}, [], "", []),
        ({}, {"nvidia.com/gpu": "4"}, [], "", ["MIG layout none -> train-1"]),
        ({MIG: "old"}, {}, [], "has no daemonset/mig-manager", ["MIG layout old -> train-1"]),
        (
            {MIG: "old"},
            {},
            [agent("mig-manager", "old")],
            "(gpugen/config-checksum old, expected abc)",
            ["MIG layout old -> train-1"],
        ),
        ({}, {}, [agent("mig-manager")], "(gpugen/config-checksum none, expected abc)", []),
        ({MIG: "old"}, {}, [agent("mig-manager", "abc")], "", ["MIG layout old -> train-1"]),
    ],
)
def test_a_layout_is_named_where_the_manager_knows_it(
    labels: dict[str, str],
    amounts: dict[str, str],
    agents: list[dict[str, Any]],
    fault: str,
    interrupts: list[str],
) -> None:
    """MIG-06, DRV-15."""
    own = node({**POOL, **labels}, amounts=amounts)
    found = role.decide(seen(own, *agents), wanted(**LAYOUT))
    assert bool(found["faults"]) is bool(fault)
    assert fault in "".join(found["faults"])
    assert found["interrupts"] == interrupts
    assert found["layout_due"] is bool(agents)


def test_a_new_layout_is_named_last_and_its_former_result_goes_first() -> None:
    own = node({**POOL, MIG: "old", STATE: "success"})
    found = role.decide(seen(own, agent("mig-manager", "abc")), wanted(**LAYOUT))
    assert json.loads(found["stdin"]["stage"])["metadata"]["labels"] == {**POOL, MIG: "old"}
    assert json.loads(found["stdin"]["label"])["metadata"]["labels"] == {**POOL, MIG: "train-1"}
    assert json.loads(found["argv"]["forget"][-1].removeprefix("--patch=")) == [
        {"op": "test", "path": "/metadata/labels/nvidia.com~1mig.config", "value": "old"},
        {"op": "remove", "path": "/metadata/labels/nvidia.com~1mig.config.state"},
    ]
    assert found["has_result"]
    fresh = role.decide(seen(node(), agent("mig-manager", "abc")), wanted(**LAYOUT))
    assert json.loads(fresh["stdin"]["stage"])["metadata"]["labels"] == POOL


@pytest.mark.parametrize(
    ("labels", "amounts", "is_hosts", "is_fault"),
    [
        ({}, {}, False, True),
        ({STATE: "success", PRODUCT: "A100"}, {}, False, False),
        ({STATE: "success", PRODUCT: "A100"}, {"nvidia.com/mig-1g.5gb": "7"}, False, True),
        ({STATE: "success", PRODUCT: "A100"}, {"nvidia.com/mig-1g.5gb": "0"}, False, False),
        ({STATE: "success", PRODUCT: "A100-MIG-1g.5gb"}, {}, False, True),
        ({STATE: "success"}, {}, False, True),
        ({}, {}, True, False),
    ],
)
def test_gpus_that_would_keep_instances_are_not_forgotten(
    labels: dict[str, str], amounts: dict[str, str], *, is_hosts: bool, is_fault: bool
) -> None:
    """MIG-06."""
    own = node({**POOL, MIG: "x", **labels}, fields("gpugen", *POOL, MIG), amounts=amounts)
    found = role.decide(seen(own), wanted(gpu_node_mig_is_hosts=is_hosts))
    assert bool(found["faults"]) is is_fault
    assert ("its GPUs would keep the instances" in "".join(found["faults"])) is is_fault


def test_a_node_that_somebody_owns_by_apply_is_left_alone() -> None:
    """KUB-02."""
    note = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    found = role.decide(seen(node({}, notes=note)), wanted())
    (fault,) = found["faults"]
    assert fault.startswith("KUB-02: somebody owns this node by 'kubectl apply'; the play's")
    assert fault.endswith(
        "kubectl --context=lab annotate node n1 kubectl.kubernetes.io/last-applied-configuration-"
    )
    assert role.decide(seen(node(notes=note)), wanted())["faults"] == []


def test_a_finished_node_shows_its_resources_layout_and_registration() -> None:
    """KUB-03, MIG-06."""
    own = node({**POOL, MIG: "train-1"}, amounts={"nvidia.com/gpu": "3"})
    items = (own, agent("mig-manager", "abc"), agent("plugin"))
    file = RICH["gpu_node_registration_file"]
    changes = {**LAYOUT, **PLUGIN, "gpu_node_registration_file": file}
    found = role.decide(seen(*items), wanted(**changes))
    assert found["shortfalls"] == [
        "KUB-03: the node advertises nvidia.com/gpu 3, expected 4",
        f"MIG-06: {STATE}=not reported",
        f"registration: {file} does not register the pool's label",
    ]
    waits = ("layout_awaited", "plugin_awaited", "resources_awaited", "registration_due")
    assert [name for name in waits if found[name]] == [waits[0], *waits[2:]]
    assert found["registration"]["folder"] == "/etc/rancher/k3s/config.yaml.d"
    assert found["registration"]["content"].endswith('node-label+:\n  - "gpugen/pool=train"\n')
    without = role.decide(seen(own), wanted(**PLUGIN, gpu_node_labels=own["metadata"]["labels"]))
    assert (without["shortfalls"], without["due"]) == ([], False)


def test_gates_of_old_kubelets_are_named_once() -> None:
    """KUB-04, KUB-05, KUB-06."""
    files = {
        "/var/lib/kubelet/config.yaml": "featureGates:\n  DevicePlugins: true\n  Other: true\n",
        "/etc/default/kubelet": "ARGS=--feature-gates=DevicePlugins=false,RuntimeClass=true\n",
        "/etc/own": "Accelerators: true",
    }
    found = role.decide(seen(node(), files=files), wanted())
    assert found["old_gates"] == ["DevicePlugins", "RuntimeClass"]


HELD = {"gpugen/cordoned-by": "gpugen run 1 of me@x: driver 1 -> 2; reboot"}


def test_a_node_is_cordoned_with_a_note_of_who_did() -> None:
    """DRV-15."""
    turn = {"own": {"id": "ab", "who": "me@x"}}
    own = wanted(gpu_node_reasons=["a", "b"], __gpu_node_turn=turn)
    found = role.decide(seen(node()), own)
    assert json.loads(found["argv"]["cordon"][-1].removeprefix("--patch=")) == [
        {"op": "test", "path": "/spec/unschedulable", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {
            "op": "add",
            "path": "/metadata/annotations/gpugen~1cordoned-by",
            "value": "gpugen run ab of me@x: a; b",
        },
        {"op": "add", "path": "/spec/unschedulable", "value": True},
    ]
    assert (found["is_cordoned"], found["is_held"], found["agents_leave"]) == (False, False, True)
    noted = role.decide(seen(node(notes={"x": "y"})), wanted(__gpu_node_turn=turn))
    patch = json.loads(noted["argv"]["cordon"][-1].removeprefix("--patch="))
    assert patch[1]["value"] == "gpugen run ab of me@x: reboot"
    assert not noted["agents_leave"]


@pytest.mark.parametrize(
    ("reasons", "is_continued"),
    [(["driver 1 -> 2", "reboot", "x"], True), (["reboot"], False)],
)
def test_what_was_drained_for_the_same_reasons_is_continued(
    reasons: list[str], *, is_continued: bool
) -> None:
    found = role.decide(seen(node(notes=HELD)), wanted(gpu_node_reasons=reasons))
    assert found["is_continued"] is is_continued
    assert found["is_held"]


@pytest.mark.parametrize(
    ("notes", "is_ours", "runs_all", "expected"),
    [
        (HELD, False, True, True),
        (HELD, True, False, True),
        (HELD, False, False, False),
        ({}, True, True, False),
    ],
)
def test_who_uncordons(
    notes: dict[str, str], *, is_ours: bool, runs_all: bool, expected: bool
) -> None:
    """KUB-03."""
    own = wanted(__gpu_node_is_this_runs=is_ours, runs_all=runs_all)
    assert role.decide(seen(node(notes=notes)), own)["may_release"] is expected


@pytest.mark.parametrize("is_cordoned", [True, False])
def test_a_node_is_uncordoned_if_nobody_changed_the_note(*, is_cordoned: bool) -> None:
    own = node(notes=HELD, **({"unschedulable": True} if is_cordoned else {}))
    found = role.decide(seen(own), wanted())
    patch = json.loads(found["argv"]["uncordon"][-1].removeprefix("--patch="))
    assert patch[0]["value"] == HELD["gpugen/cordoned-by"]
    assert len(patch) == 2 + is_cordoned


def test_check_mode_asks_the_server_for_a_dry_run() -> None:
    """GEN-05."""
    found = role.decide(seen(node()), wanted(check_mode=True))
    for name in ("taint", "label", "once", "remove", "forget", "cordon", "uncordon"):
        assert found["argv"][name][-1] == "--dry-run=server"


def test_what_is_ours_is_removed() -> None:
    """DRV-23 for the node; what only hinders a change hinders no removal."""
    file = RICH["gpu_node_registration_file"]
    own = wanted(**{**RICH, "state": "absent"})
    note = {
        "gpugen/taints": "nvidia.com/gpu:NoSchedule,site/repair:NoExecute",
        "gpugen/initial-labels": "site/flips",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    labels = {**RICH["gpu_node_labels"], "site/flips": "b"}
    taints = [
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        {"key": "site/repair", "effect": "NoExecute", "value": "x"},
    ]
    entries = (fields("gpugen", *RICH["gpu_node_labels"]), fields("gpugen-once", "site/flips"))
    found = role.decide(
        seen(node(labels, *entries, notes=note, taints=taints), files={file: "x"}), own
    )
    assert found["faults"] == []
    due = ("taints_due", "labels_due", "once_due", "removals_due", "registration_due")
    assert [name for name in due if found[name]] == list(due)
    assert json.loads(found["stdin"]["label"])["metadata"]["labels"] == {}
    assert found["argv"]["remove"][-1] == "site/flips-"
    clean = role.decide(seen(node({}, fields("gpugen"))), own)
    assert (clean["due"], clean["shortfalls"]) == (False, [])


def pod(ready: str = "True", checksum: str = "", **meta: Any) -> dict[str, Any]:
    notes = {"gpugen/config-checksum": checksum} if checksum else None
    conditions = [{"type": "Ready", "status": ready}]
    return {"metadata": {"annotations": notes, **meta}, "status": {"conditions": conditions}}


def said(name: str, out: str = "", err: str = "", rc: int = 0) -> dict[str, Any]:
    return {name: {"rc": rc, "out": out, "err": err}}


def told(*commands: dict[str, Any]) -> dict[str, Any]:
    return {"control": {"commands": {key: own for each in commands for key, own in each.items()}}}


@pytest.mark.parametrize(
    ("what", "pods", "text"),
    [
        ("manager", [pod(checksum="abc")], ""),
        ("manager", [pod(checksum="old")], "no ready pod of its present configuration on the node"),
        ("plugin", [pod()], ""),
        ("plugin", [pod("False")], "daemonset/plugin has no ready pod on the node after 300 s"),
        ("plugin", [pod(deletionTimestamp="now")], "KUB-03"),
        ("plugin", [{"metadata": {}, "status": {}}], "KUB-03"),
        ("plugin", [], "KUB-03"),
    ],
)
def test_an_agent_is_waited_for(what: str, pods: list[dict[str, Any]], text: str) -> None:
    own = wanted(**{**LAYOUT, **PLUGIN})
    items = {"node": answer(node(), agent("mig-manager", "abc"), agent("plugin"))}
    asked = role.awaited(what, own, {})
    assert list(asked["commands"]) == ["node"]
    asked = role.awaited(what, own, told(items))
    name = {"manager": "mig-manager"}.get(what, what)
    argv = asked["commands"]["pods"]
    assert argv[-2:] == [f"--selector=app={name},gpugen/pool=train", "--output=json"]
    seen_now = told(items, said("pods", json.dumps({"items": pods})))
    found = role.missing(what, seen_now, own)
    assert text in found.text
    assert bool(found.text) is bool(text)
    assert "KUB-03" in role.missing(what, told(items, said("pods", rc=1)), own).text


@pytest.mark.parametrize(
    ("state", "text", "is_final"),
    [
        ({STATE: "success"}, "", False),
        ({STATE: "failed"}, f"{STATE}=failed; see the log of daemonset/mig-manager", True),
        ({}, f"MIG-06: {STATE}=not reported", False),
    ],
)
def test_a_layout_is_waited_for(state: dict[str, str], text: str, *, is_final: bool) -> None:
    """MIG-06."""
    found = role.missing("layout", told({"node": answer(node(state))}), wanted(**LAYOUT))
    assert (bool(found.text), found.is_final) == (bool(text), is_final)
    assert text in found.text
    assert list(role.awaited("layout", wanted(), {})["commands"]) == ["node"]


def test_resources_are_waited_for() -> None:
    """KUB-03."""
    own = wanted(**PLUGIN)
    short = told({"node": answer(node(amounts={"nvidia.com/gpu": "3"}))})
    assert role.missing("resources", short, own).text == (
        "KUB-03: the node advertises nvidia.com/gpu 3, expected 4; see the log of daemonset/plugin"
        " on this node"
    )
    whole = told({"node": answer(node(amounts={"nvidia.com/gpu": "4"}))})
    assert role.missing("resources", whole, own).text == ""


def test_agents_leave() -> None:
    own = wanted()
    assert role.awaited("agents_gone", own, {})["commands"]["pods"][-1] == "--output=name"
    gone = role.missing("agents_gone", told(said("pods")), own)
    stays = role.missing("agents_gone", told(said("pods", "pod/a\npod/b\n")), own)
    deaf = role.missing("agents_gone", told(said("pods", err="refused", rc=1)), own)
    assert gone.text == ""
    assert stays.text.startswith("pod/a, pod/b did not leave the node after 300 s")
    assert deaf.text == "the agents on n1: refused"


REFUSED = """\
error: unable to drain node "n1" due to error: [cannot delete Pods that declare no controller \
(use --force to override): default/bare, cannot delete Pods with local storage \
(use --delete-emptydir-data to override): default/data], continuing command...
There are pending nodes to be drained:
 n1
cannot delete Pods that declare no controller (use --force to override): default/bare
"""


def test_pods_that_would_be_lost_hold_a_drain_back() -> None:
    """DRV-15."""
    own = wanted(gpu_node_drain_empty_dir=True)
    argv = role.awaited("safe_drain", own, {})["commands"]["drain"]
    assert argv[3:] == [
        *("drain", "n1", "--ignore-daemonsets", "--timeout=10m"),
        *("--delete-emptydir-data", "--dry-run=client"),
    ]
    assert role.missing("safe_drain", told(said("drain")), wanted()).text == ""
    found = role.missing("safe_drain", told(said("drain", err=REFUSED, rc=1)), wanted()).text
    assert found.startswith("DRV-15: pods on n1 would be lost by a drain: cannot delete Pods that")
    assert "default/bare" in found
    found = role.missing("safe_drain", told(said("drain", err="refused\n", rc=1)), wanted()).text
    assert "would be lost by a drain: refused. End those" in found


PROTECTED = """\
error when evicting pods/"work-1" -n "default" (will retry after 5s): Cannot evict pod
error when evicting pods/"work-1" -n "default" (will retry after 5s): Cannot evict pod
There are pending pods in node "n1" when an error occurred: [error when waiting for pod "x"]
"""


@pytest.mark.parametrize(
    ("rc", "err", "past", "text"),
    [
        (0, "", False, ""),
        (1, PROTECTED, False, "DRV-15: work-1 in default did not leave within 10m"),
        (1, PROTECTED, True, ""),
        (1, "refused\n", True, "DRV-15: refused"),
    ],
)
def test_a_budget_holds(rc: int, err: str, text: str, *, past: bool) -> None:
    """DRV-15."""
    tried = {"rc": rc, "stderr": err}
    own = wanted(gpu_node_drain_past_budgets=past, __gpu_node_drained=tried)
    found = role.missing("drained", {}, own).text
    assert bool(found) is bool(text)
    assert found.startswith(text)
    assert role.awaited("drained", own, {}) == {}
