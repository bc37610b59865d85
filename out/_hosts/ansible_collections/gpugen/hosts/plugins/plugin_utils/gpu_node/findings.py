# Copyright: the gpugen authors. Apache-2.0.
"""Why a node is left alone, and what a finished node does not show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .labels import MIG_STATE, Labels
from .mig import Mig
from .node import Node
from .taints import Taints

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
Wanted = Mapping[str, Any]


class View(NamedTuple):
    """The node, compared with the spec."""

    node: Node
    labels: Labels
    taints: Taints
    mig: Mig
    registration_due: bool


def resources(node: Node, wanted: Wanted) -> list[str]:
    """Return resources of which the node does not advertise the expected number."""
    found = node.allocatable
    stated = sorted(wanted["gpu_node_resources"].items(), key=lambda own: str(own[0]).lower())
    return [
        f"{name} {found.get(name, '0')}, expected {count}"
        for name, count in stated
        if str(found.get(name, "0")) != str(count)
    ]


def faults(view: View, wanted: Wanted) -> list[str]:
    """Return every reason to leave the node alone."""
    found = [*_access(view.node, wanted)]
    if not view.node.object or wanted["state"] == "absent":
        return found
    return [*found, *_layout(view, wanted), *_owner(view, wanted)]


def _access(node: Node, wanted: Wanted) -> list[str]:
    found: list[str] = []
    if not node.is_read:
        return found
    if not node.object:
        found.append(
            f"PRE-09: the cluster has no node {wanted['gpu_node_name']} (gpu_node_name), or does"
            f" not answer: {node.problem}".rstrip()
        )
    uid = wanted["gpu_node_cluster_uid"]
    if uid and node.cluster != uid:
        found.append(
            f"access: context {wanted['gpu_node_context']} leads to the cluster"
            f" {node.cluster or 'that does not answer'}, expected {uid} (gpu_node_cluster_uid)"
        )
    return found


def _layout(view: View, wanted: Wanted) -> list[str]:
    mig, manager = view.mig, wanted["gpu_node_mig_manager"]
    found = []
    if mig.is_due and mig.found and not mig.has_agent:
        found.append(
            f"MIG-06: the node carries MIG layout {mig.found}, the pool names {mig.expected}, and"
            f" the cluster has no daemonset/{manager} that would apply it; apply the Kubernetes"
            " half first"
        )
    if mig.is_staged and mig.offered != wanted["gpu_node_mig_checksum"]:
        found.append(
            f"MIG-06: daemonset/{manager} does not know the layout {mig.expected} yet"
            f" (gpugen/config-checksum {mig.offered or 'none'}, expected"
            f" {wanted['gpu_node_mig_checksum']}); apply the Kubernetes half first"
        )
    if mig.leaves and not wanted["gpu_node_mig_is_hosts"] and not mig.is_whole:
        found.append(
            f"MIG-06: the node carries MIG layout {mig.found}, the pool names none, and its GPUs"
            " would keep the instances; apply a layout with gpus: all and profiles: {} first, then"
            " take mig out of the spec"
        )
    return found


def _owner(view: View, wanted: Wanted) -> list[str]:
    is_due = view.labels.is_due or view.labels.once_due
    if LAST_APPLIED not in view.node.notes or not is_due:
        return []
    return [
        "KUB-02: somebody owns this node by 'kubectl apply'; the play's server-side apply would"
        " take over those fields and drop them. Give it up first: kubectl"
        f" --context={wanted['gpu_node_context']} annotate node {wanted['gpu_node_name']}"
        f" {LAST_APPLIED}-"
    ]


def shortfalls(view: View, wanted: Wanted) -> list[str]:
    """Return what a finished node would show, and this one does not."""
    return [
        *_of_labels(view.labels),
        *_of_taints(view.taints),
        *_of_agents(view, wanted),
        *_of_registration(view, wanted),
    ]


def _of_labels(labels: Labels) -> list[str]:
    if not (labels.is_due or labels.once_due or labels.removals):
        return []
    what = "; ".join(labels.differences) or "not owned by server-side apply"
    return [f"KUB-01: labels differ from the spec ({what}; gpu_node_labels)"]


def _of_taints(taints: Taints) -> list[str]:
    if not taints.is_due:
        return []
    found, expected = (", ".join(each) or "none" for each in (taints.found, taints.expected))
    return [f"KUB-01: taints are {found}, of which gpugen's are to be {expected} (gpu_node_taints)"]


def _of_agents(view: View, wanted: Wanted) -> list[str]:
    found = []
    short = resources(view.node, wanted)
    if short and view.node.agent(wanted["gpu_node_plugin"]):
        found.append(f"KUB-03: the node advertises {'; '.join(short)}")
    mig = view.mig
    if mig.has_agent and mig.expected and mig.state != "success":
        found.append(f"MIG-06: {MIG_STATE}={mig.state or 'not reported'}")
    return found


def _of_registration(view: View, wanted: Wanted) -> list[str]:
    if not view.registration_due or wanted["state"] == "absent":
        return []
    path = wanted["gpu_node_registration_file"]
    return [f"registration: {path} does not register the pool's label"]
