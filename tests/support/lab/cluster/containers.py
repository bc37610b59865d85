"""Runs a container of a rendered pod as a process: its command, environment, files, and token.

What a kubelet would do for it, as far as static programs need it; mounts of the host are the
test's to make below the folder that the program sees as its root.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.lab.cluster.api import Api, Object
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program
from support.lab.cluster.trees import Rendered

ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod that exists in the API. files: path below the root -> content."""

    pod: Object
    command: tuple[str, ...]
    environment: dict[str, str]
    files: dict[str, str]


def container(plane: Plane, rendered: Rendered, workload: Object, node: str) -> Container:
    """Create a pod of a DaemonSet or Deployment on a node and return its first container."""
    pod = _pod(plane.api, workload, node)
    (own, *_) = pod["spec"]["containers"]
    return Container(
        pod,
        (*own["command"], *own.get("args", ())),
        {
            **{entry["name"]: _value(pod, entry) for entry in own.get("env", ())},
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(plane.api.port),
            "PATH": "/",
        },
        {**_config(rendered, pod), **_account(plane, pod)},
    )


def start(
    plane: Plane, own: Container, root: Path, program: Path, extra: Sequence[str] = ()
) -> Program:
    """Start the container's program with its root below ``root``. extra: arguments of the lab's."""
    for path, content in own.files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    (root / "tmp").mkdir(exist_ok=True)
    inside = root / own.command[0]
    if not inside.exists():
        try:
            os.link(program, inside)
        except OSError:  # another file system
            shutil.copy(program, inside)
    command = [f"/{own.command[0]}", *own.command[1:], *extra]
    name = own.pod["metadata"]["name"]
    return Program(name, command, plane.folder, root=root, environment=own.environment)


def token(plane: Plane, namespace: str, account: str) -> str:
    """Return a token of a service account, as a pod of it would have."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = plane.api.post(path, request)
    text: str = answer["status"]["token"]
    return text


def _pod(api: Api, workload: Object, node: str) -> Object:
    template = workload["spec"]["template"]
    namespace = workload["metadata"]["namespace"]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": f"{workload['metadata']['name']}-{node}"},
        "spec": {**template["spec"], "nodeName": node},
    }
    return api.post(f"/api/v1/namespaces/{namespace}/pods", body)


def _value(pod: Object, entry: Object) -> str:
    if "value" in entry:
        return str(entry["value"])
    at = pod
    for step in entry["valueFrom"]["fieldRef"]["fieldPath"].split("."):
        at = at[step]
    return str(at)


def _config(rendered: Rendered, pod: Object) -> dict[str, str]:
    volumes = {
        v["name"]: v["configMap"]["name"] for v in pod["spec"]["volumes"] if "configMap" in v
    }
    maps = {item["metadata"]["name"]: item["data"] for item in rendered.of_kind("ConfigMap")}
    return {
        f"{mount['mountPath'].strip('/')}/{key}": text
        for mount in pod["spec"]["containers"][0].get("volumeMounts", ())
        if mount["name"] in volumes
        for key, text in maps[volumes[mount["name"]]].items()
    }


def _account(plane: Plane, pod: Object) -> dict[str, str]:
    """Return what the token volume holds, if the server has given the pod one."""
    if not any("projected" in volume for volume in pod["spec"]["volumes"]):
        return {}
    namespace = pod["metadata"]["namespace"]
    return {
        f"{ACCOUNT}/token": token(plane, namespace, pod["spec"]["serviceAccountName"]),
        f"{ACCOUNT}/ca.crt": plane.authority.read_text(encoding="utf-8"),
        f"{ACCOUNT}/namespace": namespace,
    }
