"""Pools of the Enterprise Linux family as host variables: names, streams, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.components.hosts.driver.packages import UnknownPackagesError
from support.specs import resolved

COMPUTE = ["nvidia-driver-cuda", "kmod-nvidia-open-dkms", "nvidia-persistenced"]
B200 = {"/pools/0/gpu": {"model": "b200", "count": 8}}
V100 = {"/pools/0/gpu": {"model": "v100-sxm2-32gb", "count": 4}}


def variables(system: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the host variables of the one pool, run by a system."""
    spec = resolved({"/hostDefaults/os": system, **(changes or {})})
    (pool,) = assemble(spec).host_variables.values()
    return dict(pool)


@pytest.mark.parametrize("system", ["rhel-9", "rocky-9", "alma-9", "amzn-2023"])
def test_a_system_with_module_streams_gets_the_stream_of_its_branch_drv_05(system: str) -> None:
    found = variables(system, {"/hostDefaults/driver/version": "580.105.08"})
    assert found["nvidia_driver_stream"] == "nvidia-driver:580-open"
    assert found["nvidia_driver_packages"] == COMPUTE


@pytest.mark.parametrize("system", ["rhel-10", "rocky-10", "alma-10"])
def test_el_10_has_no_module_streams_drv_05(system: str) -> None:
    found = variables(system)
    assert "nvidia_driver_stream" not in found
    assert found["nvidia_driver_packages"] == COMPUTE


def test_proprietary_modules_come_from_the_dkms_stream_drv_05() -> None:
    found = variables("rocky-9", V100)
    assert found["nvidia_driver_stream"].endswith("-dkms")
    assert "kmod-nvidia-latest-dkms" in found["nvidia_driver_packages"]


def test_the_fabric_has_the_names_of_rpm_drv_07() -> None:
    found = variables("rhel-9", B200)
    assert found["nvidia_driver_fabric_packages"] == ["nvidia-fabricmanager", "libnvsdm"]
    assert found["nvidia_driver_nvlink5_packages"] == ["nvlsm", "infiniband-diags", "libibumad"]


def test_prebuilt_modules_come_from_the_stream_without_dkms() -> None:
    method = {"/hostDefaults/driver/method": "precompiled"}
    found = variables("rocky-9", {**V100, **method, "/hostDefaults/driver/version": "580.105.08"})
    assert found["nvidia_driver_stream"] == "nvidia-driver:580"
    assert found["nvidia_driver_packages"] == ["nvidia-driver-cuda", "nvidia-persistenced"]
    assert found["nvidia_driver_module_packages"] == ["kmod-nvidia-{version}-{kernel}"]


@pytest.mark.parametrize("system", ["amzn-2023", "rocky-10"])
def test_nobody_builds_modules_for_other_kernels(system: str) -> None:
    with pytest.raises(UnknownPackagesError, match="no prebuilt"):
        variables(system, {**V100, "/hostDefaults/driver/method": "precompiled"})
