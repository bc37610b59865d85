# Copyright: the gpugen authors. Apache-2.0.
"""The node as kubectl told it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]


class Node(NamedTuple):
    """A node, its cluster and the agents that the role waits for; empty where not known."""

    object: Object
    cluster: str  # uid of kube-system
    agents: tuple[Object, ...]  # DaemonSets
    problem: str  # why there is no answer
    is_read: bool = True  # not of a host that is only described

    @property
    def labels(self) -> dict[str, str]:
        """Labels, whoever set them."""
        return dict(self.object.get("metadata", {}).get("labels") or {})

    @property
    def notes(self) -> dict[str, str]:
        """Annotations."""
        return dict(self.object.get("metadata", {}).get("annotations") or {})

    @property
    def taints(self) -> list[dict[str, Any]]:
        """Taints, whoever set them."""
        return list(self.object.get("spec", {}).get("taints") or [])

    @property
    def is_cordoned(self) -> bool:
        """Whether somebody cordoned it."""
        return bool(self.object.get("spec", {}).get("unschedulable"))

    @property
    def allocatable(self) -> dict[str, str]:
        """Resources that it advertises."""
        return dict(self.object.get("status", {}).get("allocatable") or {})

    def owned_labels(self, manager: str) -> list[str]:
        """Return the labels that a field manager owns by server-side apply."""
        entries = self.object.get("metadata", {}).get("managedFields") or []
        return [
            field.removeprefix("f:")
            for entry in entries
            if (entry.get("operation"), entry.get("manager")) == ("Apply", manager)
            and "subresource" not in entry
            for field in (entry["fieldsV1"].get("f:metadata") or {}).get("f:labels") or {}
            if field != "."
        ]

    def agent(self, name: str) -> Object:
        """Return a DaemonSet; empty where the cluster has none of that name."""
        named = (each for each in self.agents if name and each["metadata"]["name"] == name)
        return next(named, {})


def node_of(seen: Mapping[str, Any], program: str) -> Node:
    """Return what the answer says. program: kubectl's name, for the problem."""
    answer = seen.get("control", {}).get("commands", {}).get("node")
    if answer is None:
        return Node({}, "", (), "", is_read=False)
    if answer["rc"] != 0:
        is_absent = answer["rc"] == 127 and answer["err"].startswith("[Errno")
        silence = f"{program} cannot be run on the control host"
        return Node({}, "", (), silence if is_absent else answer["err"].strip() or silence)
    items = (json.loads(answer["out"]) if answer["out"] else {}).get("items") or []
    of_kind = {kind: [each for each in items if each["kind"] == kind] for kind in _KINDS}
    uids = [each["metadata"]["uid"] for each in of_kind["Namespace"]]
    nodes = of_kind["Node"]
    return Node(nodes[0] if nodes else {}, uids[0] if uids else "", tuple(of_kind["DaemonSet"]), "")


_KINDS = ("Node", "Namespace", "DaemonSet")
