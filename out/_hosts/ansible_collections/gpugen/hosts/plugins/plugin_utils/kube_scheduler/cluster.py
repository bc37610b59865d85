# Copyright: the gpugen authors. Apache-2.0.
"""The ConfigMap that says which profile every main scheduler serves, as the cluster has it.

It is not in git, because only a play knows. The action ``gpugen.hosts.wait`` calls this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..common import seen as answers

Wanted = Mapping[str, Any]
Seen = Mapping[str, Any]
NAMESPACE = "namespace/kube-system"  # its UID is the cluster's identity


class Missing(NamedTuple):
    """What is not as it has to be, empty where all is; and whether waiting longer is of no use."""

    text: str
    is_final: bool = False


def awaited(what: str, wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Ask for the cluster's identity, and for the ConfigMap.

    what: cluster, switch.
    """
    del what, seen  # one answer serves both, at once
    own = wanted["kube_scheduler_switch"]["metadata"]
    client = wanted.get("__kube_scheduler_control_kubectl", ["kubectl"])
    asked = [
        *client,
        f"--context={wanted['kube_scheduler_context']}",
        "--request-timeout=30s",
        *("get", "--output=json", NAMESPACE, f"configmap/{own['name']}"),
        f"--namespace={own['namespace']}",
        "--ignore-not-found",
    ]
    return {"commands": {"cluster": asked}}


def missing(what: str, seen: Seen, wanted: Wanted) -> Missing:
    """Return why this is not the cluster; of the ConfigMap: that it does not say what is served."""
    answer = answers.command(seen.get("control", {}), "cluster")
    items = json.loads(answer["out"])["items"] if answer["rc"] == 0 else []
    if text := _of_cluster(answer, items, wanted):
        return Missing(text)
    switch = wanted["kube_scheduler_switch"]
    found = [own.get("data", {}) for own in items if own["kind"] == "ConfigMap"]
    if what == "cluster" or found == [switch["data"]]:
        return Missing("")
    return Missing(
        f"configmap/{switch['metadata']['name']} of {switch['metadata']['namespace']} does not say"
        " what the schedulers serve, so pods keep the default profile;"
        " run site.yml --tags kube_scheduler"
    )


def _of_cluster(answer: Mapping[str, Any], items: list[dict[str, Any]], wanted: Wanted) -> str:
    uids = [own["metadata"]["uid"] for own in items if own["kind"] == "Namespace"]
    uid = uids[0] if uids else ""
    expected = wanted["kube_scheduler_cluster_uid"]
    if answer["rc"] == 0 and expected in ("", uid):
        return ""
    return (
        f"context {wanted['kube_scheduler_context']} leads to the cluster"
        f" {uid or 'that does not answer'}, expected {expected or 'any'}"
        f" (kube_scheduler_cluster_uid); {answer['err'].strip()}"
    )
