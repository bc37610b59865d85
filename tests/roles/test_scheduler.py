"""What the role kube_scheduler reads on a host, and decides about it."""

from __future__ import annotations

from support import ROOT

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.hosts.decisions import load
from support.wanted import wanted

role: Any = load("kube_scheduler")
host: Any = load("kube_scheduler.host")
texts: Any = load("kube_scheduler.texts")
PROGRAM = ROOT / "plugins" / "module_utils" / "scheduler.py"
OURS = "kube-scheduler-arg+:\n  - config=/etc/rancher/k3s/gpugen-kube-scheduler.yaml\n"


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """Return what the program defines."""
    return runpy.run_path(str(PROGRAM))


def test_flags_are_read_as_the_scheduler_reads_them(program: dict[str, Any]) -> None:
    """DIST-11: leader-elect is the flag that wins over the file."""
    argv = ["kube-scheduler", "--leader-elect=false", "--profiling", "--v=2", "x"]
    assert program["flags"](argv) == {"leader-elect": "false", "profiling": "true", "v": "2"}


@pytest.mark.parametrize(
    ("name", "text", "is_clash"),
    [
        ("config.yaml", "kube-scheduler-arg:\n- v=2\nkubelet-arg:\n- config=/x\n", False),
        ("config.yaml", "kube-scheduler-arg:\n  - config=/etc/own.yaml\n", True),
        ("config.yaml", 'kube-scheduler-arg: ["v=2", "config=/etc/own.yaml"]\n', True),
        ("config.yaml", "# kube-scheduler-arg: [config=/x]\ntoken: t\n", False),
        ("config.yaml.d/10-site.yaml", "kube-scheduler-arg: [v=2]\n", False),
        ("config.yaml.d/99-site.yaml", "kube-scheduler-arg: [v=2]\n", True),
        ("config.yaml.d/99-site.yaml", "kube-scheduler-arg+: [v=2]\n", False),
    ],
)
def test_settings_that_would_replace_ours_are_found(
    program: dict[str, Any], tmp_path: Path, name: str, text: str, is_clash: bool
) -> None:
    """A later file without a plus replaces the list, an earlier one is added to."""
    own = tmp_path / "config.yaml.d" / "90-gpugen-kube-scheduler.yaml"
    own.parent.mkdir()
    own.write_text(OURS)
    (tmp_path / name).write_text(text)
    others = [str(own.parent / "*.yaml"), str(tmp_path / "config.yaml")]
    found = program["clashes"]({"own": str(own), "others": others, "unit": ""})
    assert found == ([str(tmp_path / name)] if is_clash else [])


def test_a_host_without_a_scheduler_is_told_so(program: dict[str, Any], tmp_path: Path) -> None:
    """DIST-10: neither is there a kubeconfig."""
    ask = {"unit": "", "in_process": "k3s", "file": "/none", "own": "", "others": [], "wait": 0}
    found = program["answer"]({**ask, "kubeconfig": str(tmp_path / "none"), "kubectl": ["false"]})
    assert found["missing"] == "no main kube-scheduler runs"
    assert found["has_kubeconfig"] is False


# ---------------------------------------------------------------- what is decided

CONF = "/etc/kubernetes/scheduler.conf"
OWN = {"clientConnection": {"kubeconfig": CONF}, "profiles": [{"schedulerName": "gpu-binpack"}]}
UID = "5f1c3f0e-8a1b-4c55-9d2e-0d6f6f0b7a11"
SWITCH = {
    "kind": "ConfigMap",
    "metadata": {"name": "served", "namespace": "gpu"},
    "data": {"profile": "gpu-binpack"},
}


def of(mode: str, **stated: Any) -> dict[str, Any]:
    """Return variables of a mode; further ones by the end of their names."""
    common = {"configuration": OWN, "version": "1.36", "mode": mode, "kubectl": ["kubectl"]}
    more = {"context": "lab", "switch": SWITCH}
    own = {f"kube_scheduler_{name}": value for name, value in {**common, **more, **stated}.items()}
    return wanted(**own)


POD = of(
    "static-pod",
    file="/etc/kubernetes/gpugen/kube-scheduler.yaml",
    flag_file="/etc/kubernetes/manifests/kube-scheduler.yaml",
    patch_folder="/etc/kubernetes/gpugen/patches",
)
K3S: dict[str, Any] = of(
    "drop-in",
    file="/etc/rancher/k3s/gpugen-kube-scheduler.yaml",
    flag_file="/etc/rancher/k3s/config.yaml.d/90-gpugen-kube-scheduler.yaml",
    unit="k3s.service",
    interrupts="the API server pauses",
    in_process="k3s",
    image="mirror.example:5000/kube-scheduler:v1.36.0@sha256:00",
)
K0S: dict[str, Any] = of(
    "reported",
    file="/etc/k0s/gpugen-kube-scheduler.yaml",
    flag_file="/etc/k0s/k0s.yaml",
    unit="k0scontroller.service",
    lines="extraArgs: config",
)
MODES = [POD, K3S, K0S]
ABSENT = {"state": "absent"}
CHECK = {"check_mode": True}


def seen(own: dict[str, Any], files: dict[str, str | None] | None = None, **now: Any) -> Any:
    """Return the answers of a host that is as expected, but for files and for how it runs."""
    found = role.described(own)
    for name, text in (files or {}).items():
        path = own[f"kube_scheduler_{name}"]
        found["files"][path] = None if text is None else {"text": text, "mtime": 0}
    scheduler = {**found["schedulers"]["own"], **now}
    return {"host": {}, **found, "schedulers": {"own": scheduler}, "commands": {}}


def manifest(**container: Any) -> Any:
    return texts.to_yaml({"kind": "Pod", "metadata": {}, "spec": {"containers": [container]}})


PLAIN = manifest(command=["kube-scheduler"])
GONE: dict[str, str | None] = {"file": None}
BEFORE: dict[str, str | None] = {"file": None, "flag_file": PLAIN}
FRESH: dict[str, str | None] = {"file": None, "flag_file": None}
NOT_RUNNING = {key: host.UNKNOWN[key] for key in ("pid", "flags", "version", "missing")}


@pytest.mark.parametrize("own", MODES, ids=["static-pod", "drop-in", "reported"])
def test_a_host_as_expected_is_left_alone(own: dict[str, Any]) -> None:
    found = role.decide(seen(own), own)
    assert (found["faults"], found["shortfalls"], found["interrupts"]) == ([], [], [])
    assert (found["due"], found["files"], found["folders"], found["restored"]) == (
        False,
        [],
        [],
        [],
    )
    assert role.questions(own, seen(own))["commands"] == {}


FAULTS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "unknown": ({}, POD, ["GEN-09: no main", f"DIST-10: found no {CONF}, by"]),
    "no-scheduler": (
        seen(K3S, **NOT_RUNNING),
        K3S,
        ["GEN-09: no main scheduler runs here by k3s.service;"],
    ),
    "no-manifest": (
        seen(POD, {"flag_file": ""}),
        POD,
        ["GEN-09: no main scheduler runs here by /"],
    ),
    "no-yaml": (seen(POD, {"flag_file": "{"}), POD, ["GEN-09: no main scheduler"]),
    "text-alone": (seen(POD, {"flag_file": "x"}), POD, ["GEN-09: no main scheduler"]),
    "our-file-is-gone": (seen(POD, GONE, **NOT_RUNNING), POD, []),
    "sick": (
        seen(POD, missing="/livez answers 500"),
        POD,
        ["GEN-11: the scheduler is not healthy, before anything was changed: /livez answers 500;"],
    ),
    "sick-before-a-restart": (
        seen(K0S, missing="x", is_stale=True),
        K0S,
        [],
    ),
    "other-version": (
        seen(POD, version="1.35.4"),
        POD,
        ["GEN-09: found kube-scheduler 1.35.4, expected 1.36 (kubernetes.version in the spec);"],
    ),
    "no-version": (seen(POD, version=""), POD, []),
    "no-kubeconfig": (
        seen(POD, has_kubeconfig=False, flags={"kubeconfig": "/x"}),
        POD,
        ["DIST-10: found no /x, by which"],
    ),
    "lost-flags": (
        seen(POD, flags={"kube-api-content-type": "x", "contention-profiling": "true"}),
        POD,
        ["DIST-10: found the flags contention-profiling, kube-api-content-type, which have no"],
    ),
    "file-of-others": (
        seen(POD, flags={"config": "/etc/own.yaml"}),
        POD,
        ["GEN-12: the scheduler already runs with /etc/own.yaml of somebody else;"],
    ),
    "clashes": (
        seen(K3S, clashes=["/a", "/b"]),
        K3S,
        ["GEN-12: /a, /b would replace our flag, or bring another --config;"],
    ),
    "restart": (seen(K3S, GONE), K3S, ["DRV-15: the API server pauses; pass -e gpugen_allow"]),
    "restart-allowed": (seen(K3S, GONE), {**K3S, "__kube_scheduler_may_interrupt": True}, []),
    "restart-checked": (seen(K3S, GONE), {**K3S, **CHECK}, []),
    "named-by-others": (
        seen(K0S),
        {**K0S, **ABSENT},
        ["GEN-12: remove extraArgs: config from /etc/k0s/k0s.yaml and restart k0scontroller"],
    ),
    "not-named-by-others": (seen(K0S, flags={}), {**K0S, **ABSENT}, []),
    "removed": (seen(POD, version="1.1.1"), {**POD, **ABSENT}, []),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_a_scheduler_is_refused_for(case: str) -> None:
    found, own, beginnings = FAULTS[case]
    faults = role.decide(found, own)["faults"]
    assert len(faults) == len(beginnings), faults
    for fault, beginning in zip(faults, beginnings, strict=True):
        assert fault.startswith(beginning)


ERROR = 'E1122 10:00:00.000000   1 run.go:72] "failed" err="weight 101"'
ALLOWED = {**K3S, "__kube_scheduler_may_interrupt": True}


@pytest.mark.parametrize(
    ("rc", "err", "fault"),
    [
        (0, "", None),
        (1, f"I1122 x\n{ERROR}\n\n", "weight 101"),
        (1, "W1122 x\n", "no answer"),
        (127, "no such file", "no such file"),
    ],
)
def test_what_its_program_does_not_read_is_refused(rc: int, err: str, fault: str | None) -> None:
    """DIST-13: by the program that runs, or by the one of an image."""
    answer = {"reading": {"rc": rc, "out": "", "err": err}}
    words = "DIST-13: kube-scheduler 1.36.0 of this host does not read the configuration: {}"
    faults = role.decide({**seen(POD, BEFORE), "commands": answer}, POD)["faults"]
    assert faults == ([] if fault is None else [words.format(fault)])
    words = "DIST-13: a wrong file would end the whole k3s server, and the program of {} has not"
    faults = role.decide({**seen(K3S, GONE), "commands": answer}, ALLOWED)["faults"]
    named = words.format(K3S["kube_scheduler_image"])
    assert faults == ([] if fault is None else [f"{named} read this one: {fault}"])


def test_the_program_that_runs_reads_what_would_be_written() -> None:
    """DIST-13: from its standard input, with the gates that it runs with."""
    found = seen(POD, BEFORE, flags={"feature-gates": "A=true"})
    asked = role.questions(POD, found)["commands"]["reading"]
    flags = ["--config=/dev/stdin", "--secure-port=0", "--write-config-to=/dev/null"]
    assert asked["argv"] == ["/proc/1/exe", *flags, "--feature-gates=A=true"]
    assert asked["stdin"] == texts.configuration(POD, {})
    for other in (seen(POD, BEFORE, program=""), seen(POD, BEFORE, has_kubeconfig=False)):
        assert role.questions(POD, other)["commands"] == {}
    assert role.questions({**POD, **ABSENT}, found)["commands"] == {}


def test_an_image_brings_the_program_where_there_is_none() -> None:
    """DIST-13: the store knows an image with a digest by its digest alone."""
    found = seen(K3S, GONE, program="")
    assert role.questions(K3S, found)["commands"] == {}
    own = {**K3S, "__kube_scheduler_has_image": True}
    assert role.questions(own, found)["commands"]["reading"]["argv"][0] == host.IMAGE_PROGRAM
    decision = role.decide(found, own)
    assert decision["image_due"] is True
    assert decision["is_mounted"] is False
    assert decision["mount"][-2] == "mirror.example:5000/kube-scheduler@sha256:00"
    assert decision["mount"][:4] == ["k3s", "ctr", "--namespace=k8s.io", "images"]
    tagged = {**K3S, "kube_scheduler_image": "mirror.example:5000/kube-scheduler:v1"}
    assert role.decide({}, tagged)["pull"][-1] == "mirror.example:5000/kube-scheduler:v1"


def test_a_static_pod_gets_its_flag_and_keeps_its_fields() -> None:
    """The rollback restores what was there, and removes what was not."""
    found = {**seen(POD, BEFORE, flags={}), "globs": {}}
    decision = role.decide(found, POD)
    config, flag = decision["files"]
    assert (config["path"], config["mode"]) == (POD["kube_scheduler_file"], "0644")
    assert (flag["path"], flag["mode"]) == (POD["kube_scheduler_flag_file"], "0600")
    (container,) = yaml.safe_load(flag["content"])["spec"]["containers"]
    assert container["command"] == ["kube-scheduler", f"--config={POD['kube_scheduler_file']}"]
    folders = ["/etc/kubernetes/gpugen", "/etc/kubernetes/gpugen/patches"]
    assert decision["folders"] == folders
    assert decision["new_files"] == [POD["kube_scheduler_file"], *folders]
    assert [own["content"] for own in decision["restored"]] == [PLAIN]
    assert decision["wait_due"] is True
    assert decision["restart_due"] is False
    assert decision["asks"]["changed"]["after"] == [flag["path"]]
    assert decision["asks"]["restored"]["config"] == ""
    assert decision["asks"]["changed"]["wait"] == 180
    assert role.decide(found, {**POD, **CHECK})["files"] == [flag]  # its folder is there


def test_a_manifest_that_has_our_lines_is_made_bare() -> None:
    notes = {"annotations": {"a": "b"}}
    mounts = {"volumeMounts": [{"name": "k"}]}
    container = {"command": ["kube-scheduler", "--v=2"], **mounts}
    spec = {"containers": [container, {"name": "x"}], "volumes": [{"name": "k"}]}
    own = {"kind": "Pod", "metadata": notes, "spec": spec}
    path = POD["kube_scheduler_file"]
    full = texts.with_file(own, path, "text")
    assert texts.with_file(full, path, "text") == full
    assert full["spec"]["volumes"][1]["hostPath"]["path"] == "/etc/kubernetes/gpugen"
    assert texts.bare(full, path) == own
    assert texts.bare({}, path)["spec"] == {"containers": [{"command": []}]}


def test_flags_that_a_file_overrides_are_carried_over() -> None:
    """DIST-11."""
    flags = {"kubeconfig": "/x", "kube-api-qps": "50", "kube-api-burst": "100", "profiling": "true"}
    found = yaml.safe_load(texts.configuration(POD, {**flags, "leader-elect": "false"}))
    assert found["clientConnection"] == {"kubeconfig": "/x", "qps": 50.0, "burst": 100}
    assert found["leaderElection"] == {"leaderElect": False}
    assert found["enableProfiling"] is True
    assert "enableProfiling" not in texts.configuration(POD, {"profiling": "false"})


def test_a_server_is_restarted_where_our_files_are_newer() -> None:
    """GEN-10."""
    decision = role.decide(seen(K3S, is_stale=True), ALLOWED)
    assert decision["interrupts"] == ["the API server pauses"]
    assert decision["restart_due"] is True
    assert decision["files"] == []
    assert decision["shortfalls"] == [
        "GEN-10: k3s.service was started before the files were written"
    ]
    new = role.decide(seen(K3S, FRESH), ALLOWED)
    assert [own["path"] for own in new["files"]] == [
        K3S["kube_scheduler_file"],
        K3S["kube_scheduler_flag_file"],
    ]


def test_what_the_administrator_has_to_add_is_reported() -> None:
    decision = role.decide(seen(K0S, GONE, flags={}), K0S)
    assert decision["is_named"] is False
    assert (decision["restart_due"], decision["wait_due"]) == (False, False)
    assert decision["shortfalls"] == [
        "DIST-10: /etc/k0s/gpugen-kube-scheduler.yaml is not what the spec describes",
        "DIST-10: the scheduler runs without it; add to /etc/k0s/k0s.yaml: extraArgs: config,"
        " then restart k0scontroller.service",
    ]
    assert decision["new_files"] == [K0S["kube_scheduler_file"]]


def test_what_verify_finds() -> None:
    decision = role.decide(seen(POD, {"flag_file": PLAIN}, flags={}, missing="no answer"), POD)
    assert decision["shortfalls"] == [
        f"DIST-10: {POD['kube_scheduler_flag_file']} does not name it any more;"
        " did an upgrade write it anew?",
        "DIST-10: the scheduler runs without it",
        "DIST-11: no answer",
    ]


@pytest.mark.parametrize("others", [[], ["/etc/rancher/k3s/config.yaml.d/own.yaml"]])
def test_the_removal_leaves_the_settings_of_others(others: list[str]) -> None:
    flag = K3S["kube_scheduler_flag_file"]
    folder = "/etc/rancher/k3s/config.yaml.d"
    found = {**seen(K3S), "globs": {f"{folder}/*": [flag, *others]}}
    decision = role.decide(found, {**K3S, **ABSENT})
    assert (decision["due"], decision["flag_held"], decision["is_static_pod"]) == (
        False,
        True,
        False,
    )
    assert decision["leftovers"] == [K3S["kube_scheduler_file"], *([] if others else [folder])]
    gone = role.decide(seen(K3S, {"flag_file": None}), {**K3S, **ABSENT})
    assert gone["flag_held"] is False


def test_the_removal_restores_a_static_pod() -> None:
    decision = role.decide(seen(POD), {**POD, **ABSENT})
    assert decision["flag_held"] is True
    (container,) = yaml.safe_load(decision["bare"])["spec"]["containers"]
    assert container["command"] == ["kube-scheduler"]
    assert decision["leftovers"] == [POD["kube_scheduler_file"], "/etc/kubernetes/gpugen"]
    assert role.decide(seen(POD, {"flag_file": PLAIN}), {**POD, **ABSENT})["flag_held"] is False


class Word(str):
    """Text of a kind of its own, as Ansible has it."""

    __slots__ = ()


def test_values_of_ansible_are_written_as_plain_ones() -> None:
    own = [Word("a")]
    assert texts.to_yaml({Word("b"): own, "c": own}) == "b:\n- a\nc:\n- a\n"


# ---------------------------------------------------------------- what the cluster says

NAMESPACE = {"kind": "Namespace", "metadata": {"uid": UID}}


def told(what: str, own: dict[str, Any], *items: dict[str, Any], rc: int = 0, err: str = "") -> str:
    """Return what is missing in view of an answer of the cluster."""
    asked = role.awaited(what, own, {})["commands"]
    answer = {"rc": rc, "out": json.dumps({"items": items}), "err": err}
    control = {"commands": dict.fromkeys(asked, answer)}
    return str(role.missing(what, {"control": control}, own).text)


def test_the_cluster_is_asked_for_its_identity_and_the_configmap() -> None:
    (argv,) = role.awaited("switch", POD, {})["commands"].values()
    assert argv[:3] == ["kubectl", "--context=lab", "--request-timeout=30s"]
    assert "configmap/served" in argv
    assert "--namespace=gpu" in argv


def test_another_cluster_is_refused() -> None:
    own = {**POD, "kube_scheduler_cluster_uid": "other"}
    assert told("cluster", POD, NAMESPACE) == ""
    assert told("cluster", {**POD, "kube_scheduler_cluster_uid": UID}, NAMESPACE) == ""
    assert told("cluster", own, NAMESPACE).startswith(
        f"context lab leads to the cluster {UID}, expected other (kube_scheduler_cluster_uid)"
    )
    assert told("cluster", POD, rc=1, err=" refused\n") == (
        "context lab leads to the cluster that does not answer, expected any"
        " (kube_scheduler_cluster_uid); refused"
    )


def test_a_configmap_that_says_something_else_is_missing() -> None:
    other = {**SWITCH, "data": {"profile": "old"}}
    assert told("switch", POD, NAMESPACE, SWITCH) == ""
    for items in ([NAMESPACE], [NAMESPACE, other]):
        assert told("switch", POD, *items).startswith("configmap/served of gpu does not say what")
        assert told("cluster", POD, *items) == ""
