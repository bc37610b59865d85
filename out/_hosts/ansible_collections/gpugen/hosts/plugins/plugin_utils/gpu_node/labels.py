# Copyright: the gpugen authors. Apache-2.0.
"""Labels that are ours, and labels that a controller flips, which are set once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .node import Node

MANAGER, ONCE_MANAGER = "gpugen", "gpugen-once"
NOTE = "gpugen/initial-labels"
PREFIX = "gpugen/"
MIG_STATE = "nvidia.com/mig.config.state"


class Labels(NamedTuple):
    """What is due about labels."""

    is_due: bool  # a value differs, or we own too much or too little
    once_due: bool
    once: dict[str, str]  # those that a controller flips, as they are set
    removals: list[str]
    differences: list[str]  # in words


def compare(node: Node, wanted: Mapping[str, Any]) -> Labels:
    """Compare the node's labels with the spec's."""
    own, initial = wanted["gpu_node_labels"], wanted["gpu_node_initial_labels"]
    found, owned = node.labels, node.owned_labels(MANAGER)
    wrong = [key for key, value in own.items() if found.get(key) != value]
    removals = _removals(node, own, initial)
    differences = [f"{key} is {found.get(key, 'absent')}, expected {own[key]}" for key in wrong] + [
        f"{key} is there, and nothing names it" for key in removals
    ]
    return Labels(
        is_due=bool(wrong) or set(owned) != set(own),
        once_due=bool(set(initial) - set(found)) or set(_remembered(node)) != set(initial),
        once=_once(node, initial),
        removals=removals,
        differences=differences,
    )


def manifest(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return what server-side apply is given; what it does not name is removed."""
    metadata = {"name": name, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def once_manifest(name: str, labels: Labels, initial: Mapping[str, str]) -> dict[str, Any]:
    """Return what is given for labels that a controller flips; their names are remembered."""
    found = manifest(name, labels.once)
    found["metadata"]["annotations"] = {NOTE: ",".join(sorted(initial))} if initial else {}
    return found


def _remembered(node: Node) -> list[str]:
    return [key for key in node.notes.get(NOTE, "").split(",") if key]


def _once(node: Node, initial: Mapping[str, str]) -> dict[str, str]:
    """Return initial labels: set where absent, kept as they are where we still own them."""
    found = node.labels
    absent = {key: value for key, value in initial.items() if key not in found}
    kept = {
        key: found[key]
        for key in node.owned_labels(ONCE_MANAGER)
        if key in initial and key in found
    }
    return absent | kept


def _removals(node: Node, own: Mapping[str, str], initial: Mapping[str, str]) -> list[str]:
    """Return labels that nothing names any more.

    With the last initial label goes what the controller itself reported.
    """
    found = node.labels
    known = {*own, *initial, *node.owned_labels(MANAGER)}
    unnamed = [key for key in found if key.startswith(PREFIX) and key not in known]
    dropped = [key for key in _remembered(node) if key not in initial]
    if dropped and not initial:
        dropped.append(MIG_STATE)
    return unnamed + [key for key in dict.fromkeys(dropped) if key in found]
