"""The NVIDIA driver on the hosts: package names and options for the role that installs it."""

from __future__ import annotations

from typing import Any

from gpugen.components import Component
from gpugen.components.hosts.driver.packages import Names, module_stream, package_names
from gpugen.model.assembly import Contribution
from gpugen.model.driver import Activation, Driver, DriverMethod, KernelModules
from gpugen.model.spec import ClusterSpec, NodePool

ROLE = "nvidia_driver"
COHERENT_FROM_BRANCH = 580
OPEN_BY_DEFAULT = ("default", "only")  # of a branch: the vendor installs open modules by default


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role and, for every pool, the driver that its hosts get."""
    root = spec.kubernetes.distribution.kubelet_root
    is_compute_only = installs_compute_only(spec)
    return Contribution(
        host_variables={
            pool.name: _variables(pool, root, is_compute_only=is_compute_only)
            for pool in spec.pools
        },
        cluster_variables={"nvidia_driver_can_drain": bool(spec.access.kubeconfig_context)},
        roles=(ROLE,),
    )


def installs_compute_only(spec: ClusterSpec) -> bool:
    """Tell whether the release installs compute-only packages, without a desktop."""
    return spec.release.features.packages == "compute-only"


def _variables(pool: NodePool, kubelet_root: str, *, is_compute_only: bool) -> dict[str, Any]:
    driver = pool.host.driver
    common = {
        "nvidia_driver_method": str(driver.method),
        "nvidia_driver_version": driver.version,
        "nvidia_driver_expected_gpus": pool.gpu_count,
        "nvidia_driver_kubelet_root": kubelet_root,
    }
    if driver.method is DriverMethod.NONE or driver.branch is None:
        return common
    is_open = uses_open_modules(pool)
    names = package_names(pool, driver.branch, is_open=is_open, is_compute_only=is_compute_only)
    return {
        **common,
        "nvidia_driver_modules": "open" if is_open else "proprietary",
        "nvidia_driver_secure_boot": str(driver.secure_boot),
        "nvidia_driver_in_use": str(driver.in_use),
        **_activation(driver),
        **_installer(driver),
        **_stream_variables(module_stream(pool, driver.branch, is_open=is_open)),
        **_package_variables(names),
        "nvidia_driver_module_options": module_options(pool),
    }


def _stream_variables(stream: str) -> dict[str, str]:
    return {"nvidia_driver_stream": stream} if stream else {}


def _activation(driver: Driver) -> dict[str, str]:
    is_default = driver.activation is Activation.REBOOT
    return {} if is_default else {"nvidia_driver_activation": str(driver.activation)}


def _installer(driver: Driver) -> dict[str, Any]:
    own = driver.runfile
    return {"nvidia_driver_runfile": {"url": own.url, "sha256": own.sha256}} if own else {}


def _package_variables(names: Names) -> dict[str, list[str]]:
    return {
        **({"nvidia_driver_module_packages": list(names.beside)} if names.beside else {}),
        **({"nvidia_driver_complete_packages": list(names.complete)} if names.complete else {}),
        "nvidia_driver_packages": list(names.driver),
        "nvidia_driver_fabric_packages": list(names.fabric),
        "nvidia_driver_nvlink5_packages": list(names.nvlink5),
    }


def uses_open_modules(pool: NodePool) -> bool:
    """Tell whether the pool's hosts get the open kernel modules.

    ``auto``: what the GPU model needs; if it supports both, the vendor's default for that branch.
    """
    driver: Driver = pool.host.driver
    if driver.kernel_modules is not KernelModules.AUTO:
        return driver.kernel_modules is KernelModules.OPEN
    if pool.gpu.kernel_modules != "both":
        return pool.gpu.kernel_modules == "open-only"
    return driver.branch is None or driver.branch.open_modules in OPEN_BY_DEFAULT


def module_options(pool: NodePool) -> dict[str, str]:
    """Return options of the kernel module that the pool's GPU model needs under Kubernetes.

    A superchip would report its GPU memory as system memory, which the kubelet would over-commit.
    Source: NVIDIA/gpu-driver-container (2026-08-17), ubuntu24.04/nvidia-driver.
    """
    branch = pool.host.driver.branch
    is_superchip = pool.gpu.form_factor == "superchip"
    if is_superchip and branch is not None and branch.id >= COHERENT_FROM_BRANCH:
        return {"NVreg_CoherentGPUMemoryMode": "driver"}
    return {}


COMPONENT = Component(contribute)
