# Copyright: the gpugen authors. Apache-2.0.
"""What gpu_node asks: one command about the node, and the kubelet's files on the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Wanted = Mapping[str, Any]
POOL_LABEL = "gpugen/pool"
KUBELET = (
    "/etc/default/kubelet",
    "/etc/sysconfig/kubelet",
    "/etc/rancher/k3s/config.yaml",
    "/etc/rancher/rke2/config.yaml",
)


def client(wanted: Wanted) -> list[str]:
    """Return kubectl on the control host, with what leads to the cluster."""
    program = wanted.get("__gpu_node_kubectl") or ["kubectl"]
    return [*program, f"--context={wanted['gpu_node_context']}", "--request-timeout=30s"]


def node_argv(wanted: Wanted) -> list[str]:
    """Return the question whose answer holds the node, the cluster's identity and the agents."""
    agents = (wanted["gpu_node_plugin"], wanted["gpu_node_mig_manager"])
    return [
        *client(wanted),
        *("get", f"--namespace={wanted['gpu_node_namespace']}", "--ignore-not-found"),
        *("--show-managed-fields", "--output=json"),
        *(f"node/{wanted['gpu_node_name']}", "namespace/kube-system"),
        *(f"daemonset.apps/{name}" for name in agents if name),
    ]


def on_node(wanted: Wanted, selector: str, output: str) -> list[str]:
    """Return the question for the node's pods of our namespace."""
    return [
        *client(wanted),
        *("get", "pods", f"--namespace={wanted['gpu_node_namespace']}"),
        *(f"--field-selector=spec.nodeName={wanted['gpu_node_name']}", f"--selector={selector}"),
        f"--output={output}",
    ]


def drain_argv(wanted: Wanted) -> list[str]:
    """Return the command that makes the node's pods leave."""
    found = [*client(wanted), "drain", wanted["gpu_node_name"], "--ignore-daemonsets"]
    found.append(f"--timeout={wanted['gpu_node_drain_timeout']}")
    return found + ["--delete-emptydir-data"] * bool(wanted["gpu_node_drain_empty_dir"])


def kubelet_files(wanted: Wanted) -> list[str]:
    """Return the files that tell the kubelet something; they are the installer's."""
    root = wanted["gpu_node_kubelet_root"]
    return [f"{root}/config.yaml", f"{root}/kubeadm-flags.env", *KUBELET]


def questions(wanted: Wanted, _seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that is asked, at once."""
    own = wanted["gpu_node_registration_file"]
    return {
        "files": [*kubelet_files(wanted), *([own] if own else [])],
        "control": {"commands": {"node": node_argv(wanted)}},
    }
