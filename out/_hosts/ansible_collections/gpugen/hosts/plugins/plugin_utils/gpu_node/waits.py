# Copyright: the gpugen authors. Apache-2.0.
"""What is waited for, or required, while a node is drained and comes back.

``awaited`` asks, like ``questions``; ``missing`` says what is not there yet. The action
``gpugen.hosts.wait`` calls them until nothing is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import findings
from .asking import POOL_LABEL, client, drain_argv, node_argv, on_node
from .labels import MIG_STATE
from .mig import checksum
from .node import Node, Object, node_of

Wanted = Mapping[str, Any]
Seen = Mapping[str, Any]
PROTECTED = re.compile(r'pods?/"([^"]+)" -n "([^"]+)"')
LOST = re.compile(r"cannot delete [^\n\]]+")


class Missing(NamedTuple):
    """What is not as it has to be, empty where all is; and whether waiting longer is of no use."""

    text: str
    is_final: bool = False


def awaited(what: str, wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Return what is asked on the control host, in view of what was seen.

    what: manager, layout, plugin, resources, agents_gone, safe_drain, drained.
    """
    if what == "drained":
        return {}
    if what == "agents_gone":
        return {"commands": {"pods": on_node(wanted, POOL_LABEL, "name")}}
    if what == "safe_drain":
        return {"commands": {"drain": [*drain_argv(wanted), "--dry-run=client"]}}
    asked = {"node": node_argv(wanted)}
    if agent := _agent(what, seen, wanted):
        selector = agent["spec"]["selector"]["matchLabels"].items()
        pairs = ",".join(f"{key}={value}" for key, value in selector)
        asked["pods"] = on_node(wanted, pairs, "json")
    return {"commands": asked}


def missing(what: str, seen: Seen, wanted: Wanted) -> Missing:
    """Return what is not there yet."""
    if what == "drained":
        return _drained(wanted)
    return _MISSING[what](seen, wanted)


def _command(seen: Seen, name: str) -> dict[str, Any]:
    empty = {"rc": 127, "out": "", "err": ""}
    return {**empty, **seen.get("control", {}).get("commands", {}).get(name, {})}


def _node(seen: Seen, wanted: Wanted) -> Node:
    return node_of(seen, client(wanted)[0])


def _agent(what: str, seen: Seen, wanted: Wanted) -> Object:
    """Return the DaemonSet whose pod is waited for."""
    names = {"manager": "gpu_node_mig_manager", "plugin": "gpu_node_plugin"}
    return _node(seen, wanted).agent(wanted[names[what]]) if what in names else {}


def _layout(seen: Seen, wanted: Wanted) -> Missing:
    state = _node(seen, wanted).labels.get(MIG_STATE, "")
    if state == "success":
        return Missing("")
    return Missing(
        f"MIG-06: {MIG_STATE}={state or 'not reported'}; see the log of"
        f" daemonset/{wanted['gpu_node_mig_manager']} on this node",
        is_final=state == "failed",
    )


def _resources(seen: Seen, wanted: Wanted) -> Missing:
    short = findings.resources(_node(seen, wanted), wanted)
    if not short:
        return Missing("")
    return Missing(
        f"KUB-03: the node advertises {'; '.join(short)}; see the log of"
        f" daemonset/{wanted['gpu_node_plugin']} on this node"
    )


def _manager(seen: Seen, wanted: Wanted) -> Missing:
    return _pod(seen, wanted, wanted["gpu_node_mig_manager"], wanted["gpu_node_mig_checksum"])


def _plugin(seen: Seen, wanted: Wanted) -> Missing:
    return _pod(seen, wanted, wanted["gpu_node_plugin"], "")


def _pod(seen: Seen, wanted: Wanted, name: str, expected: str) -> Missing:
    """expected: the checksum that its pod must carry, empty for any."""
    answer = _command(seen, "pods")
    pods = json.loads(answer["out"])["items"] if answer["rc"] == 0 else []
    ready = [pod for pod in pods if _is_ready(pod)]
    if any(not expected or checksum(pod) == expected for pod in ready):
        return Missing("")
    present = "of its present configuration " if expected else ""
    return Missing(
        f"KUB-03: daemonset/{name} has no ready pod {present}on the node after"
        f" {wanted['gpu_node_patience']} s (gpu_node_patience)"
    )


def _is_ready(pod: Object) -> bool:
    states = {each["type"]: each["status"] for each in pod["status"].get("conditions") or ()}
    return "deletionTimestamp" not in pod["metadata"] and states.get("Ready") == "True"


def _agents_gone(seen: Seen, wanted: Wanted) -> Missing:
    answer = _command(seen, "pods")
    if answer["rc"] != 0:
        return Missing(f"the agents on {wanted['gpu_node_name']}: {answer['err'].strip()}")
    names = answer["out"].split()
    after = f"after {wanted['gpu_node_patience']} s (gpu_node_patience)"
    return Missing(f"{', '.join(names)} did not leave the node {after}" if names else "")


def _safe_drain(seen: Seen, wanted: Wanted) -> Missing:
    """Kubectl lists what a drain would do, and refuses what it would refuse."""
    answer = _command(seen, "drain")
    if answer["rc"] == 0:
        return Missing("")
    words = [each.partition(", continuing command")[0] for each in LOST.findall(answer["err"])]
    lost = "; ".join(dict.fromkeys(words)) or answer["err"].strip()
    return Missing(
        f"DRV-15: pods on {wanted['gpu_node_name']} would be lost by a drain: {lost}. End those"
        " without a controller yourself; data in emptyDir goes only with drain.deleteEmptyDir"
        " (gpu_node_drain_empty_dir)"
    )


def _drained(wanted: Wanted) -> Missing:
    """Judge the drain that was tried; protected pods may be deleted next, where that is allowed."""
    tried = wanted["__gpu_node_drained"]
    if tried["rc"] == 0:
        return Missing("")
    stayed = [f"{pod} in {space}" for pod, space in PROTECTED.findall(tried["stderr"])]
    if not stayed:
        return Missing(f"DRV-15: {tried['stderr'].strip() or tried.get('msg', 'no answer')}")
    if wanted["gpu_node_drain_past_budgets"]:
        return Missing("")
    return Missing(
        f"DRV-15: {', '.join(dict.fromkeys(stayed))} did not leave within"
        f" {wanted['gpu_node_drain_timeout']} (gpu_node_drain_timeout), usually protected by a"
        " disruption budget; the node stays cordoned. Make room, then run again"
    )


_MISSING = {
    "manager": _manager,
    "layout": _layout,
    "plugin": _plugin,
    "resources": _resources,
    "agents_gone": _agents_gone,
    "safe_drain": _safe_drain,
}
