# Copyright: the gpugen authors. Apache-2.0.
"""The answers of a node that is just as the spec says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import kubelet, labels, taints
from .labels import MIG_STATE
from .mig import CHECKSUM, LABEL

Wanted = Mapping[str, Any]


def described(wanted: Wanted) -> dict[str, Any]:
    """Return what a probe would find."""
    path = wanted["gpu_node_registration_file"]
    text = {"text": kubelet.registration(wanted), "mtime": 0.0}
    space = {"kind": "Namespace", "metadata": {"uid": wanted["gpu_node_cluster_uid"]}}
    items = [_node(wanted), space, *_agents(wanted)]
    answer = {"rc": 0, "out": json.dumps({"items": items}), "err": ""}
    return {
        "files": {path: text} if path else {},
        "control": {"commands": {"node": answer}, "files": {}},
    }


def _node(wanted: Wanted) -> dict[str, Any]:
    own, initial = wanted["gpu_node_labels"], wanted["gpu_node_initial_labels"]
    stated = [(each["key"], each["effect"]) for each in wanted["gpu_node_taints"]]
    notes = {labels.NOTE: ",".join(sorted(initial))} if initial else {}
    if stated:
        notes[taints.NOTE] = ",".join(sorted(":".join(each) for each in stated))
    amounts = {name: str(count) for name, count in wanted["gpu_node_resources"].items()}
    state = {MIG_STATE: "success"} if LABEL in own else {}
    values = [
        {key: value for key, value in each.items() if value} for each in wanted["gpu_node_taints"]
    ]
    return {
        "kind": "Node",
        "metadata": {
            "name": wanted["gpu_node_name"],
            "labels": {**state, **initial, **own},
            "annotations": notes,
            "managedFields": [
                _fields(labels.MANAGER, own),
                _fields(labels.ONCE_MANAGER, initial),
            ],
        },
        "spec": {"taints": values} if values else {},
        "status": {"allocatable": amounts},
    }


def _fields(manager: str, own: Mapping[str, str]) -> dict[str, Any]:
    owned: dict[str, Any] = {"f:labels": {f"f:{key}": {} for key in own}}
    return {"manager": manager, "operation": "Apply", "fieldsV1": {"f:metadata": owned}}


def _agents(wanted: Wanted) -> list[dict[str, Any]]:
    checksum = {CHECKSUM: wanted["gpu_node_mig_checksum"]}
    template = {"metadata": {"annotations": checksum}}
    names = (wanted["gpu_node_plugin"], wanted["gpu_node_mig_manager"])
    return [
        {"kind": "DaemonSet", "metadata": {"name": name}, "spec": {"template": template}}
        for name in names
        if name
    ]
