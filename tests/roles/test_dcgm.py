"""What is decided about the DCGM engine of hosts in many states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.wanted import wanted

dcgm: Any = load("nvidia_dcgm")
host: Any = load("nvidia_dcgm.host")

NEW, OLD = "4.5.3", "4.5.2"
CORE, CUDA = "datacenter-gpu-manager-4-core", "datacenter-gpu-manager-4-cuda13"
OTHER = "datacenter-gpu-manager-4-cuda12"
HOST = wanted(
    nvidia_dcgm_mode="host",
    nvidia_dcgm_version=NEW,
    nvidia_dcgm_packages=[CUDA, CORE],
    nvidia_dcgm_expected_gpus=4,
)
MASKED = wanted(nvidia_dcgm_mode="masked")
NONE = wanted(nvidia_dcgm_mode="none")
ABSENT = {"state": "absent"}
CHECK = {"check_mode": True}
STAMP = "Sun 2026-11-22 10:00:00 UTC"
STARTED = 1795341600.0
TCP = "  sl  local_address rem_address   st\n   0: {}:15B3 00000000:0000 {} 00000000:00000000\n"
ROWS = f" {CORE} | 1:{OLD}-1 | http://mirror.example/ Packages\n"


def at(version: str, *names: str) -> dict[str, Any]:
    return {name: {"version": f"1:{version}-1", "held": False} for name in names}


def unit(**own: str) -> dict[str, dict[str, str]]:
    return {host.UNIT: {"LoadState": "loaded", "ActiveState": "active", **own}}


def seen(own: Mapping[str, Any] = HOST, **parts: Any) -> dict[str, Any]:
    """Return the answers of a host that is as expected, with parts exchanged."""
    found = {"host": {"pkg_mgr": "apt"}, **dcgm.described(own)}
    for kind, answers in parts.items():
        is_whole = kind in ("packages", "host")
        found[kind] = answers if is_whole else {**found.get(kind, {}), **answers}
    return found


def listening(address: str, state: str = "0A") -> dict[str, Any]:
    return {"/proc/net/tcp6": {"text": TCP.format(address, state), "mtime": 1.0}}


def discovered(out: str, err: str = "") -> dict[str, Any]:
    return {"discovery": {"rc": 0, "out": out, "err": err}}


STOPPED = unit(ActiveState="inactive", UnitFileState="disabled")
IS_MASKED = unit(LoadState="masked", ActiveState="inactive", UnitFileState="masked")

# what is seen, variables, beginnings of the faults
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), HOST, []),
    "fresh": ({}, HOST, []),
    "no-version": (seen(), {**HOST, "nvidia_dcgm_version": "4.5"}, ["DCG-01: host needs an exact"]),
    "no-packages": (seen(), {**HOST, "nvidia_dcgm_packages": []}, ["DCG-01: host needs an exact"]),
    "other-package": (
        seen(packages=at(OLD, CORE, CUDA, OTHER)),
        HOST,
        [f"DCG-01: {OTHER} of another version than {NEW} (nvidia_dcgm_version) would have to go"],
    ),
    "other-package-stays": (seen(packages={**at(NEW, CORE, CUDA), **at(OLD, OTHER)}), HOST, []),
    "second-engine": (
        seen(units=STOPPED, files=listening("00000000")),
        HOST,
        ["DCG-02: somebody else listens on port 5555"],
    ),
    "connected-only": (seen(units=STOPPED, files=listening("00000000", "01")), HOST, []),
    "our-engine": (seen(files=listening("0100007F")), HOST, []),
    "masked": (seen(units=STOPPED, files=listening("00000000")), MASKED, []),
    "none": ({}, NONE, []),
    "removed": (seen(), {**HOST, "nvidia_dcgm_version": "4.5", **ABSENT}, []),
}
SHORTFALLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), HOST, []),
    "good-masked": (seen(MASKED), MASKED, []),
    "none": ({}, NONE, []),
    "fresh": (
        {},
        HOST,
        [
            f"DCG-01: {CUDA}, {CORE} are not at {NEW} (nvidia_dcgm_version)",
            "DCG-02: nvidia-dcgm.service is , and the mode is host (nvidia_dcgm_mode)",
            f"DCG-03: {host.DROPIN} does not order the engine after",
            "DCG-04: dcgmi finds nothing () GPUs, expected 4 (nvidia_dcgm_expected_gpus)",
        ],
    ),
    "runs": (
        seen(MASKED, units=unit(UnitFileState="enabled")),
        MASKED,
        [
            "DCG-02: nvidia-dcgm.service is active, and the mode is masked",
            "DCG-02: nvidia-dcgm.service is enabled, expected masked",
        ],
    ),
    "no-unit": (
        seen(MASKED, units={host.UNIT: {"LoadState": "not-found", "ActiveState": "inactive"}}),
        MASKED,
        ["DCG-02: nvidia-dcgm.service is missing, expected masked"],
    ),
    "exposed": (
        seen(files={**listening("00000000"), "/proc/net/tcp": {"text": "\n", "mtime": 1.0}}),
        HOST,
        ["DCG-02: the host engine listens on more than localhost (00000000, as /proc/net/tcp"],
    ),
    "three-gpus": (
        seen(commands=discovered("x\n3 GPUs found.\n")),
        HOST,
        ["DCG-04: dcgmi finds 3 GPUs, expected 4 (nvidia_dcgm_expected_gpus)"],
    ),
    "no-gpus": (
        seen(commands=discovered("oh ", "no engine\n")),
        HOST,
        ["DCG-04: dcgmi finds nothing (oh no engine) GPUs, expected 4"],
    ),
}
# what is seen, variables, what is due
DUE: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "good": (seen(), HOST, set()),
    "fresh": ({}, HOST, {"record", "packages", "dropin", "start", "host"}),
    "fresh-in-check-mode": ({}, {**HOST, **CHECK}, {"record", "packages", "dropin", "host"}),
    "fresh-masked": ({}, MASKED, {"record", "mask"}),
    "none": ({}, NONE, set()),
    "older": (seen(packages=at(OLD, CORE, CUDA)), HOST, {"packages", "host"}),
    "former": (
        seen(packages={**at(NEW, CORE, CUDA), **at("3.3.9", host.FORMER)}),
        HOST,
        {"packages", "host"},
    ),
    "was-masked": (seen(units=IS_MASKED), HOST, {"unmask", "start", "host"}),
    "disabled": (seen(units=unit(UnitFileState="disabled")), HOST, {"start", "host"}),
    "settings-of-another-version": (
        seen(files={host.DROPIN: {"text": "x", "mtime": STARTED - 1}}),
        HOST,
        {"dropin", "host", "start"},
    ),
    "runs": (seen(MASKED, units=unit(UnitFileState="enabled")), MASKED, {"mask"}),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_host_is_refused_for_the_right_reason(case: str) -> None:
    """DCG-01, DCG-02, each with and without its reason."""
    found, own, expected = FAULTS[case]
    faults = dcgm.decide(found, own)["faults"]
    assert len(faults) == len(expected), faults
    assert all(map(str.startswith, faults, expected)), faults


@pytest.mark.parametrize("case", SHORTFALLS)
def test_what_verification_finds(case: str) -> None:
    """DCG-01, DCG-02, DCG-03, DCG-04."""
    found, own, expected = SHORTFALLS[case]
    shortfalls = dcgm.decide(found, own)["shortfalls"]
    assert len(shortfalls) == len(expected), shortfalls
    assert all(map(str.startswith, shortfalls, expected)), shortfalls


@pytest.mark.parametrize("case", DUE)
def test_what_is_due(case: str) -> None:
    found, own, expected = DUE[case]
    decision = dcgm.decide(found, own)
    steps = ("record", "packages", "unmask", "dropin", "start", "mask", "host")
    assert {step for step in steps if decision[f"{step}_due"]} == expected
    assert decision["due"] is bool(expected)


@pytest.mark.parametrize(("moment", "is_due"), [(-1, False), (0.5, False), (1, True)])
def test_an_engine_that_is_older_than_its_settings_is_started_again(
    moment: float, is_due: bool
) -> None:
    """GEN-10: state decides, not what this run wrote; systemd tells whole seconds."""
    good = seen(units=unit(UnitFileState="enabled", ActiveEnterTimestamp=STAMP))
    text = good["files"][host.DROPIN]["text"]
    good["files"][host.DROPIN] = {"text": text, "mtime": STARTED + moment}
    assert dcgm.decide(good, HOST)["start_due"] is is_due


def test_offers_are_asked_for_only_where_packages_are_missing() -> None:
    older = seen(packages=at(OLD, CORE, CUDA))
    assert dcgm.questions(NONE, {}) == {}
    assert "discovery" not in dcgm.questions(MASKED, {})["commands"]
    assert "offers" not in dcgm.questions(HOST, {})["commands"]
    assert "offers" not in dcgm.questions(HOST, seen())["commands"]
    assert "offers" not in dcgm.questions({**HOST, **CHECK}, older)["commands"]
    offers = dcgm.questions(HOST, older)["commands"]["offers"]
    assert offers == ["apt-cache", "madison", CUDA, CORE]
    private = {**HOST, "__nvidia_dcgm_procfs": "/run/proc"}
    assert "/run/proc/net/tcp6" in dcgm.questions(private, {})["files"]


def test_a_version_that_nobody_offers() -> None:
    """DCG-01: told with what is on offer, before anything is removed."""
    older = seen(packages=at(OLD, CORE, CUDA), commands={"offers": {"rc": 0, "out": ROWS}})
    found = dcgm.decide(older, HOST)
    assert found["is_unavailable"]
    assert found["unavailable"] == (
        f"DCG-01: the configured repositories do not offer 1:{NEW} of {CUDA}, {CORE};"
        f" they offer {CORE} 1:{OLD}-1 (nvidia_dcgm_version)"
    )
    rows = "".join(f"{name} | 1:{NEW}-1 | x\n" for name in (CORE, CUDA))
    able = seen(packages=at(OLD, CORE), commands={"offers": {"rc": 0, "out": rows}})
    assert not dcgm.decide(able, HOST)["is_unavailable"]
    silent = seen(packages={}, commands={"offers": {"rc": 0, "out": ""}})
    assert "they offer nothing (" in dcgm.decide(silent, HOST)["unavailable"]


def test_the_transaction_is_in_the_words_of_the_package_manager() -> None:
    found = dcgm.decide(seen(packages=at("3.3.9", host.FORMER)), HOST)
    assert found["packages"] == [f"{CUDA}=1:{NEW}-*", f"{CORE}=1:{NEW}-*"]
    assert found["transaction"] == f"{CUDA}, {CORE} {NEW} and remove DCGM 3"
    assert (found["manager"], found["refresh"][0]) == ("apt", "apt-get")
    found = dcgm.decide(seen(host={"pkg_mgr": "dnf"}), HOST)
    assert found["packages"] == [f"{CUDA}-1:{NEW}", f"{CORE}-1:{NEW}"]
    assert found["transaction"] == f"{CUDA}, {CORE} {NEW}"
    assert (found["manager"], found["refresh"][0]) == ("dnf", "dnf")


def test_what_the_host_had_is_noted() -> None:
    """GEN-12."""
    found = dcgm.decide(seen(packages=at("3.3.9", host.FORMER), units=IS_MASKED), HOST)
    assert found["record"].endswith("}\n")
    note = json.loads(found["record"])
    assert note == {
        "managedBy": "gpugen",
        "installed": [host.FORMER],
        "wasEnabled": False,
        "wasMasked": True,
    }


NOTES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "was-off": (
        {"installed": [CORE], "wasEnabled": False, "wasMasked": False},
        unit(UnitFileState="enabled"),
        {"removable": [CUDA], "stop_due": True, "restart_due": False, "masking_differs": False},
    ),
    "was-masked": (
        {"installed": [], "wasEnabled": False, "wasMasked": True},
        STOPPED,
        {"removable": [CORE, CUDA], "stop_due": False, "masking_differs": True, "was_masked": True},
    ),
    "was-on": (
        {"installed": [CORE, CUDA], "wasEnabled": True, "wasMasked": False},
        IS_MASKED,
        {"removable": [], "masking_differs": True, "was_masked": False, "restart_due": True},
    ),
}


@pytest.mark.parametrize("case", NOTES)
def test_removal_restores_what_was_there(case: str) -> None:
    """GEN-12."""
    note, units, expected = NOTES[case]
    text = {"text": json.dumps({"managedBy": "gpugen", **note}), "mtime": 1.0}
    found = dcgm.decide(seen(files={host.RECORD: text}, units=units), {**HOST, **ABSENT})
    assert found["due"]
    assert found["removal_due"]
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("found", "own"), [({}, HOST), (seen(), NONE)], ids=["of-others", "no-mode"]
)
def test_a_host_that_is_not_ours_stays_as_it_is(
    found: dict[str, Any], own: dict[str, Any]
) -> None:
    assert not dcgm.decide(found, {**own, **ABSENT})["due"]
