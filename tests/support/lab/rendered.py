"""Takes out of a plan what one node's containers are started with, as the cluster would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpugen.model.assembly import Assembly

CONFIG = "/config/config.yaml"


@dataclass(frozen=True, slots=True)
class Container:
    """What a container is started with: command, environment, files of its ConfigMaps, mounts."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]  # path in the container -> content
    mounts: tuple[str, ...]  # paths in the container
    has_sys_admin: bool


def container(plan: Assembly, daemon_set: str) -> Container:
    """Return the one container of a DaemonSet; fields of the pod in its environment left out."""
    (found,) = (o for o in _objects(plan, "DaemonSet") if o["metadata"]["name"] == daemon_set)
    pod = found["spec"]["template"]["spec"]
    (own,) = pod["containers"]
    folders = {v["name"]: v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v}
    security = own.get("securityContext", {})
    added = security.get("capabilities", {}).get("add", [])
    return Container(
        command=tuple(own.get("command", ())),
        environment={e["name"]: e["value"] for e in own.get("env", ()) if "value" in e},
        files={
            f"{mount['mountPath']}/{key}": text
            for mount in own["volumeMounts"]
            if mount["name"] in folders
            for key, text in config_map(plan, folders[mount["name"]]).items()
        },
        mounts=tuple(mount["mountPath"] for mount in own["volumeMounts"]),
        has_sys_admin=bool(security.get("privileged")) or "SYS_ADMIN" in added,
    )


def config_map(plan: Assembly, name: str) -> dict[str, str]:
    """Return the data of a ConfigMap."""
    (found,) = (o for o in _objects(plan, "ConfigMap") if o["metadata"]["name"] == name)
    data: dict[str, str] = found["data"]
    return data


def _objects(plan: Assembly, kind: str) -> list[dict[str, Any]]:
    return [placed.object for placed in plan.objects if placed.object["kind"] == kind]
