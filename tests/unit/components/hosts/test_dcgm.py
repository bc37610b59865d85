"""DCGM on the hosts: packages by the driver's CUDA, and one engine for the exporter."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.components.hosts.dcgm import contribute
from support.component_specs import cluster, container, environment, objects, pod
from support.component_specs import pool as stated_pool
from support.specs import resolved

HOST = {"/hostDefaults/dcgm": {"version": "4.5.3"}}


def variables(changes: dict[str, Any]) -> dict[str, Any]:
    spec = resolved(changes)
    return dict(contribute(spec, {}).host_variables["a100"])


def test_is_due_only_where_the_spec_speaks_of_it() -> None:
    assert "dcgm" not in resolved().options
    assert "dcgm" in resolved(HOST).options


@pytest.mark.parametrize(
    ("driver", "package"),
    [
        ("580.178.04", "datacenter-gpu-manager-4-cuda13"),
        ("570.211.01", "datacenter-gpu-manager-4-cuda12"),
        ("470.256.02", "datacenter-gpu-manager-4-cuda11"),
        ("610.57.04", "datacenter-gpu-manager-4-cuda13"),
    ],
)
def test_packages_follow_the_cuda_major_of_the_driver(driver: str, package: str) -> None:
    """DCG-01: and the core at the same version."""
    own = variables({**HOST, "/hostDefaults/driver": {"version": driver}})
    assert own["nvidia_dcgm_packages"] == [package, "datacenter-gpu-manager-4-core"]
    assert own["nvidia_dcgm_version"] == "4.5.3"


def test_the_engine_must_find_all_gpus() -> None:
    """DCG-04."""
    assert variables(HOST)["nvidia_dcgm_expected_gpus"] == 4


def test_a_masked_service_has_nothing_to_install() -> None:
    """DCG-02."""
    masked = variables({"/hostDefaults/dcgm": {"mode": "masked"}})
    assert masked == {"nvidia_dcgm_mode": "masked"}


def test_the_exporter_of_a_host_with_an_engine_runs_none_of_its_own() -> None:
    """DCG-02: it connects on localhost, so its pod shares the host's network."""
    engine = stated_pool("engine", host={"dcgm": {"version": "4.5.3"}})
    masked = stated_pool("masked", host={"dcgm": {"mode": "masked"}})
    spec = cluster(engine, masked, stated_pool("plain"))
    found = objects(spec, "dcgm-exporter")
    joined = found["DaemonSet/dcgm-exporter-engine"]
    assert environment(joined)["DCGM_REMOTE_HOSTENGINE_INFO"] == "localhost:5555"
    assert pod(joined)["hostNetwork"] is True
    assert container(joined)["ports"][0]["hostPort"] == 9400
    for name in ("masked", "plain"):
        own = found[f"DaemonSet/dcgm-exporter-{name}"]
        assert "DCGM_REMOTE_HOSTENGINE_INFO" not in environment(own)
        assert "hostNetwork" not in pod(own)
        assert "hostPort" not in container(own)["ports"][0]
