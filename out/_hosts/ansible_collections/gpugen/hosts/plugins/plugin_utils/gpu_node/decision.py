# Copyright: the gpugen authors. Apache-2.0.
"""What is due at a node, and the commands that do it."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from typing import Any

from . import findings, hold, kubelet, labels, mig, taints
from .asking import POOL_LABEL, client, drain_argv
from .findings import View
from .node import node_of

Wanted = Mapping[str, Any]
NOTHING: dict[str, Any] = {
    "gpu_node_labels": {},
    "gpu_node_initial_labels": {},
    "gpu_node_taints": [],
}


def decide(seen: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """Return faults, shortfalls, what is due, and the commands for it.

    Booleans are for tasks; argv and stdin hold the commands by name.
    """
    if wanted["state"] == "absent":
        wanted = {**wanted, **NOTHING}
    view = _view(seen, wanted)
    refused = findings.faults(view, wanted)
    due, gates = _due(view, wanted), kubelet.old_gates(seen, wanted)
    return {
        "faults": refused,
        "shortfalls": refused or findings.shortfalls(view, wanted),
        "interrupts": view.mig.interrupts,
        "due": any(due.values()),
        "reboot_due": False,
        **due,
        **_held(view, wanted),
        "old_gates": gates,
        "preflight_due": due["is_held"] or bool(gates),
        "argv": _argv(view, wanted),
        "stdin": _stdin(view, wanted),
        "registration": _registration(wanted),
    }


def _view(seen: Mapping[str, Any], wanted: Wanted) -> View:
    kubectl = wanted.get("__gpu_node_kubectl") or ["kubectl"]
    node = node_of(seen, kubectl[0])
    return View(
        node,
        labels.compare(node, wanted),
        taints.compare(node, wanted["gpu_node_taints"]),
        mig.mig_of(node, wanted),
        kubelet.registration_due(seen, wanted),
    )


def _due(view: View, wanted: Wanted) -> dict[str, bool]:
    """Return what converge, or absent, has to do."""
    is_held = hold.NOTE in view.node.notes
    has_plugin = bool(view.node.agent(wanted["gpu_node_plugin"]))
    is_short = bool(findings.resources(view.node, wanted))
    own = view.mig
    is_applied = own.has_agent and bool(own.expected) and own.state != "success"
    return {
        "taints_due": view.taints.is_due,
        "layout_due": own.is_staged,
        "labels_due": view.labels.is_due,
        "once_due": view.labels.once_due,
        "removals_due": bool(view.labels.removals),
        "registration_due": view.registration_due,
        "layout_awaited": is_applied,
        "plugin_awaited": has_plugin and is_held,
        "resources_awaited": has_plugin and (is_short or is_held or is_applied),
        "is_held": is_held,
    }


def _held(view: View, wanted: Wanted) -> dict[str, Any]:
    """Return how the node is cordoned, and what this run may do about it."""
    node, reasons = view.node, wanted["gpu_node_reasons"]
    others = [reason for reason in reasons if reason not in view.mig.interrupts]
    return {
        "is_read": bool(node.object),
        "hold": node.notes.get(hold.NOTE, ""),
        "is_cordoned": node.is_cordoned,
        "is_continued": hold.is_continued(node, reasons),
        "may_release": hold.may_release(node, wanted),
        # Agents of ours hold the GPUs; they leave with the pool's label and come back with it.
        "agents_leave": bool(others) and POOL_LABEL in node.labels,
        "has_result": labels.MIG_STATE in node.labels,
    }


def _argv(view: View, wanted: Wanted) -> dict[str, list[str]]:
    """Return the commands; in check mode the API server is asked for a dry run."""
    own, name = client(wanted), wanted["gpu_node_name"]
    dry = ["--dry-run=server"] * bool(wanted["check_mode"])
    managed = "--field-manager=" + labels.MANAGER
    apply = [*own, "apply", "--server-side"]
    patched = [*own, "patch", "node", name, "--type=json"]
    removed = [*own, "label", "node", name]
    ready = f"--timeout={wanted['gpu_node_patience']}s"
    return {
        "taint": [*patched, managed, _patch(view.taints.patch), *dry],
        "label": [*apply, "--force-conflicts", managed, "--filename=-", *dry],
        "once": [*apply, f"--field-manager={labels.ONCE_MANAGER}", "--filename=-", *dry],
        "remove": [*removed, managed, *(f"{key}-" for key in view.labels.removals), *dry],
        "forget": [*patched, _patch(mig.patch(view.mig)), *dry],
        "cordon": [*patched, _patch(hold.cordon(view.node, wanted)), *dry],
        "drain": drain_argv(wanted),
        "pause": [*removed, POOL_LABEL + "-", managed],
        "ready": [*own, "wait", "--for=condition=Ready", f"node/{name}", ready],
        "uncordon": [*patched, _patch(hold.release(view.node)), *dry],
    }


def _patch(operations: list[dict[str, Any]]) -> str:
    return "--patch=" + json.dumps(operations)


def _stdin(view: View, wanted: Wanted) -> dict[str, str]:
    """Return what the commands are given."""
    name, own = wanted["gpu_node_name"], wanted["gpu_node_labels"]
    once = labels.once_manifest(name, view.labels, wanted["gpu_node_initial_labels"])
    staged = labels.manifest(name, mig.other_labels(own, view.mig))
    found = {"label": labels.manifest(name, own), "stage": staged, "once": once}
    return {key: json.dumps(value) for key, value in found.items()}


def _registration(wanted: Wanted) -> dict[str, str]:
    path = wanted["gpu_node_registration_file"]
    content = kubelet.registration(wanted)
    return {"path": path, "folder": posixpath.dirname(path), "content": content}
