"""What is decided about the MIG layout of hosts in many states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.wanted import wanted

mig: Any = load("nvidia_mig")
places: Any = load("nvidia_mig.places")
host: Any = load("nvidia_mig.host")

LAYOUT, VERSION = "small-1a2b", "0.14.5"
LAYOUTS = f"version: v1\nmig-configs:\n  {LAYOUT}:\n  - devices: all\n    mig-enabled: true\n"
HOST = wanted(
    nvidia_mig_manager="host",
    nvidia_mig_version=VERSION,
    nvidia_mig_config=LAYOUT,
    nvidia_mig_layouts=LAYOUTS,
)
CLUSTER = wanted(nvidia_mig_manager="cluster")
NONE = wanted(nvidia_mig_manager="none")
ABSENT, CHECK, STAYS = {"state": "absent"}, {"check_mode": True}, {"nvidia_mig_can_drain": False}
TREES = host.trees(HOST)
ASSERT, ASSERT_NEW = f"assert {LAYOUT}", f"assert new {LAYOUT}"


def file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 1.0}


def answer(rc: int, out: str = "", err: str = "") -> dict[str, Any]:
    return {"rc": rc, "out": out, "err": err}


def seen(own: Mapping[str, Any] = HOST, **parts: Any) -> dict[str, Any]:
    """Return the answers of a host that is as expected, with parts exchanged."""
    found = {"host": {"pkg_mgr": "apt"}, "globs": {}, **mig.described(own)}
    for kind, answers in parts.items():
        is_whole = kind in ("packages", "host")
        found[kind] = answers if is_whole else {**found.get(kind, {}), **answers}
    return found


def unit(**own: str) -> dict[str, Any]:
    return {places.UNIT: {"LoadState": "loaded", "ActiveState": "inactive", **own}}


def at(version: str) -> dict[str, Any]:
    return {places.PACKAGE: {"version": f"{version}-1", "held": False}}


OTHER = {ASSERT: answer(1, err="GPU 3 differs\n")}  # the GPUs carry another layout
IDLE = {**OTHER, "kubelet": answer(1)}
BUSY = {**IDLE, "apps": answer(0, "42\n43\n[Not Supported]\n")}
FORMER = {places.FILE: file("old-1: []\n"), places.OVERRIDE: file(places.override("old-1", "x"))}
NOT_OURS = {places.RECORD: None}
ENABLED = unit(UnitFileState="enabled")

# what is seen, variables, beginnings of the faults
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), HOST, []),
    "good-cluster": (seen(CLUSTER), CLUSTER, []),
    "none": ({}, NONE, []),
    "fresh": ({}, HOST, []),
    "two-owners": (
        seen(CLUSTER, units=ENABLED),
        CLUSTER,
        ["MIG-01: nvidia-mig-manager.service is enabled, and the cluster's MIG manager owns"],
    ),
    "still-ours": (
        seen(CLUSTER, units=ENABLED, files={places.RECORD: file('{"a": 1}')}),
        CLUSTER,
        [],
    ),
    "selection-of-others": (
        seen(files=NOT_OURS),
        HOST,
        [f"MIG-01: {places.OVERRIDE} selects {LAYOUT}, which gpugen did not write"],
    ),
    "file-of-others": (
        seen(files={**NOT_OURS, places.OVERRIDE: file("MIG_PARTED_CONFIG_FILE=/x\n")}),
        HOST,
        [f"MIG-01: {places.OVERRIDE} selects , which gpugen did not write"],
    ),
    "nothing-selected": (
        seen(files={**NOT_OURS, places.OVERRIDE: file("MIG_PARTED_SELECTED_CONFIG=all-disabled")}),
        HOST,
        [],
    ),
    "old-version": (
        seen(),
        {**HOST, "nvidia_mig_version": "0.14.4"},
        ["MIG-03: nvidia-mig-manager 0.14.4 may forget the layout, expected 0.14.5 or newer"],
    ),
    "no-version": (
        seen(),
        {**HOST, "nvidia_mig_version": ""},
        ["MIG-03: nvidia-mig-manager without a version may forget"],
    ),
    "newer-version": (seen(), {**HOST, "nvidia_mig_version": "0.15.0"}, []),
    "no-layouts": (
        seen(),
        {**HOST, "nvidia_mig_layouts": "", "nvidia_mig_config": ""},
        ["MIG-08: the layouts do not contain the empty name (nvidia_mig_config"],
    ),
    "node": (seen(commands=OTHER), HOST, []),
    "node-that-stays": (
        seen(commands=OTHER),
        {**HOST, **STAYS},
        [f"MIG-06: the GPUs do not carry layout {LAYOUT} (nvidia_mig_config), the kubelet runs"],
    ),
    "busy": (
        seen(commands=BUSY),
        HOST,
        ["MIG-06: processes 42, 43 compute on the GPUs; end them before the layout changes"],
    ),
    "busy-node-is-drained": (seen(commands={**BUSY, "kubelet": answer(0)}), HOST, []),
    "busy-and-done": (seen(commands={"apps": answer(0, "42\n")}), HOST, []),
    "removed": (seen(commands=BUSY), {**HOST, **ABSENT}, []),
}
SHORTFALLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), HOST, []),
    "good-cluster": (seen(CLUSTER), CLUSTER, []),
    "two-owners": (
        seen(CLUSTER, units=ENABLED),
        CLUSTER,
        ["MIG-01: nvidia-mig-manager.service is enabled"],
    ),
    "other-layout": (
        seen(commands=OTHER),
        HOST,
        [f"MIG-05: the GPUs do not carry layout {LAYOUT} (nvidia_mig_config): GPU 3 differs"],
    ),
    "fresh": (
        {},
        HOST,
        [
            f"MIG-05: the GPUs do not carry layout {LAYOUT} (nvidia_mig_config): no layout of that",
            f"MIG-02: {places.FILE} is not what the spec says",
            f"MIG-03: {places.OVERRIDE} selects nothing for the next boot, expected {LAYOUT}",
            f"MIG-03: nvidia-mig-manager is not installed, expected {VERSION}",
            f"MIG-09: {places.UNIT} is missing: the next boot would not apply the layout",
        ],
    ),
    "other-version": (
        seen(packages=at("0.15.0")),
        HOST,
        [f"MIG-03: nvidia-mig-manager is 0.15.0-1, expected {VERSION}"],
    ),
    "epoch": (seen(packages=at(f"1:{VERSION}")), HOST, []),
}
STEPS = ("package", "wait", "layout", "keep", "resume", "leave", "removal")
DUE: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "good": (seen(), HOST, set()),
    "none": ({}, NONE, set()),
    "fresh": ({}, HOST, {"package", "layout"}),
    "booting": (seen(units=unit(ActiveState="activating", UnitFileState="enabled")), HOST, {"wait"}),
    "other-layout": (seen(commands=OTHER), HOST, {"layout"}),
    "other-settings": (seen(files={places.DROPIN: None}), HOST, {"keep"}),
    "disabled": (seen(units=unit(UnitFileState="disabled")), HOST, {"keep"}),
    "killed": (seen(files={places.MARKER: file("")}), HOST, {"resume"}),
    "new-names-of-the-same-layout": (
        seen(files=FORMER, commands={ASSERT_NEW: answer(0)}),
        HOST,
        {"keep"},
    ),
    "cluster-takes-over": (seen(CLUSTER, files={places.RECORD: file('{"a": 1}')}), CLUSTER, {"leave"}),
    "removed": (seen(), {**HOST, **ABSENT}, {"removal"}),
    "removed-before": (seen(files=NOT_OURS), {**HOST, **ABSENT}, set()),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_host_is_refused_for_the_right_reason(case: str) -> None:
    """MIG-01, MIG-03, MIG-06, MIG-08, each with and without its reason."""
    found, own, expected = FAULTS[case]
    faults = mig.decide(found, own)["faults"]
    assert len(faults) == len(expected), faults
    assert all(map(str.startswith, faults, expected)), faults


@pytest.mark.parametrize("case", SHORTFALLS)
def test_what_verification_finds(case: str) -> None:
    """MIG-01, MIG-02, MIG-03, MIG-05, MIG-09."""
    found, own, expected = SHORTFALLS[case]
    shortfalls = mig.decide(found, own)["shortfalls"]
    assert len(shortfalls) == len(expected), shortfalls
    assert all(map(str.startswith, shortfalls, expected)), shortfalls


@pytest.mark.parametrize("case", DUE)
def test_what_is_due(case: str) -> None:
    found, own, expected = DUE[case]
    decision = mig.decide(found, own)
    assert {step for step in STEPS if decision[f"{step}_due"]} == expected
    assert decision["due"] is bool(expected)


def test_a_layout_interrupts_work_where_a_kubelet_runs() -> None:
    """MIG-06: also for a host that is only described, when the spec names another layout."""
    former = seen(commands=OTHER, files=FORMER)
    assert mig.decide(former, HOST)["interrupts"] == [f"MIG layout old-1 -> {LAYOUT}"]
    assert mig.decide(seen(commands=IDLE), HOST)["interrupts"] == []
    unknown = seen(commands=OTHER, files={places.OVERRIDE: None})
    assert mig.decide(unknown, HOST)["interrupts"] == [f"MIG layout unknown -> {LAYOUT}"]
    no_driver = seen(commands=OTHER, files={TREES.driver: None})
    assert mig.decide(no_driver, HOST)["interrupts"] == []
    other = {**HOST, "nvidia_mig_config": "other"}
    assert mig.decide(mig.described(HOST), other)["interrupts"] == [f"MIG layout {LAYOUT} -> other"]


def test_questions_of_hosts_that_differ() -> None:
    """MIG-05: GPUs are asked about a layout that is not on the host by the role's own text."""
    assert mig.questions(NONE, {}) == {}
    assert mig.questions(CLUSTER, {})["commands"] == {}
    assert set(mig.questions(HOST, {})["commands"]) == {ASSERT, "apps", "kubelet"}
    former = mig.questions(HOST, seen(files=FORMER))["commands"]
    assert former[ASSERT_NEW]["stdin"] == LAYOUTS
    assert former[ASSERT_NEW]["argv"][2:4] == ["--config-file", "-"]
    assert "--mode-only" in mig.questions(HOST, seen(commands=OTHER))["commands"]["mode"]
    fresh = {"host": {"pkg_mgr": "apt"}}
    assert mig.questions(HOST, fresh)["commands"]["offers"][-1] == places.PACKAGE
    for found, own in (
        (fresh, {**HOST, **CHECK}),
        (fresh, {**HOST, **ABSENT}),
        ({"host": {"pkg_mgr": "dnf"}}, HOST),
    ):
        assert set(mig.questions(own, found)["commands"]) == {ASSERT, "apps", "kubelet"}


BOOTS = {TREES.cgroup2: ["x"], TREES.cloud_init: ["x"]}
DONE = {f"{TREES.cloud_init}/result.json": ["x"]}


@pytest.mark.parametrize(
    ("capability", "globs", "hooks"),
    [
        ("8.0", {}, "default"),
        ("9.0", {}, "minimal"),
        ("10.3", {}, "minimal"),
        ("8.0", BOOTS, "minimal"),
        ("8.0", {**BOOTS, **DONE}, "default"),
        ("8.0", {TREES.cloud_init: ["x"]}, "default"),
    ],
)
def test_hooks_of_a_host(capability: str, globs: dict[str, list[str]], hooks: str) -> None:
    """MIG-04, MIG-10: none resets GPUs that need it not, or a kubelet that is being set up."""
    own = {**HOST, "nvidia_mig_compute_capability": capability}
    found = mig.decide(seen(globs=globs), own)
    assert f"hooks-{hooks}.yaml" in found["selection"]
    assert found["apply"][5] == f"{places.FOLDER}/hooks-{hooks}.yaml"
    assert found["selection_due"] is (hooks == "minimal")


@pytest.mark.parametrize(
    ("commands", "own", "told"),
    [
        (BUSY, HOST, "processes 42, 43 compute on the GPUs; end them first"),
        (OTHER, {**HOST, **STAYS}, "the kubelet runs and the play cannot drain the node"),
        (OTHER, HOST, ""),
        (IDLE, {**HOST, **STAYS}, ""),
    ],
)
def test_gpus_in_use_are_refused(commands: Any, own: dict[str, Any], told: str) -> None:
    """MIG-06: read right before the change."""
    found = mig.decide(seen(commands=commands), own)
    assert found["is_in_use"] is bool(told)
    assert told in found["in_use"]


GPUS = {TREES.gpus: ["/p/0000:01:00.0", "/p/0000:02:00.0"], TREES.drm: ["x"]}
RESETS = {TREES.resets: [f"/sys/bus/pci/devices/0000:0{n}:00.0/reset" for n in (1, 2)]}


@pytest.mark.parametrize(
    ("globs", "commands", "capability", "is_stuck", "drm_due"),
    [
        (GPUS, OTHER, "8.0", True, True),
        ({**GPUS, **RESETS}, OTHER, "8.0", False, True),
        (GPUS, {**OTHER, "mode": answer(0)}, "8.0", False, False),
        (GPUS, OTHER, "9.0", False, False),
        ({}, OTHER, "8.0", False, False),
    ],
)
def test_a_mode_that_only_a_reboot_can_change(
    globs: Any, commands: Any, capability: str, is_stuck: bool, drm_due: bool
) -> None:
    """MIG-06: GPUs passed through to a virtual machine cannot be reset."""
    own = {**HOST, "nvidia_mig_compute_capability": capability}
    found = mig.decide(seen(globs=globs, commands=commands), own)
    assert (found["is_stuck"], found["drm_due"]) == (is_stuck, drm_due)
    assert not is_stuck or "GPUs 0000:01:00.0, 0000:02:00.0 cannot be reset" in found["stuck"]


def test_kubelets_that_the_hooks_do_not_know_are_paused() -> None:
    """MIG-06, GEN-10: those that ran, and those that a killed run had stopped."""
    active = {"ActiveState": "active"}
    units = {"kubelet.service": active, "k3s.service": active}
    found = mig.decide(seen(units=units, files={places.MARKER: file('["k0sworker.service"]')}), HOST)
    assert found["kubelets"] == ["k3s.service"]
    assert found["paused"] == ["k0sworker.service", "kubelet.service", "k3s.service"]
    assert json.loads(found["mark"]) == found["paused"]


def test_who_is_told_of_the_instances() -> None:
    """MIG-07."""
    units = {places.CDI: {"LoadState": "loaded"}, places.DCGM: {"UnitFileState": "enabled"}}
    told = ("cdi_due", "dcgm_due", "agents_due")
    assert all(mig.decide(seen(units=units), HOST)[name] for name in told)
    assert not any(mig.decide({}, HOST)[name] for name in told)


def test_the_package_and_what_is_offered() -> None:
    """MIG-03."""
    rows = f" {places.PACKAGE} | 0.15.0-1 | x\n {places.PACKAGE} | {VERSION}-1 | x\n"
    found = mig.decide(seen(packages={}, commands={"offers": answer(0, rows)}), HOST)
    assert (found["package"], found["is_unavailable"]) == (f"{places.PACKAGE}={VERSION}-*", False)
    own = {**HOST, "nvidia_mig_version": "0.99.0"}
    found = mig.decide(seen(commands={"offers": answer(0, rows)}), own)
    assert found["is_unavailable"]
    assert f"they offer 0.15.0-1, {VERSION}-1. The releases" in found["unavailable"]
    assert "they offer none. The" in mig.decide(seen(), own)["unavailable"]
    found = mig.decide(seen(host={"pkg_mgr": "dnf"}, packages={}), HOST)
    assert (found["package"], found["is_unavailable"]) == (f"{places.PACKAGE}-{VERSION}", False)


def test_what_is_restored_where_a_layout_fails() -> None:
    """GEN-11: the former layout is applied again where its file still has it."""
    found = mig.decide(seen(files=FORMER, commands=OTHER), HOST)["former"]
    assert (found["is_known"], found["apply"][-1]) == (True, "old-1")
    assert mig.decide({}, HOST)["former"]["is_known"] is False


NOTE = {"managedBy": "gpugen", "wasInstalled": True, "wasEnabled": False, "override": "[Service]\n"}
NEW = {**NOTE, "wasInstalled": False, "override": ""}


def test_removal_restores_what_was_there() -> None:
    """MIG-01, GEN-12: MIG is switched off where the role's service was the owner."""
    found = mig.decide(seen(files={places.RECORD: file(json.dumps(NOTE))}), {**HOST, **ABSENT})
    assert found["switch_off_due"]
    assert found["apply"][-1] == "off"
    assert places.FOLDER not in found["removable"]
    assert (found["override_due"], found["override"]) == (True, "[Service]\n")
    assert (found["enabling_due"], found["was_enabled"]) == (True, False)
    found = mig.decide(seen(files={places.RECORD: file(json.dumps(NEW))}), {**HOST, **ABSENT})
    assert found["removable"][-2:] == [places.FOLDER, places.SETTINGS]
    assert not (found["override_due"] or found["enabling_due"])
    busy = mig.decide(seen(commands=BUSY), {**HOST, **ABSENT})
    assert busy["is_computing"]
    assert "processes 42, 43 compute on the GPUs; end them before MIG is" in busy["computing"]
    no_driver = mig.decide(seen(files={TREES.driver: None}), {**HOST, **ABSENT})
    assert not no_driver["switch_off_due"]


def test_what_the_host_had_is_noted() -> None:
    """GEN-12."""
    found = mig.decide({}, HOST)
    expected = {"managedBy": "gpugen", "wasInstalled": False, "wasEnabled": False, "override": ""}
    assert (json.loads(found["record"]), found["record_due"]) == (expected, True)
    assert not mig.decide(seen(), HOST)["record_due"]
