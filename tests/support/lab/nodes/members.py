"""Hosts of the lab as nodes of a real API server: their objects, pods on them, and kubectl.

KWOK plays the kubelets, so pods run, leave when they are evicted, and nodes stay ready.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import Any

from support.lab.cluster.api import Api, Object
from support.lab.cluster.plane import TOKEN, Plane
from support.lab.cluster.programs import wait_until

CONTEXT = "lab-admin"
AGENTS = "gpu-agents"
WORK = "work"
RECORDER = """\
#!/bin/sh
echo "$*" >>{log}
exec {kubectl} "$@"
"""


class Members:
    """Nodes of one cluster; leave() takes everything away."""

    def __init__(self, plane: Plane, names: Iterable[str], folder: Path) -> None:
        self.api: Api = plane.api
        self.names = tuple(names)
        self._log = folder / "kubectl.log"
        recorder = folder / "kubectl"
        recorder.write_text(RECORDER.format(log=self._log, kubectl=plane.find("kubectl")))
        recorder.chmod(0o755)
        # kubectl runs in this process's network, where the API server listens.
        self.kubectl = [
            *("nsenter", f"--net=/proc/{os.getpid()}/ns/net", "--", str(recorder)),
            f"--kubeconfig={plane.kubeconfig(CONTEXT)}",
            f"--cache-dir={plane.folder / 'kubectl-cache'}",
        ]
        self._paths: list[str] = []
        for name in self.names:
            self.create("/api/v1/nodes", _node(name))
        if self.api.find(f"/api/v1/namespaces/{AGENTS}") is None:
            self.api.post("/api/v1/namespaces", {"metadata": {"name": AGENTS}})

    def another(self) -> Members:
        """Return the same by a connection of its own, for another thread."""
        own = copy(self)
        own.api = self.api.as_user(TOKEN)
        return own

    @property
    def uid(self) -> str:
        """Uid by which a spec names this cluster."""
        uid: str = self.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
        return uid

    @property
    def calls(self) -> list[str]:
        """Command lines of kubectl so far, without what leads to the cluster."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line.partition("--request-timeout=30s ")[2] for line in lines]

    def create(self, folder: str, item: Object) -> None:
        """Create an object that leave() takes away."""
        self.api.post(folder, item)
        self._paths.append(f"{folder}/{item['metadata']['name']}")

    def node(self, name: str) -> dict[str, Any]:
        """Return a node as the server has it."""
        found: dict[str, Any] = self.api.get(f"/api/v1/nodes/{name}")
        return found

    def labels(self, name: str) -> dict[str, str]:
        """Return a node's labels."""
        found: dict[str, str] = self.node(name)["metadata"]["labels"]
        return found

    def holder(self, name: str) -> str:
        """Return who cordoned a node: gpugen, somebody, or nobody."""
        node = self.node(name)
        if not node["spec"].get("unschedulable"):
            return "nobody"
        is_ours = "gpugen/cordoned-by" in node["metadata"].get("annotations", {})
        return "gpugen" if is_ours else "somebody"

    def advertise(self, name: str, **amounts: str) -> None:
        """Let a node advertise resources, e.g. gpu="4" or mig_1g_5gb="28"."""
        names = {key: re.sub("^mig-(.g)-", r"mig-\1.", key.replace("_", "-")) for key in amounts}
        found = {f"nvidia.com/{names[key]}": amount for key, amount in amounts.items()}
        body = {"status": {"capacity": found, "allocatable": found}}
        self.api.merge(f"/api/v1/nodes/{name}/status", body)

    def label(self, name: str, key: str, value: str) -> None:
        """Set a label of a node."""
        self.api.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": {key: value}}})

    def cordon(self, name: str, *, is_on: bool) -> None:
        """Cordon a node as an administrator does, or take it back."""
        self.api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": is_on or None}})

    def deploy(self, replicas: int) -> None:
        """Run pods that a scheduler places and replaces; a spare node can take them all."""
        folder = "/apis/apps/v1/namespaces/default/deployments"
        self.create(folder, _workload("Deployment", WORK, {"app": WORK}, replicas=replicas))
        self.wait_for_pods(replicas)

    def wait_for_pods(self, count: int) -> None:
        """Wait until that many pods of the deployment run."""
        wait_until(f"{count} pods", lambda: len(self.running()) == count)

    def running(self) -> list[str]:
        """Return the nodes of the deployment's pods that run."""
        return [
            pod["spec"]["nodeName"]
            for pod in self.pods("default", f"app={WORK}")
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def pods(self, namespace: str, selector: str) -> list[Object]:
        """Return pods."""
        return self.api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)

    def daemon(self, name: str, pool: str, checksum: str = "") -> None:
        """Run an agent of ours on the pool's nodes, as the Kubernetes half does."""
        labels = {"app.kubernetes.io/name": name, "gpugen/pool": pool}
        notes = {"gpugen/config-checksum": checksum} if checksum else {}
        item = _workload("DaemonSet", f"{name}-{pool}", labels, notes=notes)
        item["spec"]["template"]["spec"]["nodeSelector"] = {"gpugen/pool": pool}
        item["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
        self.create(f"/apis/apps/v1/namespaces/{AGENTS}/daemonsets", item)

    def leave(self) -> None:
        """Take away what was created here."""
        for path in reversed(self._paths):
            self.api.delete(path)


def _node(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "lab.example/ours": "no"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        },
    }


def _workload(
    kind: str,
    name: str,
    labels: dict[str, str],
    *,
    replicas: int = 0,
    notes: dict[str, str] | None = None,
) -> Object:
    container = {"name": WORK, "image": WORK}
    template = {
        "metadata": {"labels": labels, "annotations": notes or {}},
        "spec": {"automountServiceAccountToken": False, "containers": [container]},
    }
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    if replicas:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
