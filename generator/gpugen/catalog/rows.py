"""Builds the frozen records of the stages from rows of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from gpugen.model.catalog import (
    DriverBranch,
    GpuModel,
    MigGeometry,
    MigProfile,
)

Row: TypeAlias = Mapping[str, Any]
NOTHING: Row = {}
VENDOR = "10DE"
_FAMILIES = {
    3: "kepler",
    5: "maxwell",
    6: "pascal",
    7: "volta",
    8: "ampere",
    9: "hopper",
    10: "blackwell",
    12: "blackwell",
}


def gfd_product(nvml_name: str) -> str:
    """Return ``nvidia.com/gpu.product`` of a GPU model, before any suffix.

    Source: NVIDIA/k8s-device-plugin v0.20.0 internal/lm/resource.go.
    """
    return re.sub(r" +", "-", re.sub(r"[^A-Za-z0-9\-_. ]", "", nvml_name).strip())


def gfd_family(major: int, minor: int) -> str:
    """Return ``nvidia.com/gpu.family`` of a compute capability.

    Source: NVIDIA/k8s-device-plugin v0.19.3 internal/lm/resource.go.
    """
    later = {7: (5, "turing"), 8: (9, "ada-lovelace")}
    if major in later and minor >= later[major][0]:
        return later[major][1]
    return _FAMILIES.get(major, "undefined")


def profile(name: str, row: Row) -> MigProfile:
    """Build one profile of a geometry."""
    return MigProfile(
        name=name,
        compute=row["compute"],
        memory_slices=row["memorySlices"],
        size=row["size"],
        starts=tuple(row["starts"]),
        max_count=row["maxCount"],
        engines=row.get("engines", NOTHING),
        memory_mib=row.get("memoryMib"),
        multiprocessors=row.get("multiprocessors"),
        smi_id=row.get("smiId"),
        nvml=row.get("nvml", ""),
        min_branch=row.get("minBranch"),
        compute_instances=tuple(row.get("computeInstances", ())),
    )


def geometry(id: str, row: Row) -> MigGeometry:
    """Build a geometry with the figures that hold for most of its GPU models."""
    return MigGeometry(
        id=id,
        compute_slices=row["computeSlices"],
        memory_slices=row["memorySlices"],
        placement_units=row["placementUnits"],
        engine_budget=row.get("engineBudget", NOTHING),
        profiles={name: profile(name, p) for name, p in row["profiles"].items()},
        min_driver=row.get("minDriver", ""),
        confidence=row.get("confidence", "low"),
        source=tuple(row["source"]),
        layout=row.get("layout", ""),
        nvml_total_mib=row.get("nvmlTotalMib"),
        placement_confidence=row.get("placementConfidence", "low"),
        notes=tuple(row.get("notes", ())),
        is_override="override" in row,
    )


def geometry_of_model(general: MigGeometry, row: Row, model: str) -> MigGeometry:
    """Return the geometry with the GPU model's own figures, where they differ from the table.

    A profile that ``figuresByBoard`` leaves out is unknown on that model, not like the others.
    """
    figures = row.get("figuresByBoard", NOTHING).get(model)
    if figures is None:
        return general
    own = {
        name: p._replace(
            memory_mib=figures.get(name, NOTHING).get("memoryMib"),
            multiprocessors=figures.get(name, NOTHING).get("multiprocessors"),
        )
        for name, p in general.profiles.items()
    }
    return general._replace(profiles=own)


def gpu(id: str, row: Row, own_geometry: MigGeometry | None) -> GpuModel:
    """Build a GPU model; what the row leaves out is unknown."""
    names = tuple(row.get("nvmlNames", ()))
    products = tuple(gfd_product(name) for name in names)
    memory, fabric = row.get("memory", NOTHING), row.get("fabric", NOTHING)
    mig, driver = row.get("mig", NOTHING), row.get("driver", NOTHING)
    major, minor = row["computeCapability"].split(".")
    devices = tuple(row.get("pciDevices", ()))
    other = (memory.get("nvmlMibEccOn"), memory.get("nvmlMibEccOff"))
    return GpuModel(
        id=id,
        product=row["product"],
        nvml_names=names,
        gfd_product=products[0] if len(products) == 1 else "",
        family=row.get("gfdFamily") or gfd_family(int(major), int(minor)),
        architecture=row["architecture"],
        compute_capability=(int(major), int(minor)),
        pci_devices=devices,
        mig_filters=tuple(f"0x{device}{VENDOR}" for device in devices),
        memory_mib=memory.get("nvmlMib"),
        memory_confidence=memory.get("confidence", ""),
        form_factor=row.get("formFactor", "unknown"),
        host_architectures=tuple(row["hostArchitectures"]),
        nvlink=fabric.get("nvlink", "unknown"),
        fabric_manager=fabric.get("fabricManager", "unknown"),
        needs_nvlsm=fabric.get("nvlsm", False),
        imex=fabric.get("imex", "unknown"),
        is_mig_capable=mig.get("isCapable"),
        geometry=own_geometry,
        kernel_modules=row["kernelModules"],
        min_driver=driver.get("minVersion", ""),
        min_branch=driver.get("minBranch"),
        last_branch=driver.get("lastBranch"),
        confidence=row.get("confidence", "low"),
        source=tuple(row["source"]),
        notes=tuple(row.get("notes", ())),
        gfd_products=products,
        former_nvml_names=tuple(row.get("formerNvmlNames", ())),
        other_memory_mib=tuple(mib for mib in other if mib is not None),
        subsystem_filters=tuple(row.get("subsystemFilters", ())),
        candidate_geometry=mig.get("candidate", ""),
        mig_min_driver=mig.get("minDriver", own_geometry.min_driver if own_geometry else ""),
        mig_excluded_drivers=tuple(mig.get("excludedDrivers", ())),
        mig_min_vbios=mig.get("minVbios", ""),
        mig_needs=mig.get("needs", ""),
        is_override="override" in row,
    )


def driver_branch(id: str, row: Row) -> DriverBranch:
    """Build a driver branch."""
    return DriverBranch(
        id=int(id),
        kind=row.get("kind", ""),
        status=row["status"],
        is_supported=row["isSupported"],
        latest_known=row.get("latestKnown", ""),
        eol=row.get("endOfLife", NOTHING).get("date", ""),
        cuda=row.get("cuda", ""),
        architectures=tuple(row.get("architectures", ())),
        open_modules=row["openModules"],
        notes=tuple(row.get("notes", ())),
        confidence=row.get("confidence", "low"),
        source=tuple(row["source"]),
        is_override="override" in row,
    )
