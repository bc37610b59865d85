"""The labels that GPU feature discovery sets on a node, as far as spec and catalogue tell.

Source: k8s-device-plugin v0.19.3, internal/lm. The oracle in the tests is the program itself.
"""

from __future__ import annotations

from gpugen.gpu.devices import WHOLE_GPU, count_devices, geometries
from gpugen.model.catalog import DriverBranch, GpuModel
from gpugen.model.driver import Driver
from gpugen.model.mig_profile import meant_profile
from gpugen.model.spec import Mig, MigStrategy, Sharing, SharingMode

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


def predict_labels(
    gpu: GpuModel, gpu_count: int, mig: Mig, sharing: Sharing, driver: Driver
) -> tuple[dict[str, str], set[str]]:
    """Predict GFD's labels: known ones with their value, and the names of unknown ones."""
    unknown = {"nvidia.com/gpu.machine", "nvidia.com/gpu.mode", "nvidia.com/vgpu.present"}
    known = {"nvidia.com/mps.capable": _flag(sharing.mode is SharingMode.MPS)}
    if gpu.imex != "never":
        unknown.add("nvidia.com/gpu.clique")  # the NVLink domain of the rack tells it
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
    """Return ``nvidia.com/gpu.*``; if all GPUs have MIG instances, without sharing."""
    all_partitioned = mig.has_instances and all(geometries(gpu_count, mig))
    replicas = 0 if all_partitioned else sharing.resources.get(WHOLE_GPU, 1)
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
        known |= _slices(resource, profile)
        if gpu.gfd_product:
            known[f"{resource}.product"] = _product(gpu.gfd_product, profile, replicas, sharing)
        else:
            unknown.add(f"{resource}.product")
        # An instance's figures vary slightly with the driver, so those of the catalogue are not
        # exact.
        engines = ("copy", "decoder", "encoder", "jpeg", "ofa")
        unknown |= {f"{resource}.memory", f"{resource}.multiprocessors"}
        unknown |= {f"{resource}.engines.{engine}" for engine in engines}
    return known, unknown


def _slices(resource: str, profile: str) -> dict[str, str]:
    """Return the sizes of GPU instance and compute instance; nothing if it is not a profile."""
    name = meant_profile(profile)
    if name is None:
        return {}
    return {f"{resource}.slices.gi": str(name.slices), f"{resource}.slices.ci": str(name.compute)}


def _product(product: str, profile: str, replicas: int, sharing: Sharing) -> str:
    parts = [product]
    if profile:
        parts += ["MIG", profile.replace("+", ".")]
    if replicas > 1 and not sharing.rename:
        parts.append("SHARED")
    return "-".join(parts)


def _flag(value: bool) -> str:
    return "true" if value else "false"
