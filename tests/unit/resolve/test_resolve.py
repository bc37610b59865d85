"""Resolving finds names, merges host settings, fills defaults, points to what is unknown."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen.catalog import Catalog
from gpugen.model.finding import Pointer
from gpugen.model.options import DevicePlugin
from gpugen.model.spec import MigManager
from gpugen.resolve import resolve
from support.specs import MINIMAL, resolved


def findings(changes: dict[str, Any]) -> list[tuple[str, str]]:
    data = yaml.safe_load(MINIMAL.read_text(encoding="utf-8"))
    for pointer, value in changes.items():
        at: Any = data
        *path, last = Pointer(pointer).parts
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if value is None:
            del at[last]
        else:
            at[last] = value
    spec, found = resolve(data, Catalog(), "inventories/minimal/cluster.yaml")
    assert (spec is None) is bool(found)
    return [(finding.id, finding.at) for finding in found]


@pytest.mark.parametrize(
    ("pointer", "value", "id"),
    [
        ("/release", "2020.01", "unknown-release"),
        ("/kubernetes/distribution", "kubeadmm", "unknown-distribution"),
        ("/kubernetes/version", "1.20", "unknown-kubernetes-version"),
        ("/pools/0/gpu/model", "a100", "unknown-gpu-model"),
        ("/hostDefaults/os", "ubuntu-23.10", "unknown-operating-system"),
        ("/hostDefaults/driver/version", "999.10", "unknown-driver-branch"),
    ],
)
def test_unknown_names(pointer: str, value: str, id: str) -> None:
    assert findings({pointer: value}) == [(id, pointer)]


def test_missing_host_settings_come_together() -> None:
    assert findings({"/hostDefaults": {}}) == [("host-missing-settings", "/hostDefaults")]
    assert findings({"/hostDefaults": {"os": "ubuntu-24.04"}}) == [
        ("host-missing-driver-version", "/hostDefaults"),
        ("host-missing-container-toolkit-version", "/hostDefaults"),
    ]


def test_a_pool_overrides_part_of_the_defaults() -> None:
    spec = resolved(
        {"/hostDefaults/driver/kernelModules": "open", "/pools/0/host/driver/version": "595.91.07"}
    )
    driver = spec.pools[0].host.driver
    assert (driver.version, driver.kernel_modules, driver.method) == ("595.91.07", "open", "vendor")


def test_defaults_come_from_the_schema() -> None:
    spec = resolved()
    assert (spec.namespaces.agents, spec.namespaces.controllers) == (
        "gpu-agents",
        "gpu-controllers",
    )
    assert spec.delivery.path == "out/minimal/kustomize"
    assert spec.device_list_strategy == ("envvar",)
    assert spec.own(DevicePlugin).max_unavailable == "10%"


@pytest.mark.parametrize(
    ("distribution", "manager"),
    [("kubeadm", MigManager.CLUSTER), ("k3s", MigManager.HOST), ("k0s", MigManager.HOST)],
)
def test_who_cuts_follows_the_distribution(distribution: str, manager: MigManager) -> None:
    mig = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
    spec = resolved({"/kubernetes/distribution": distribution, "/pools/0/mig": mig})
    assert spec.pools[0].mig.manager is manager


def test_components_that_the_spec_switches_off_and_on() -> None:
    spec = resolved({"/components": {"dcgm-exporter": False, "grafana": True}})
    assert "dcgm-exporter" not in spec.options
    assert "dcgm-exporter" in resolved().options
    assert "grafana" in spec.options
