"""The resource algebra: what a cluster will see of a pool, computed here once and nowhere else.

Source: k8s-device-plugin v0.19.3, internal/rm, internal/lm, api/config/v1; mig-parted v0.13.1,
api/spec/v1. The oracles in the tests are the programs themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.mig import resource_name
from gpugen.model.catalog import DriverBranch, GpuModel
from gpugen.model.prediction import Prediction, ResourcePrediction
from gpugen.model.spec import Driver, Mig, MigStrategy, Sharing, SharingMode

WHOLE_GPU = "nvidia.com/gpu"
SHARED_SUFFIX = ".shared"
MPS_ROOT = "/run/nvidia/mps"
_DRIVER_PARTS = (
    *("-version.full", "-version.major", "-version.minor", "-version.revision"),
    *(".major", ".minor", ".rev"),  # deprecated, still printed
)
_CUDA_PARTS = ("-version.full", "-version.major", "-version.minor", ".major", ".minor")
_MODE_LABELS = {
    SharingMode.NONE: "none",
    SharingMode.TIME_SLICING: "time-slicing",
    SharingMode.MPS: "mps",
}


def predict(
    pool_name: str,
    gpu: GpuModel,
    gpu_count: int,
    mig: Mig,
    sharing: Sharing,
    driver: Driver,
    device_list_strategy: tuple[str, ...],
) -> Prediction:
    """Predict a pool's resources, labels and configurations.

    The result is total: for a combination that a check refuses it is what can still be said.
    """
    devices = count_devices(gpu_count, mig)
    resources = tuple(_resources(devices, sharing))
    known, unknown = _labels(gpu, gpu_count, mig, sharing, driver)
    entries = _mig_config(gpu_count, mig)
    name = f"{pool_name}-{_content_hash(entries)}" if entries else ""
    return Prediction(
        resources=resources,
        labels=dict(sorted(known.items())),
        unknown_labels=tuple(sorted(unknown)),
        plugin_config=_plugin_config(mig, sharing, device_list_strategy),
        mig_config_name=name,
        mig_config={"version": "v1", "mig-configs": {name: entries}} if entries else {},
    )


def geometries(gpu_count: int, mig: Mig) -> list[Mapping[str, int]]:
    """Return the profiles of each GPU of a node; a GPU that no entry names is not cut."""
    result: list[Mapping[str, int]] = [{}] * gpu_count
    for entry in mig.layout:
        for index in entry.gpus:
            if index < gpu_count:
                result[index] = entry.profiles
    return result


def count_devices(gpu_count: int, mig: Mig) -> dict[str, tuple[int, str]]:
    """Count the devices per resource before sharing: resource -> (count, MIG profile).

    Empty where the strategy ``single`` meets GPUs that are not all cut alike: the plugin exits.
    """
    if mig.strategy is MigStrategy.NONE or not mig.is_cut:
        return {WHOLE_GPU: (gpu_count, "")}
    per_gpu = geometries(gpu_count, mig)
    instances: Counter[str] = Counter()
    for profiles in per_gpu:
        instances.update(profiles)
    if mig.strategy is MigStrategy.SINGLE:
        uniform = len(instances) == 1 and all(per_gpu)
        return {WHOLE_GPU: (instances.total(), next(iter(instances)))} if uniform else {}
    whole = sum(1 for profiles in per_gpu if not profiles)
    devices = {resource_name(profile): (count, profile) for profile, count in instances.items()}
    return {**devices, **({WHOLE_GPU: (whole, "")} if whole else {})}


def _resources(
    devices: Mapping[str, tuple[int, str]], sharing: Sharing
) -> Iterator[ResourcePrediction]:
    for base, (count, profile) in sorted(devices.items()):
        replicas = sharing.resources.get(base, 1)
        name = base + SHARED_SUFFIX if sharing.rename and replicas > 1 else base
        yield ResourcePrediction(name, base, count * replicas, count, replicas, profile)


def _plugin_config(
    mig: Mig, sharing: Sharing, device_list_strategy: tuple[str, ...]
) -> dict[str, Any]:
    """Return the file that plugin, GFD and MPS daemon read alike."""
    flags: dict[str, Any] = {
        "migStrategy": str(mig.strategy),
        "failOnInitError": True,
        "plugin": {"deviceListStrategy": list(device_list_strategy)},
        "gfd": {"noTimestamp": True},
    }
    config: dict[str, Any] = {"version": "v1", "flags": flags}
    if sharing.mode is SharingMode.NONE:
        return config
    shared = {
        "renameByDefault": sharing.rename,
        "failRequestsGreaterThanOne": sharing.fail_requests_greater_than_one,
        "resources": [
            {"name": name, "replicas": replicas}
            for name, replicas in sorted(sharing.resources.items())
        ],
    }
    if sharing.mode is SharingMode.MPS:
        flags["mpsRoot"] = MPS_ROOT
        config["sharing"] = {"mps": shared}
    else:
        config["sharing"] = {"timeSlicing": shared}
    return config


def _mig_config(gpu_count: int, mig: Mig) -> list[dict[str, Any]]:
    """Return the entries of mig-parted's configuration; empty where the spec has no layout."""
    entries = []
    for entry in sorted(mig.layout, key=lambda e: e.gpus):
        every = len(entry.gpus) == gpu_count
        item: dict[str, Any] = {
            "devices": "all" if every else list(entry.gpus),
            "mig-enabled": bool(entry.profiles),
        }
        if entry.profiles:
            item["mig-devices"] = dict(sorted(entry.profiles.items()))
        entries.append(item)
    return entries


def _content_hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _labels(
    gpu: GpuModel, gpu_count: int, mig: Mig, sharing: Sharing, driver: Driver
) -> tuple[dict[str, str], set[str]]:
    """Predict GFD's labels: those known with their value, and the names of those that are not."""
    unknown = {"nvidia.com/gpu.machine", "nvidia.com/gpu.mode", "nvidia.com/vgpu.present"}
    known = {"nvidia.com/mps.capable": _flag(sharing.mode is SharingMode.MPS)}
    if gpu.is_mig_capable is None:
        unknown.add("nvidia.com/mig.capable")
    else:
        known["nvidia.com/mig.capable"] = _flag(gpu.is_mig_capable)
    known |= _driver_labels(driver.version) | _cuda_labels(driver.branch)
    if not driver.version:
        unknown |= set(_driver_labels("0.0"))
    if not (driver.branch and driver.branch.cuda):
        unknown |= {f"nvidia.com/cuda.runtime{part}" for part in _CUDA_PARTS}
    whole, missing = _whole_gpu_labels(gpu, gpu_count, mig, sharing)
    known |= whole
    unknown |= missing
    if mig.strategy is not MigStrategy.NONE:
        known["nvidia.com/mig.strategy"] = str(mig.strategy)
        instances, missing = _instance_labels(gpu, gpu_count, mig, sharing)
        known = {key: value for key, value in known.items() if key not in missing} | instances
        unknown |= missing
    return known, unknown


def _driver_labels(version: str) -> dict[str, str]:
    """Return the labels of a driver version; empty where the host's image decides it."""
    if not version:
        return {}
    major, minor, revision = (*version.split("."), "")[:3]
    values = (version, major, minor, revision, major, minor, revision)
    return {
        f"nvidia.com/cuda.driver{part}": v for part, v in zip(_DRIVER_PARTS, values, strict=True)
    }


def _cuda_labels(branch: DriverBranch | None) -> dict[str, str]:
    """Return the labels of the highest CUDA version that a driver branch supports."""
    if not (branch and branch.cuda):
        return {}
    major, minor = branch.cuda.split(".")
    values = (branch.cuda, major, minor, major, minor)
    return {
        f"nvidia.com/cuda.runtime{part}": v for part, v in zip(_CUDA_PARTS, values, strict=True)
    }


def _whole_gpu_labels(
    gpu: GpuModel, gpu_count: int, mig: Mig, sharing: Sharing
) -> tuple[dict[str, str], set[str]]:
    """Return ``nvidia.com/gpu.*``; GPUs that are all cut are labelled without sharing."""
    all_cut = mig.is_cut and all(geometries(gpu_count, mig))
    replicas = 0 if all_cut else sharing.resources.get(WHOLE_GPU, 1)
    known = {
        "nvidia.com/gpu.count": str(gpu_count),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": _MODE_LABELS[sharing.mode] if replicas > 1 else "none",
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.compute.major": str(gpu.compute_capability[0]),
        "nvidia.com/gpu.compute.minor": str(gpu.compute_capability[1]),
    }
    unknown = set()
    if gpu.gfd_product:
        known["nvidia.com/gpu.product"] = _product(gpu.gfd_product, "", replicas, sharing)
    else:
        unknown.add("nvidia.com/gpu.product")
    if gpu.memory_mib and not gpu.other_memory_mib:  # else it depends on the mode of ECC
        known["nvidia.com/gpu.memory"] = str(gpu.memory_mib)
    else:
        unknown.add("nvidia.com/gpu.memory")
    return known, unknown


def _instance_labels(
    gpu: GpuModel, gpu_count: int, mig: Mig, sharing: Sharing
) -> tuple[dict[str, str], set[str]]:
    """Return the labels of MIG instances: per profile, or over ``gpu.*`` under ``single``."""
    known: dict[str, str] = {}
    unknown: set[str] = set()
    for resource, (count, profile) in count_devices(gpu_count, mig).items():
        if not profile:
            continue
        replicas = sharing.resources.get(resource, 1)
        strategy = _MODE_LABELS[sharing.mode] if replicas > 1 else "none"
        known |= {
            f"{resource}.count": str(count),
            f"{resource}.replicas": str(replicas),
            f"{resource}.sharing-strategy": strategy,
        }
        slices = profile.partition("g")[0].rpartition(".")[2]
        if slices.isdigit():
            known |= {f"{resource}.slices.gi": slices, f"{resource}.slices.ci": slices}
        if gpu.gfd_product:
            known[f"{resource}.product"] = _product(gpu.gfd_product, profile, replicas, sharing)
        else:
            unknown.add(f"{resource}.product")
        # What an instance has varies a little with the driver; the catalogue's figures do not bind.
        engines = ("copy", "decoder", "encoder", "jpeg", "ofa")
        unknown |= {f"{resource}.memory", f"{resource}.multiprocessors"}
        unknown |= {f"{resource}.engines.{engine}" for engine in engines}
    return known, unknown


def _product(product: str, profile: str, replicas: int, sharing: Sharing) -> str:
    parts = [product]
    if profile:
        parts += ["MIG", profile.replace("+", ".")]
    if replicas > 1 and not sharing.rename:
        parts.append("SHARED")
    return "-".join(parts)


def _flag(value: bool) -> str:
    return "true" if value else "false"
