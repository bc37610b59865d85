"""Specs of control planes, runs of the role kube_scheduler over them, and what it may write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import ansible_yaml
from support.lab.nodes import control_plane
from support.lab.nodes.node import Node
from support.lab.nodes.plays import Checkout, Run, spec
from support.lab.nodes.room import Room

ROLE = "kube_scheduler"
FILE = "etc/kubernetes/gpugen/kube-scheduler.yaml"
PATCH = "etc/kubernetes/gpugen/patches/kube-scheduler+json.json"
K0S_FILE = "etc/k0s/gpugen-kube-scheduler.yaml"
K3S_FILE = "etc/rancher/k3s/gpugen-kube-scheduler.yaml"
K3S_FLAG = "etc/rancher/k3s/config.yaml.d/90-gpugen-kube-scheduler.yaml"
ALLOW: dict[str, Any] = {"gpugen_allow_disruption": True}
SHORT: dict[str, Any] = {"kube_scheduler_patience": 15}


def cluster(room: Room, nodes: list[Node], distribution: str) -> dict[str, Any]:
    """Return a spec; the first node is a GPU host too, so its address stands in its pool."""
    first, *others = nodes
    hosts = [{"name": f"{node.name}.lab.example", "address": node.address} for node in others]
    return {
        **spec(room, [first]),
        "kubernetes": {"version": "1.36", "distribution": distribution},
        "controlPlane": {"hosts": [f"{first.name}.lab.example", *hosts]},
        "components": {"scheduler": {}},
    }


def schedulers(node: Node) -> dict[int, str]:
    """Return the running schedulers: pid -> command line."""
    lines = node.run("pgrep", "-a", "-x", "kube-scheduler", status=None).splitlines()
    return {int(pid): words for pid, _, words in (line.partition(" ") for line in lines)}


def files(node: Node) -> dict[str, str]:
    """Return what the role may write, by path."""
    paths = (control_plane.MANIFEST, FILE, PATCH, K3S_FILE, K3S_FLAG)
    return {path: node.read(path) for path in paths}


class Scene:
    """Nodes, and runs of the role over them in one order, each computed once."""

    def __init__(self, checkout: Checkout, nodes: dict[str, Node]) -> None:
        self.checkout = checkout
        self.nodes = nodes
        self.before = {name: files(node) for name, node in nodes.items()}

    def play(self, playbook: str = "site.yml", **extra: Any) -> Run:
        """Run the plays of the control plane."""
        return self.checkout.play("--tags", ROLE, playbook=playbook, extra=extra)

    def configuration(self) -> dict[str, Any]:
        """Return what gpugen rendered."""
        path = self.checkout.plays / "inventory" / "group_vars" / "control_plane.yml"
        variables = ansible_yaml.read(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = variables[f"{ROLE}_configuration"]
        return found


@pytest.fixture(scope="session")
def programs(upstream: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with the programs of a control plane, made once."""
    return control_plane.layer(upstream, tmp_path_factory.mktemp("programs"))
