"""Everything that can be stated is used or refused: no key of the spec is without effect."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import pytest

from gpugen.model.finding import Finding, Pointer, is_fatal
from gpugen.model.tree import Tree
from gpugen.validate.combined import combined_schema
from gpugen.validate.keys import ITEMS, keys_of, places
from support.rich import RICH, changed, rendered

Outcome: TypeAlias = tuple[Tree | None, list[Finding]]

DIGEST = "sha256:" + "0" * 64
METRIC = {"field": "DCGM_FI_DEV_FAN_SPEED", "type": "gauge", "help": "Fan speed."}
REPOSITORIES = {
    "baseURL": "https://a.example/cuda",
    "keyFile": "keys/a.asc",
    "fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC",
}
TOOLKITS = {"versions": ["12.9", "13.0"], "default": "12.9"}
CLOCKS = {"min": 300, "max": 1200}
COMPONENTS = "components/"
CONTROL_PLANE = {"/controlPlane": {"hosts": [{"name": "cp-1.example"}]}}
SETUPS: dict[str, dict[str, Any]] = {  # what must be stated first, by the beginning of the key
    "hostDefaults/repositories": {"/hostDefaults/repositories": REPOSITORIES},
    "pools/[]/host/repositories": {"/pools/0/host/repositories": REPOSITORIES},
    "hostDefaults/cudaToolkit": {"/hostDefaults/cudaToolkit": TOOLKITS},
    "pools/[]/host/cudaToolkit": {"/pools/0/host/cudaToolkit": TOOLKITS},
    "hostDefaults/tuning/lockedClocksMHz": {"/hostDefaults/tuning/lockedClocksMHz": CLOCKS},
    "pools/[]/host/tuning/lockedClocksMHz": {"/pools/0/host/tuning/lockedClocksMHz": CLOCKS},
    "components/dcgm-exporter/metrics/add/[]": {
        "/components/dcgm-exporter": {"metrics": {"add": [METRIC]}}
    },
    "controlPlane/hosts/[]": CONTROL_PLANE,
    "components/scheduler/mode": CONTROL_PLANE,
    "components/grafana/folder": {"/components/grafana/namespace": "monitoring"},
    "delivery/argocd/destination/server": {"/delivery/argocd": {"destination": {"name": "a"}}},
    "delivery/flux": {"/delivery": {"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}}},
}
WHERE = {  # which item of a list, by the beginning of the key
    "pools/[]/hosts/[]": "/pools/0/hosts/1",
    "pools/[]/sharing/failRequestsGreaterThanOne": "/pools/1/sharing/failRequestsGreaterThanOne",
    "pools/[]/sharing/mode": "/pools/1/sharing/mode",
    "pools/[]/host/driver/kernelModules": "/pools/2/host/driver/kernelModules",
}
VALUES: dict[str, list[Any]] = {  # for what has no other examples, enumeration or bounds
    "stack": ["gpu-operator"],
    "components/prometheus/scrapeTimeout": ["9s"],
    "components/prometheus/namespace": ["other"],
    "components/prometheus/selectorLabels": [{"release": "other"}, {}],
    "components/device-plugin/version": ["0.20.0"],
    "pools/[]/host/repositories/fingerprint": ["F" * 40],
    "hostDefaults/repositories/fingerprint": ["F" * 40],
    "pools/[]/host/driver/kernelModules": ["proprietary"],
    "pools/[]/host/architecture": ["arm64"],
    "hostDefaults/driver/kernelModules": ["proprietary"],
    "hostDefaults/architecture": ["arm64"],
    "apiVersion": ["gpugen/v2"],
    "kind": ["Layer"],
    "name": ["other"],
    "description": ["Other words"],
    "release": ["2026.12"],
    "kubernetes/version": ["1.35"],
    "kubernetes/distribution": ["k0s", "microk8s"],
    "access/ssh/user": ["root"],
    "hostDefaults/os": ["debian-12", "rhel-9"],
    "hostDefaults/migManager/version": ["0.15.0"],
    "pools/[]/host/migManager/version": ["0.15.0"],
    "hostDefaults/driver/version": ["595.91.07"],
    "hostDefaults/containerToolkit/version": ["1.19.1"],
    "pools": [RICH["pools"][1:]],
    "pools/[]/name": ["other"],
    "pools/[]/gpu/model": ["a100-sxm4-80gb", "a800-sxm4-40gb"],
    "pools/[]/gpu/count": [5],
    "pools/[]/hosts": [["other.example"]],
    "pools/[]/hosts/[]/name": ["other.example"],
    "pools/[]/hosts/[]/address": ["10.1.0.4", "fd00::4"],
    "pools/[]/host/os": ["debian-12"],
    "pools/[]/host/driver/version": ["595.91.07"],
    "pools/[]/host/containerToolkit/version": ["1.19.1"],
    "pools/[]/taints/[]/key": ["example.com/gpu"],
    "pools/[]/taints/[]/value": ["other"],
    "pools/[]/mig/manager": ["host"],
    "pools/[]/mig/layout": [[{"gpus": "all", "profiles": {"1g.5gb": 7}}]],
    "pools/[]/mig/layout/[]/gpus": [[0], "all"],
    "pools/[]/mig/layout/[]/profiles": [{"1g.5gb": 6}, {}],
    "pools/[]/sharing/resources": [{"nvidia.com/mig-1g.5gb": 3}, {"nvidia.com/mig-2g.10gb": 2}],
    "components/dcgm-exporter/interval": ["16s"],
    "components/dcgm-exporter/metrics/add/[]/field": ["DCGM_FI_DEV_SERIAL"],
    "components/dcgm-exporter/metrics/add/[]/help": ["Other words."],
    "components/gpu-feature-discovery/sleepInterval": ["61s"],
    "components/grafana/label": [{"dashboards": "gpu"}],
    "components/guardrails/toleratedTaints": [["example.com/gpu"]],
    "components/mig-manager/hostServices": [[]],
    "components/node-feature-discovery/sources": [["pci", "cpu"]],
    "components/node-feature-discovery/sleepInterval": ["61s"],
    "components/runtime-class": [False],
    "components/scheduler/schedulerName": ["other"],
    "components/scheduler/mode": ["second"],
    "images/digests": [{"device-plugin": DIGEST}, {"scheduler": DIGEST}],
    "images/registry": ["registry.example:5000/mirror"],
    "namespaces/agents": ["other"],
    "namespaces/controllers": ["other"],
    "drain/timeout": ["11m"],
    "deviceListStrategy": ["volume-mounts", "cdi-cri", "cdi-annotations", ["envvar", "cdi-cri"]],
    "delivery/repoURL": ["https://git.example/other.git"],
    "delivery/revision": ["other"],
    "delivery/path": ["overlays/other"],
    "delivery/argocd/namespace": ["other"],
    "delivery/argocd/project": ["other"],
    "delivery/argocd/destination/name": ["other"],
    "delivery/argocd/destination/server": ["https://api.example:6443"],
    "delivery/flux/namespace": ["other"],
    "delivery/flux/sourceRef/name": ["other"],
}


OFF = dict.fromkeys(
    [
        *("dcgm-exporter", "gpu-feature-discovery", "grafana", "guardrails"),
        *("node-feature-discovery", "prometheus", "runtime-class", "scheduler"),
    ],
    False,
)
CONTEXTS: dict[str, dict[str, Any]] = {  # where some keys have nothing to act upon
    "flux-on-rke2": {
        "/kubernetes/distribution": "rke2",
        "/delivery": {"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}},
        "/components/prometheus": {"mode": "scrape-config"},
    },
    "drivers-in-the-image": {
        "/delivery": None,
        "/components/prometheus": {"mode": "static"},
        "/hostDefaults/driver": {"method": "none"},
    },
    "components-off": {"/components": OFF},
    "rules-only": {
        "/components/dcgm-exporter": False,
        "/components/node-feature-discovery": {"mode": "existing"},
    },
    "all-mig-by-hosts": {"/kubernetes/distribution": "k3s", "/pools": [RICH["pools"][0]]},
    "all-clients": {"/pools": [RICH["pools"][2]], "/deviceListStrategy": "cdi-cri"},
    "whole": {"/pools": [RICH["pools"][3]], "/access": {}},
}
RESTATED = {  # off or on already there, or only checked there
    *("components/runtime-class", "kubernetes/version", "pools/[]/host/driver/method"),
    *("pools/[]/mig/manager", "components/dcgm-exporter/profiling"),
}


@cache
def leaves() -> dict[str, dict[str, Any]]:
    """Return every key of the spec that has none below it, as pools/[]/gpu/count: its schema."""
    root = combined_schema()
    return {
        "/".join((*place, key)): schema
        for place, key, schema in places(root)
        if not keys_of(schema, root)
    }


def first(table: dict[str, Any], key: str) -> Any:
    """Return the entry of a table whose key the given one begins with."""
    return next((entry for start, entry in table.items() if key.startswith(start)), None)


def pointer(key: str) -> str:
    """Return where a key is stated in the rich spec."""
    start = next((start for start in WHERE if key.startswith(start)), "")
    rest = key.removeprefix(start)
    return (WHERE[start] if start else "/") + rest.replace(ITEMS, "0")


def values(key: str, schema: dict[str, Any]) -> list[Any]:
    """Return what may be stated in place of the default."""
    if key in VALUES:
        return VALUES[key]
    if "enum" in schema:
        return [value for value in schema["enum"] if value != schema.get("default")]
    if schema.get("type") == "boolean":
        return [not schema.get("default")]
    if schema.get("type") == "integer":
        return [schema.get("default", schema.get("minimum", 0)) + 1]
    found = [value for value in schema.get("examples", ()) if value != schema.get("default")]
    return found or [{"cpu": "11m"}] * (schema.get("type") == "object")


def fits_in(base: dict[str, Any], at: str) -> bool:
    """Tell whether the lists that a pointer leads through are long enough."""
    node: Any = base
    for part in Pointer(at).parts[:-1]:
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif node is not None or part.isdigit():
            return False
    return node is None or isinstance(node, dict)


def stated(key: str, base: dict[str, Any]) -> Any:
    """Return what is stated for a key before it is changed, or nothing."""
    at: str = pointer(key)
    node: Any = base
    for part in Pointer(at).parts:
        if isinstance(node, list):
            node = node[int(part)] if int(part) < len(node) else None
        else:
            node = node.get(part) if isinstance(node, dict) else None
    return node


CASES = [
    (key, value)
    for key, schema in leaves().items()
    for value in values(key, schema)
    if value != stated(key, changed(first(SETUPS, key) or {}))
]


def is_about(finding: Finding, at: str) -> bool:
    """Tell whether a finding stands at a place, below it or right above it."""
    above = at.rpartition("/")[0]
    return finding.at.startswith(at) or finding.at == above or at.startswith(finding.at + "/")


def is_without_effect(base: dict[str, Any], outcome: Outcome, key: str, value: Any) -> bool:
    """Tell whether stating a value changes neither the output nor what is said."""
    at = pointer(key)
    tree, before = outcome
    assert tree is not None, f"the base of this case has errors: {before}"
    after_tree, after = rendered(changed({at: value}, base))
    new = [finding for finding in after if finding not in before]
    is_told = any(is_about(finding, at) for finding in after)
    is_used = after_tree is not None and list(after_tree) != list(tree)
    return not (is_fatal(new) or is_told or is_used)


@pytest.mark.parametrize(
    ("key", "value"), CASES, ids=[f"{key}={value!r}"[:80] for key, value in CASES]
)
def test_a_value_changes_the_output_or_is_refused(key: str, value: Any) -> None:
    base = changed(first(SETUPS, key) or {})
    assert not is_without_effect(base, rendered(base), key, value)


@pytest.mark.parametrize("context", CONTEXTS)
def test_nor_is_a_value_idle_elsewhere(context: str) -> None:
    base = changed(CONTEXTS[context])
    outcome = rendered(base)
    assert outcome[0] is not None
    idle = [
        f"{key}: {value!r}"
        for key, value in CASES
        if first(SETUPS, key) is None or key.startswith("delivery")
        if key not in RESTATED and stated(key, base) != value and fits_in(base, pointer(key))
        if is_without_effect(base, outcome, key, value)
    ]
    assert idle == []


def test_every_key_has_a_value() -> None:
    assert {key for key, _ in CASES} == set(leaves())
    assert set(VALUES) <= set(leaves())
