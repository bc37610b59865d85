# Copyright: the gpugen authors. Apache-2.0.
"""The role's variables, by name and type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .names import Places

PACKAGED = ("vendor", "distro", "precompiled")
BUILT = ("vendor", "distro", "runfile")
TRUE = frozenset(("true", "yes", "on", "y", "t", "1"))


class Wants(NamedTuple):
    """What a host is to become. Names: nvidia_driver_*, in short."""

    method: str
    version: str
    modules: str
    packages: tuple[str, ...]
    complete_packages: tuple[str, ...]
    stream: str
    fabric_packages: tuple[str, ...]
    nvlink5_packages: tuple[str, ...]
    module_packages: tuple[str, ...]
    runfile: Mapping[str, str]
    secure_boot: str
    in_use: str
    activation: str
    can_drain: bool
    module_options: Mapping[str, Any]
    expected_gpus: int
    kubelet_root: str
    min_free_root_mib: int
    min_free_boot_mib: int
    around: Around
    places: Places

    @property
    def installs(self) -> bool:
        """Whether the role brings a driver, not only verifies one."""
        return self.method != "none"

    @property
    def by_packages(self) -> bool:
        """Whether the driver comes as packages."""
        return self.method in PACKAGED

    @property
    def uses_dkms(self) -> bool:
        """Whether DKMS builds the modules."""
        return self.method in BUILT


class Around(NamedTuple):
    """What the run and other roles add. simulation: what dnf's module said it would do."""

    is_absent: bool
    is_check: bool
    awaits_kernel: bool
    may_reload: bool
    mig_follows: bool
    reload_failed: bool
    lists_are_fresh: bool
    simulation: tuple[str, ...]
    installs_recommends: bool
    may_change_kernel: bool
    has_repositories: bool
    os: str


def wants(wanted: Mapping[str, Any]) -> Wants:
    """Return the variables of the role."""

    def own(name: str) -> Any:
        return wanted[f"nvidia_driver_{name}"]

    return Wants(
        method=own("method"),
        version=own("version"),
        modules=own("modules"),
        packages=tuple(own("packages")),
        complete_packages=tuple(own("complete_packages")),
        stream=own("stream"),
        fabric_packages=tuple(own("fabric_packages")),
        nvlink5_packages=tuple(own("nvlink5_packages")),
        module_packages=tuple(own("module_packages")),
        runfile=own("runfile"),
        secure_boot=own("secure_boot"),
        in_use=own("in_use"),
        activation=own("activation"),
        can_drain=own("can_drain"),
        module_options=own("module_options"),
        expected_gpus=own("expected_gpus"),
        kubelet_root=own("kubelet_root"),
        min_free_root_mib=own("min_free_root_mib"),
        min_free_boot_mib=own("min_free_boot_mib"),
        around=_around(wanted),
        places=Places(
            wanted.get("__nvidia_driver_procfs", "/proc"),
            wanted.get("__nvidia_driver_sysfs", "/sys"),
        ),
    )


def _around(wanted: Mapping[str, Any]) -> Around:
    def is_set(name: str, default: bool) -> bool:
        value = wanted.get(name)
        if isinstance(value, str):
            return value.lower() in TRUE
        return default if value is None else bool(value)

    simulation = wanted.get("__nvidia_driver_simulation", {})
    return Around(
        is_absent=wanted.get("state") == "absent",
        is_check=is_set("check_mode", default=False),
        awaits_kernel=is_set("__nvidia_driver_awaits_kernel", default=False),
        may_reload=is_set("__nvidia_driver_may_reload", default=True),
        mig_follows=is_set("__nvidia_driver_mig_follows", default=True),
        reload_failed=is_set("__nvidia_driver_reload_failed", default=False),
        lists_are_fresh=is_set("__nvidia_driver_lists_are_fresh", default=False),
        simulation=tuple(simulation.get("results", ())),
        installs_recommends=is_set("gpu_prerequisites_install_recommends", default=True),
        may_change_kernel=is_set("gpu_prerequisites_allow_kernel_change", default=False),
        has_repositories=bool(wanted.get("gpu_prerequisites_repositories")),
        os=str(wanted.get("gpu_prerequisites_os") or ""),
    )
