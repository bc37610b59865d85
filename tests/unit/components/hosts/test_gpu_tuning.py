"""Tuning of hosts as data: what is stated becomes a variable, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen.components.hosts.gpu_tuning import COMPONENT, runtime_services
from support import ROOT
from support.specs import resolved

TUNING = "/hostDefaults/tuning"


def variables(tuning: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = COMPONENT.contribute(resolved({TUNING: tuning, **changes}), {})
    assert found.roles == ("gpu_tuning",)
    return {
        name.removeprefix("gpu_tuning_"): value
        for name, value in found.host_variables["a100"].items()
    }


@pytest.mark.parametrize(
    ("stated", "variable"),
    [
        ({"powerLimitWatts": 300}, {"power_limit_watts": 300}),  # TUN-01
        ({"lockedClocksMHz": {"min": 210, "max": 1410}}, {"locked_clocks_mhz": [210, 1410]}),
        ({"ecc": False}, {"ecc": "disabled"}),  # TUN-03
        ({"computeMode": "default"}, {"compute_mode": "default"}),
        ({"iommu": "pt"}, {"iommu": "pt"}),  # TUN-04
        ({"acs": "disabled"}, {"acs": "disabled"}),  # TUN-05
        ({"hugepages": {"1Gi": 2}}, {"hugepages_1gi": 2}),  # TUN-06
        ({"hugepages": {"2Mi": 0}}, {"hugepages_2mi": 0}),  # no pages are a statement too
        ({"numaBalancing": True}, {"numa_balancing": "enabled"}),  # TUN-07
        ({"gpuDirectRdma": "dma-buf"}, {"gpu_direct_rdma": "dma-buf"}),  # TUN-09
        ({}, {}),
    ],
    ids=lambda value: next(iter(value), "nothing"),
)
def test_only_what_is_stated_becomes_a_variable(
    stated: dict[str, Any], variable: dict[str, Any]
) -> None:
    assert variables(stated) == variable


def test_the_kubelet_is_told_of_its_pages() -> None:
    """TUN-06: by the unit that runs it, which is not its own everywhere."""
    found = COMPONENT.contribute(resolved({TUNING: {}}), {}).cluster_variables
    assert found["gpu_tuning_kubelet_services"] == ["kubelet.service"]
    spec = resolved({TUNING: {}, "/kubernetes/distribution": "k3s"})
    found = COMPONENT.contribute(spec, {}).cluster_variables
    assert found["gpu_tuning_kubelet_services"] == ["k3s.service", "k3s-agent.service"]


@pytest.mark.parametrize(
    ("kubernetes", "services"),
    [
        ({}, ["containerd.service"]),
        ({"/kubernetes/distribution": "k3s"}, ["k3s.service", "k3s-agent.service"]),
        ({"/kubernetes/distribution": "k0s"}, []),
    ],
    ids=["kubeadm", "k3s", "k0s"],
)
def test_limits_stand_at_the_unit_of_the_container_runtime(
    kubernetes: dict[str, Any], services: list[str]
) -> None:
    """TUN-08: the unit is the distribution's."""
    assert runtime_services(resolved(kubernetes)) == services


def test_a_pool_without_a_word_is_not_tuned_but_what_it_had_is_taken_back() -> None:
    """The role runs everywhere as soon as one pool is tuned; with nothing wanted it takes back."""
    spec = resolved({"/pools/0/host/tuning": {"ecc": True}})
    assert "gpu-tuning" in spec.options
    assert "gpu-tuning" not in resolved().options
    assert "gpu-tuning" in resolved({TUNING: {}}).options


def test_variables_meet_the_roles_contract() -> None:
    """Everything that can be stated is an option of the role, of its type."""
    path = ROOT / "roles" / "gpu_tuning" / "meta" / "argument_specs.yml"
    contract = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    everything = {
        "powerLimitWatts": 300,
        "lockedClocksMHz": {"min": 210, "max": 1410},
        "ecc": True,
        "computeMode": "default",
        "iommu": "translated",
        "acs": "disabled",
        "hugepages": {"2Mi": 8, "1Gi": 2},
        "numaBalancing": True,
        "limits": {"memlock": "infinity", "nofile": 65536},
        "gpuDirectRdma": "peermem",
    }
    spec = resolved({TUNING: everything})
    plan = COMPONENT.contribute(spec, {})
    found = {**plan.host_variables["a100"], **plan.cluster_variables}
    assert set(found) == set(contract)
    assert ArgumentSpecValidator(contract).validate(found).error_messages == []
