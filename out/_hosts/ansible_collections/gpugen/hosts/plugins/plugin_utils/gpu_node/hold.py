# Copyright: the gpugen authors. Apache-2.0.
"""A node that we cordoned carries a note with the reason; only such a node is uncordoned again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .node import Node

NOTE = "gpugen/cordoned-by"
PATH = "/metadata/annotations/gpugen~1cordoned-by"
Patch = list[dict[str, Any]]


def former_reasons(node: Node) -> list[str]:
    """Return why the node was cordoned."""
    note = node.notes.get(NOTE, "")
    who, separator, why = note.partition(": ")
    reasons = why if separator and who.startswith("gpugen") and ":" not in who else note
    return [reason for reason in reasons.split("; ") if reason]


def is_continued(node: Node, reasons: list[str]) -> bool:
    """Tell whether this run has all the reasons for which the node may be cordoned already."""
    return set(former_reasons(node)) <= set(reasons)


def may_release(node: Node, wanted: Mapping[str, Any]) -> bool:
    """Tell whether this run may uncordon the node.

    A run of some roles does that where it drained the node for the same reasons; what another run
    left, only a run of all roles uncordons.
    """
    is_ours = wanted.get("__gpu_node_is_this_runs") or wanted.get("runs_all")
    return NOTE in node.notes and bool(is_ours)


def cordon(node: Node, wanted: Mapping[str, Any]) -> Patch:
    """Return the patch that cordons the node, with a note of who did; refused if somebody has."""
    own = (wanted.get("__gpu_node_turn") or {}).get("own") or {"id": "", "who": ""}
    why = "; ".join(wanted["gpu_node_reasons"]) or "reboot"
    note = f"gpugen run {own['id']} of {own['who']}: {why}"
    folder = [] if node.notes else [{"op": "add", "path": "/metadata/annotations", "value": {}}]
    return [
        {"op": "test", "path": "/spec/unschedulable", "value": None},
        *folder,
        {"op": "add", "path": PATH, "value": note},
        {"op": "add", "path": "/spec/unschedulable", "value": True},
    ]


def release(node: Node) -> Patch:
    """Return the patch that uncordons the node; refused if somebody changed the note."""
    found = [
        {"op": "test", "path": PATH, "value": node.notes.get(NOTE, "")},
        {"op": "remove", "path": PATH},
    ]
    return found + [{"op": "remove", "path": "/spec/unschedulable"}] * node.is_cordoned
