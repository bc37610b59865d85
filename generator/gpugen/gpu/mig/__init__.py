"""MIG layouts of a GPU: profiles, placements, refusals, layouts.

Decided exactly, by a search over the catalogue's placements, not by adding up slices.
"""

from gpugen.gpu.mig.layouts import is_maximal, layouts, maximal_layouts, nearest, spelled
from gpugen.gpu.mig.packing import pack
from gpugen.gpu.mig.placement import (
    Instance,
    Layout,
    Placement,
    Refusal,
    RefusalCode,
    fit,
    gpu_instances,
)
from gpugen.model.mig_profile import (
    ProfileName,
    advertised_name,
    config_name,
    is_advertised,
    memory_gb,
    parse_profile,
    resource_name,
)

__all__ = [
    "Instance",
    "Layout",
    "Placement",
    "ProfileName",
    "Refusal",
    "RefusalCode",
    "advertised_name",
    "config_name",
    "fit",
    "gpu_instances",
    "is_advertised",
    "is_maximal",
    "layouts",
    "maximal_layouts",
    "memory_gb",
    "nearest",
    "pack",
    "parse_profile",
    "resource_name",
    "spelled",
]
