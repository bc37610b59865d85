"""Rows of the catalogue as the stages use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class MigProfile(NamedTuple):
    """One GPU-instance profile of a GPU model."""

    name: str  # 1g.5gb, 1g.5gb+me
    compute: int  # compute slices
    memory_slices: int
    size: int  # placement units
    starts: tuple[int, ...]
    max_count: int
    engines: Mapping[str, int]
    memory_mib: int | None
    multiprocessors: int | None
    smi_id: int | None = None  # as nvidia-smi mig -lgip prints it
    nvml: str = ""  # after NVML_GPU_INSTANCE_PROFILE_
    min_branch: int | None = None
    compute_instances: tuple[int, ...] = ()  # slices that a compute instance in it may have


class MigGeometry(NamedTuple):
    """The MIG profiles and placements of a GPU model."""

    id: str
    compute_slices: int
    memory_slices: int
    placement_units: int
    engine_budget: Mapping[str, int]
    profiles: Mapping[str, MigProfile]
    min_driver: str
    confidence: str
    source: tuple[str, ...]
    layout: str = ""  # seven-slice, four-slice, two-slice
    nvml_total_mib: int | None = None  # total that the profile names follow from
    placement_confidence: str = ""
    notes: tuple[str, ...] = ()
    is_override: bool = False  # the repository's own row, overriding gpugen's


class GpuModel(NamedTuple):
    """One GPU model. Empty or None: not known, never a guess."""

    id: str
    product: str  # marketing name
    nvml_names: tuple[str, ...]  # first is current; empty: unknown
    gfd_product: str  # nvidia.com/gpu.product without suffix; empty: unknown
    family: str  # as GFD prints it
    architecture: str  # pascal, hopper, ...
    compute_capability: tuple[int, int]
    pci_devices: tuple[str, ...]  # upper-case hex device ids
    mig_filters: tuple[str, ...]  # device-filter values of mig-parted
    memory_mib: int | None  # NVML total; None: not confirmed
    memory_confidence: str
    form_factor: str
    host_architectures: tuple[str, ...]
    nvlink: str
    fabric_manager: (
        str  # never, nvswitch-baseboard, switch-trays-only, never-on-single-node, unknown
    )
    needs_nvlsm: bool
    imex: str
    is_mig_capable: bool | None  # None: not documented
    geometry: MigGeometry | None  # None: not capable, or not documented
    kernel_modules: str  # proprietary-only, both, open-only
    min_driver: str  # empty: unknown, use min_branch
    min_branch: int | None
    last_branch: int | None
    confidence: str
    source: tuple[str, ...]
    notes: tuple[str, ...]
    gfd_products: tuple[str, ...] = ()  # several: GPU models with one PCI id and different names
    former_nvml_names: tuple[str, ...] = ()
    other_memory_mib: tuple[int, ...] = ()  # totals in the other ECC mode
    subsystem_filters: tuple[str, ...] = ()  # device-filter values from mig-parted 0.15
    candidate_geometry: str = ""  # plausible, not confirmed: needs the user's own row
    mig_min_driver: str = ""
    mig_excluded_drivers: tuple[str, ...] = ()
    mig_min_vbios: str = ""
    mig_needs: str = ""  # e.g. display mode compute
    is_override: bool = False  # the repository's own row, overriding gpugen's


class DriverBranch(NamedTuple):
    """A driver branch and the architectures that it supports."""

    id: int  # 580
    kind: str
    status: str
    is_supported: bool
    latest_known: str
    eol: str
    cuda: str
    architectures: tuple[str, ...]
    open_modules: str  # none, optional, default, only
    notes: tuple[str, ...]
    confidence: str
    source: tuple[str, ...]
    is_override: bool = False  # the repository's own row, overriding gpugen's
