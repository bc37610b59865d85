"""What the hosts of a pool are told about their driver, by method, system and GPU model."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen.components.hosts.driver import COMPONENT
from gpugen.components.hosts.driver.packages import UnknownPackagesError
from gpugen.components.hosts.prerequisites import COMPONENT as PREREQUISITES
from support import ROOT
from support.hosts_half import variables
from support.specs import findings_of, resolved

INSTALLER = {"url": "https://mirror.lab.example/x-580.178.04.run", "sha256": "0" * 64}
DRIVER = "/hostDefaults/driver/"


def told(method: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the driver's variables for a method, after further changes of the minimal spec."""
    spec = resolved({DRIVER + "method": method, **(changes or {})})
    (own,) = COMPONENT.contribute(spec, {}).host_variables.values()
    return dict(own)


def test_vendor_names_the_set_and_the_fabric() -> None:
    """DRV-02, DRV-07: one version for the driver and for what speaks to NVSwitches."""
    own = told("vendor")
    assert own["nvidia_driver_packages"] == ["nvidia-open-580"]
    assert own["nvidia_driver_fabric_packages"] == ["nvidia-fabricmanager", "libnvidia-nscq"]
    assert "nvidia_driver_module_packages" not in own


def test_models_of_nvlink_5_get_nvsdm_and_their_subnet_manager() -> None:
    """DRV-07."""
    own = told("vendor", {"/pools/0/gpu/model": "b200"})
    assert own["nvidia_driver_fabric_packages"] == ["nvidia-fabricmanager", "libnvsdm"]
    assert own["nvidia_driver_nvlink5_packages"] == ["nvlsm", "infiniband-diags"]


def test_models_that_reach_other_nodes_get_imex_at_the_drivers_version() -> None:
    """DRV-07, DRV-10."""
    own = told("vendor", {"/pools/0/gpu/model": "gb200"})
    assert "nvidia-imex" in own["nvidia_driver_packages"]
    assert own["nvidia_driver_module_options"] == {"NVreg_CoherentGPUMemoryMode": "driver"}


LEAN = {"/release": "2026.12"}
UBUNTU, DEBIAN, ROCKY = (
    {"/hostDefaults/os": os} for os in ("ubuntu-24.04", "debian-12", "rocky-9")
)


@pytest.mark.parametrize(
    ("changes", "packages", "complete"),
    [
        (
            {**UBUNTU, DRIVER + "version": "535.309.01"},
            ["nvidia-headless-535", "nvidia-utils-535"],
            ["cuda-drivers-535"],
        ),
        (
            {**UBUNTU, DRIVER + "version": "580.178.04"},
            ["nvidia-headless-580-open", "nvidia-utils-580"],
            ["nvidia-open-580"],
        ),
        (
            {**UBUNTU, DRIVER + "version": "595.58.03"},
            ["nvidia-headless-no-dkms-open", "nvidia-dkms-open"],
            ["nvidia-open"],
        ),
        (
            {**UBUNTU, DRIVER + "version": "595.58.03", DRIVER + "kernelModules": "proprietary"},
            ["nvidia-headless-no-dkms", "nvidia-dkms"],
            ["cuda-drivers"],
        ),
        (
            {**DEBIAN, DRIVER + "version": "580.178.04"},
            ["nvidia-driver-cuda", "nvidia-kernel-open-dkms"],
            ["nvidia-open"],
        ),
    ],
    ids=["535", "580", "595", "proprietary", "debian"],
)
def test_a_newer_release_installs_what_computing_needs(
    changes: dict[str, Any], packages: list[str], complete: list[str]
) -> None:
    """DRV-04; a host that has the complete set at that version keeps it."""
    own = told("vendor", {**LEAN, **changes})
    assert own["nvidia_driver_packages"][:2] == packages
    assert own["nvidia_driver_complete_packages"] == complete
    kept = [name for name in own["nvidia_driver_packages"] if "encode" in name or "decode" in name]
    assert len(kept) == (0 if changes["/hostDefaults/os"] == "debian-12" else 2)
    before = told("vendor", changes)
    assert before["nvidia_driver_packages"] == complete
    assert "nvidia_driver_complete_packages" not in before


@pytest.mark.parametrize(
    ("method", "changes", "added"),
    [
        ("vendor", {**LEAN, **UBUNTU}, ["libnvidia-gl-580"]),
        ("vendor", {**LEAN, **UBUNTU, DRIVER + "version": "595.58.03"}, ["libnvidia-gl"]),
        ("vendor", {**LEAN, **ROCKY}, ["nvidia-driver-libs"]),
        ("vendor", ROCKY, ["nvidia-driver-libs"]),
        ("distro", UBUNTU, ["libnvidia-gl-580-server"]),
        ("precompiled", {**LEAN, **UBUNTU}, ["libnvidia-gl-580-server"]),
    ],
)
def test_graphics_adds_to_the_set(method: str, changes: dict[str, Any], added: list[str]) -> None:
    plain = told(method, changes)["nvidia_driver_packages"]
    with_graphics = told(method, {**changes, DRIVER + "graphics": True})["nvidia_driver_packages"]
    assert with_graphics == [*plain, *added]


def test_a_newer_release_installs_nothing_that_is_merely_recommended() -> None:
    def said(changes: dict[str, Any]) -> Any:
        (own,) = PREREQUISITES.contribute(resolved(changes), {}).host_variables.values()
        return own.get("gpu_prerequisites_install_recommends", "as the host is configured")

    assert said({**LEAN, **UBUNTU}) is False
    assert said(UBUNTU) == "as the host is configured"
    assert said({**LEAN, **ROCKY}) == "as the host is configured"


def test_distro_on_ubuntu_takes_server_packages() -> None:
    own = told("distro")
    assert "nvidia-headless-580-server-open" in own["nvidia_driver_packages"]
    assert own["nvidia_driver_fabric_packages"] == [
        "nvidia-fabricmanager-580",
        "libnvidia-nscq-580",
    ]


def test_distro_on_debian_has_tools_with_versions_of_their_own() -> None:
    model = {"/pools/0/gpu/model": "a100-pcie-40gb", DRIVER + "version": "535.261.03"}
    own = told("distro", {"/hostDefaults/os": "debian-12", **model})
    assert "nvidia-smi" in own["nvidia_driver_packages"]
    assert own["nvidia_driver_module_packages"] == ["nvidia-persistenced"]


@pytest.mark.parametrize("may_change", [False, True])
def test_precompiled_modules_follow_the_kernel_only_if_it_may_change(may_change: bool) -> None:
    """PRE-05: otherwise updates of the kernel wait."""
    more = {"/hostDefaults/allowKernelChange": may_change}
    own = told("precompiled", more)
    modules = own["nvidia_driver_module_packages"]
    assert modules[0] == "linux-modules-nvidia-580-server-open-{kernel}"
    assert ("linux-modules-nvidia-580-server-open-{flavour}" in modules) is may_change
    spec = resolved({DRIVER + "method": "precompiled", **more})
    (needs,) = PREREQUISITES.contribute(spec, {}).host_variables.values()
    assert needs["gpu_prerequisites_headers"] is False
    assert needs["gpu_prerequisites_hold_kernel_updates"] is not may_change


def test_the_installer_is_told_with_its_checksum() -> None:
    more = {"/pools/0/gpu/model": "a100-pcie-40gb", DRIVER + "runfile": INSTALLER}
    own = told("runfile", more)
    assert own["nvidia_driver_runfile"] == INSTALLER
    assert own["nvidia_driver_packages"] == []


@pytest.mark.parametrize(
    ("method", "changes", "why"),
    [
        ("runfile", {}, "has no Fabric Manager"),
        ("precompiled", {"/hostDefaults/os": "debian-12"}, "has no such packages"),
        ("distro", {"/hostDefaults/os": "debian-12"}, "has 535, not 580"),
        ("distro", {"/pools/0/gpu/model": "b200"}, "does not have all fabric packages"),
        ("distro", {"/hostDefaults/os": "rocky-9"}, "has no driver"),
    ],
)
def test_names_are_never_guessed(method: str, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(UnknownPackagesError, match=why):
        told(method, changes)


def test_secure_boot_and_use_are_told() -> None:
    """DRV-11, DRV-13."""
    own = told("vendor", {DRIVER + "secureBoot": "mok", DRIVER + "inUse": "wait"})
    assert own["nvidia_driver_secure_boot"] == "mok"
    assert own["nvidia_driver_in_use"] == "wait"


def test_a_reload_is_told_where_the_spec_asks_for_it() -> None:
    """DRV-17; the default stays out of inventories."""
    assert "nvidia_driver_activation" not in told("vendor")
    own = told("vendor", {DRIVER + "activation": "reload"})
    assert own["nvidia_driver_activation"] == "reload"
    found = findings_of({DRIVER + "method": "none", DRIVER + "activation": "reload"})
    (finding,) = [each for each in found if each.id == "driver-setting-without-effect"]
    assert finding.message == "activation has no effect with method none"


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("vendor", {DRIVER + "secureBoot": "mok", "/hostDefaults/allowKernelChange": True}),
        ("vendor", {"/pools/0/gpu/model": "gb200"}),
        ("vendor", {"/hostDefaults/os": "rocky-9"}),
        ("distro", {DRIVER + "activation": "reload"}),
        ("precompiled", {DRIVER + "inUse": "wait"}),
        ("runfile", {"/pools/0/gpu/model": "a100-pcie-40gb", DRIVER + "runfile": INSTALLER}),
        ("none", {}),
    ],
)
def test_the_roles_take_what_they_are_told(method: str, changes: dict[str, Any]) -> None:
    """GEN-06."""
    spec = resolved({DRIVER + "method": method, **changes})
    for role, component in (("nvidia_driver", COMPONENT), ("gpu_prerequisites", PREREQUISITES)):
        path = ROOT / "roles" / role / "meta" / "argument_specs.yml"
        options = yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"]
        contribution = component.contribute(spec, {})
        (own,) = contribution.host_variables.values()
        stated = {**contribution.cluster_variables, **own}
        assert set(stated) <= set(options)
        assert ArgumentSpecValidator(options).validate(stated).error_messages == []


@pytest.mark.parametrize(
    ("model", "flavour", "version", "finding"),
    [
        ("v100-sxm2-32gb", "open", "580.178.04", "driver-kernel-modules"),
        ("v100-sxm2-32gb", "auto", "595.91.07", "driver-too-new-for-gpu"),
        ("b200", "proprietary", "580.178.04", "driver-kernel-modules"),
        ("v100-sxm2-32gb", "auto", "580.178.04", ""),
        ("b200", "auto", "580.178.04", ""),
    ],
)
def test_a_flavour_that_does_not_drive_the_model_is_refused(
    model: str, flavour: str, version: str, finding: str
) -> None:
    """DRV-01: no device would be found."""
    changes = {DRIVER + "kernelModules": flavour, DRIVER + "version": version}
    found = [each.id for each in findings_of({"/pools/0/gpu/model": model, **changes})]
    assert [name for name in found if name.startswith("driver-")] == ([finding] if finding else [])


@pytest.mark.parametrize(
    ("system", "model", "version", "driver", "fabric", "nvlink5"),
    [
        ("ubuntu-24.04", "a100-sxm4-40gb", "550.163.01", "cuda-drivers-550", "-550", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "570.195.03", "nvidia-open-570", "-570", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "580.178.04", "nvidia-open-580", "", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "595.91.07", "nvidia-open", "", False),
        ("ubuntu-24.04", "v100-sxm2-32gb", "580.178.04", "cuda-drivers-580", None, False),
        ("ubuntu-26.04", "l4", "595.91.07", "nvidia-open", None, False),
        ("debian-12", "l4", "580.178.04", "nvidia-open", None, False),
        ("ubuntu-24.04", "b200", "580.178.04", "nvidia-open-580", "", True),
    ],
)
def test_package_names(
    system: str, model: str, version: str, driver: str, fabric: str | None, nvlink5: bool
) -> None:
    found = variables(
        {
            "/pools/0/gpu/model": model,
            "/hostDefaults/os": system,
            "/hostDefaults/driver/version": version,
        }
    )
    assert found["nvidia_driver_packages"] == [driver]
    names = found["nvidia_driver_fabric_packages"]
    assert names[:1] == ([] if fabric is None else [f"nvidia-fabricmanager{fabric}"])
    assert found["nvidia_driver_nvlink5_packages"] == (
        ["nvlsm", "infiniband-diags"] if nvlink5 else []
    )


@pytest.mark.parametrize(
    ("model", "version", "stated", "flavour"),
    [
        ("l4", "580.178.04", "auto", "open"),
        ("l4", "550.163.01", "auto", "proprietary"),
        ("l4", "580.178.04", "proprietary", "proprietary"),
        ("v100-sxm2-32gb", "580.178.04", "auto", "proprietary"),
        ("b200", "570.195.03", "auto", "open"),
    ],
)
def test_flavour_of_the_kernel_modules(model: str, version: str, stated: str, flavour: str) -> None:
    driver = {"version": version, "kernelModules": stated}
    found = variables({"/pools/0/gpu/model": model, "/hostDefaults/driver": driver})
    assert found["nvidia_driver_modules"] == flavour


def test_a_superchip_keeps_its_gpu_memory_from_the_system() -> None:
    found = variables({"/pools/0/gpu/model": "gh200-96gb"})
    assert found["nvidia_driver_module_options"] == {"NVreg_CoherentGPUMemoryMode": "driver"}
    assert variables()["nvidia_driver_module_options"] == {}


def test_a_driver_of_the_image_is_only_verified() -> None:
    found = variables({"/hostDefaults/driver": {"method": "none"}})
    assert found["nvidia_driver_method"] == "none"
    assert "nvidia_driver_packages" not in found
    assert found["gpu_prerequisites_headers"] is False
