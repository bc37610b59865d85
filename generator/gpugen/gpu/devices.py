"""The devices of a node before sharing: whole GPUs and MIG instances, by resource name.

Source: k8s-device-plugin v0.19.3, internal/rm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpugen.gpu.mig import resource_name
from gpugen.model.options import DevicePlugin
from gpugen.model.spec import ClusterSpec, Mig, MigStrategy

WHOLE_GPU = "nvidia.com/gpu"


def plugin_version(spec: ClusterSpec) -> str:
    """Return the version of the device plugin: the spec's, else the release's."""
    tag = spec.release.images["device-plugin"].tag.removeprefix("v")
    plugin = spec.find(DevicePlugin)
    return (plugin.version if plugin else "") or tag


def geometries(gpu_count: int, mig: Mig) -> list[Mapping[str, int]]:
    """Return the profiles of each GPU of a node; a GPU without an entry has no MIG instances."""
    result: list[Mapping[str, int]] = [{}] * gpu_count
    for entry in mig.layout:
        for index in entry.gpus:
            if index < gpu_count:
                result[index] = entry.profiles
    return result


def count_devices(gpu_count: int, mig: Mig) -> dict[str, tuple[int, str]]:
    """Count the devices per resource before sharing: resource -> (count, MIG profile).

    Empty if strategy is ``single`` and the GPUs do not all have the same profile: the plugin exits.
    """
    if mig.strategy is MigStrategy.NONE or not mig.has_instances:
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
