"""A spec in which every component and every field has something to act upon."""

from __future__ import annotations

import copy
from functools import cache
from itertools import pairwise
from typing import Any

from gpugen import checks
from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.model.finding import Finding, Pointer, is_fatal
from gpugen.model.tree import Tree
from gpugen.render import render
from gpugen.resolve import resolve
from gpugen.validate import validate

POOLS = ["mig", "sliced", "clients", "whole"]  # in this order
RICH: dict[str, Any] = {
    "apiVersion": "gpugen/v1",
    "kind": "Cluster",
    "name": "rich",
    "description": "Everything at once",
    "release": "2026.11",
    "kubernetes": {"version": "1.36", "distribution": "kubeadm", "containerRuntime": "containerd"},
    "access": {"ssh": {"user": "ops"}, "kubeconfigContext": "rich-admin"},
    "hostDefaults": {
        "os": "ubuntu-24.04",
        "driver": {"version": "580.178.04"},
        "containerToolkit": {"version": "1.20.0"},
    },
    "pools": [
        {
            "name": "mig",
            "gpu": {"model": "a100-sxm4-40gb", "count": 4},
            "hosts": ["mig-[01:02].example", {"name": "mig-03.example", "address": "10.1.0.3"}],
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
            "mig": {
                "strategy": "mixed",
                "layout": [
                    {"gpus": [0, 1], "profiles": {"1g.5gb": 7}},
                    {"gpus": [2, 3], "profiles": {"3g.20gb": 1, "2g.10gb": 2}},
                ],
            },
            "sharing": {"mode": "time-slicing", "resources": {"nvidia.com/mig-1g.5gb": 2}},
        },
        {
            "name": "sliced",
            "gpu": {"model": "t4", "count": 2},
            "hosts": ["sliced-[1:3].example"],
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
            "sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}},
        },
        {
            "name": "clients",
            "gpu": {"model": "l4", "count": 1},
            "hosts": ["clients-[a:c].example"],
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
            "sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 6}},
        },
        {
            "name": "whole",
            "gpu": {"model": "h100-sxm5-80gb", "count": 8},
            "hosts": ["whole-[01:16].example"],
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
        },
    ],
    "components": {
        "prometheus": {"mode": "service-monitor", "selectorLabels": {"release": "monitoring"}},
        "grafana": {},
        "scheduler": {},
        "guardrails": {},
    },
    "delivery": {"engine": "argocd", "repoURL": "https://git.example/gpu.git"},
}


def changed(changes: dict[str, Any], base: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a spec, the rich one by default, with values set at pointers; None removes a key."""
    data = copy.deepcopy(RICH if base is None else base)
    for pointer, value in changes.items():
        put(data, Pointer(pointer).parts, copy.deepcopy(value))
    return data


def put(data: Any, parts: tuple[str, ...], value: Any) -> None:
    """Set a value, or remove the key for None."""
    for part, after in pairwise(parts):
        if isinstance(data, list):
            data = data[int(part)]
        else:
            data = data.setdefault(part, [] if after.isdigit() else {})
    last = parts[-1]
    if isinstance(data, list):
        data[int(last) : int(last) + 1] = [value]
    elif value is None:
        data.pop(last, None)
    else:
        data[last] = value


@cache
def catalog() -> Catalog:
    """Return the catalogue that gpugen brings."""
    return Catalog()


def rendered(data: dict[str, Any]) -> tuple[Tree | None, list[Finding]]:
    """Validate a spec as the pipeline does, and render it if it has no errors."""
    findings = validate(data)
    if is_fatal(findings):
        return None, findings
    spec, more = resolve(data, catalog(), f"inventories/{data['name']}/cluster.yaml")
    findings += more
    if spec is not None:
        findings += [finding for check in checks.discover() for finding in check.run(spec)]
    if spec is None or is_fatal(findings):
        return None, findings
    return render(spec, assemble(spec)), findings
