# Copyright: the gpugen authors. Apache-2.0.
"""The layout that the cluster's MIG manager applies is named by a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .labels import MANAGER, MIG_STATE
from .node import Node, Object

LABEL = "nvidia.com/mig.config"
PRODUCT = "nvidia.com/gpu.product"
PATH = "/metadata/labels/nvidia.com~1mig.config"
CHECKSUM = "gpugen/config-checksum"


class Mig(NamedTuple):
    """The layout of a node and of its pool, and the manager that would apply it."""

    found: str
    expected: str
    is_due: bool
    is_used: bool  # somebody could use the node's GPUs so far
    has_agent: bool
    offered: str  # checksum of the layouts that the manager knows
    is_staged: bool  # named last, when a manager that knows it runs on the node
    leaves: bool  # no layout any more
    is_whole: bool  # no GPU has instances
    state: str  # the manager's result

    @property
    def interrupts(self) -> list[str]:
        """A node whose GPUs nobody could use so far is not drained for its first layout."""
        if not self.is_due or not self.is_used:
            return []
        return [f"MIG layout {self.found or 'none'} -> {self.expected}"]


def mig_of(node: Node, wanted: Mapping[str, Any]) -> Mig:
    """Compare the node's layout with the pool's."""
    labels = node.labels
    found, expected = labels.get(LABEL, ""), wanted["gpu_node_labels"].get(LABEL, "")
    agent = node.agent(wanted["gpu_node_mig_manager"])
    is_due = bool(expected) and found != expected
    offers = {
        name
        for name, amount in node.allocatable.items()
        if name.startswith("nvidia.com/") and amount != "0"
    }
    state = labels.get(MIG_STATE, "")
    is_plain = "-MIG-" not in labels.get(PRODUCT, "-MIG-")
    has_slices = any(name.startswith("nvidia.com/mig-") for name in offers)
    return Mig(
        found=found,
        expected=expected,
        is_due=is_due,
        is_used=bool(found or offers),
        has_agent=bool(agent),
        offered=checksum(agent.get("spec", {}).get("template", {})),
        is_staged=is_due and bool(agent),
        leaves=not expected and LABEL in node.owned_labels(MANAGER),
        is_whole=state == "success" and not has_slices and is_plain,
        state=state,
    )


def checksum(item: Object) -> str:
    """Return the checksum of the configuration that a pod, or its template, carries."""
    notes = item.get("metadata", {}).get("annotations") or {}
    return str(notes.get(CHECKSUM, ""))


def other_labels(labels: Mapping[str, str], mig: Mig) -> dict[str, str]:
    """Return all labels, and of the layout's the one that is there."""
    others = {key: value for key, value in labels.items() if key != LABEL}
    return others | ({LABEL: mig.found} if mig.found else {})


def patch(mig: Mig) -> list[dict[str, Any]]:
    """Return the patch that removes the former result, so that it is not taken for the new one.

    Labels are set by apply alone: what a patch sets would stay when the spec no longer names it.
    """
    return [
        {"op": "test", "path": PATH, "value": mig.found or None},
        {"op": "remove", "path": PATH + ".state"},
    ]
