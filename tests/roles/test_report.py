"""What a host says as data: valid by its schema, without anybody's secrets."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from gpugen.hosts.decisions import load
from support import ROOT

report: Any = load("report")
SCHEMA = json.loads((ROOT / "schemas" / "host.schema.json").read_text())
RUN = report.Run("gpu-01", "lab", "train", "site", False, "2026-11-22T10:00:00+00:00")
WANTED = {"nvidia_driver_version": "580.142", "nvidia_mig_manager": "host", "state": "present"}
SEEN = {
    "nvidia_driver": {
        "host": {
            "os_release": 'ID=ubuntu\nVERSION_ID="24.04"\n',
            "kernel": "6.8.0-87-generic",
            "architecture": "x86_64",
        },
        "files": {"/etc/a": {"text": "password", "mtime": 1.0}, "/etc/b": None},
        "packages": {"nvidia-open": {"version": "580.142-1", "held": True}},
        "commands": {"dump": {"rc": 0, "out": "password", "err": ""}},
    }
}


def decision(*shortfalls: str, **parts: Any) -> dict[str, Any]:
    usual = {"faults": [], "interrupts": [], "due": bool(shortfalls), "reboot_due": False}
    return {"nvidia_driver": {**usual, "shortfalls": list(shortfalls), **parts}}


def document(decisions: dict[str, Any], earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = report.document(RUN, decisions, SEEN, WANTED, earlier or {})
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


def test_a_host_as_expected() -> None:
    found = document(decision(facts={"loaded": "580.142"}))
    assert found["health"] == {"ok": True, "problems": []}
    assert found["system"]["osVersion"] == "24.04"
    role = found["roles"]["nvidia_driver"]
    assert role["expected"] == {"nvidia_driver_version": "580.142"}
    assert role["seen"]["facts"] == {"loaded": "580.142"}
    assert role["seen"]["files"]["/etc/b"] is None


def test_texts_and_outputs_are_not_in_it() -> None:
    assert "password" not in json.dumps(document(decision()))


def test_what_was_done_is_what_differed_first_and_does_not_now() -> None:
    first = document(decision("DRV-02: old", "DRV-19: off", interrupts=["driver 1 -> 2"]))
    assert first["roles"]["nvidia_driver"]["done"] == []
    then = document(decision("DRV-19: off"), first)
    role = then["roles"]["nvidia_driver"]
    assert role["done"] == ["DRV-02: old"]
    assert role["differs"] == ["DRV-19: off"]
    assert then["health"] == {"ok": False, "problems": ["DRV-19: off"]}
    last = document(decision(), then)
    assert last["roles"]["nvidia_driver"]["done"] == ["DRV-02: old", "DRV-19: off"]


def test_roles_that_were_read_earlier_stay() -> None:
    earlier = {"roles": {"nvidia_mig": document(decision())["roles"]["nvidia_driver"]}}
    assert sorted(document(decision(), earlier)["roles"]) == ["nvidia_driver", "nvidia_mig"]
