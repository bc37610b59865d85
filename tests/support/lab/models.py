"""What a GPU is to NVML: from captures of real ones where there are some, else the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from gpugen.model.catalog import GpuModel
from support import TESTS

CAPTURES = TESTS / "data" / "captures.yaml"
UNTOLD_MIB = 16384  # for GPU models whose memory nobody has shown


@dataclass(frozen=True, slots=True)
class Figures:
    """What an instance of a profile has, as NVML tells it."""

    memory_mib: int
    multiprocessors: int


@dataclass(frozen=True, slots=True)
class PlayedGpu:
    """A GPU as the mock plays it. memory_mib 0: NVML says that it does not tell."""

    gpu: GpuModel  # for compute capability, placements, engines: no capture shows those
    product: str
    memory_mib: int
    figures: Mapping[str, Figures] = field(default_factory=dict)
    is_captured: bool = False


def played(gpu: GpuModel) -> PlayedGpu:
    """Return a GPU as most captures show it."""
    return sightings(gpu)[0]


def sightings(gpu: GpuModel) -> list[PlayedGpu]:
    """Return the different forms in which real GPUs of a model were seen, most frequent first.

    They differ by name and by total memory, which depends on ECC. Captures of drivers older than
    any that can be stated are left out; a model that nobody captured is as the catalogue says.
    """
    rows = _rows(gpu.id)
    seen = Counter((row.get("nvml_name"), row.get("nvml_mib")) for row in rows)
    names = [name for (name, _), _ in seen.most_common() if name]
    totals = [total for (_, total), _ in seen.most_common() if total]
    name = names[0] if names else next(iter(gpu.nvml_names), f"Unnamed {gpu.id}")
    total = totals[0] if totals else _total(gpu, is_seen=bool(names))
    pairs = dict.fromkeys((own or name, own_total or total) for own, own_total in seen)
    pairs = dict.fromkeys([(name, total), *pairs])
    captured = captured_memory(gpu.id)
    return [
        PlayedGpu(gpu, own, mib, _figures(gpu, mib, captured), is_captured=bool(rows))
        for own, mib in pairs
    ]


def _rows(model: str) -> list[dict[str, Any]]:
    return [
        row
        for row in _captures()
        if row["model"] == model and not row.get("note", "").startswith("older driver")
    ]


@cache
def _captures() -> tuple[dict[str, Any], ...]:
    return tuple(yaml.safe_load(CAPTURES.read_text(encoding="utf-8"))["captures"])


def _total(gpu: GpuModel, *, is_seen: bool) -> int:
    if gpu.memory_mib:
        return gpu.memory_mib
    if gpu.geometry and gpu.geometry.nvml_total_mib:
        return gpu.geometry.nvml_total_mib
    return 0 if is_seen else UNTOLD_MIB


def _figures(gpu: GpuModel, total: int, captured: Mapping[str, int]) -> dict[str, Figures]:
    """Return what instances have: as captured, else of the catalogue, else their share."""
    geometry = gpu.geometry
    if geometry is None:
        return {}
    return {
        name: Figures(
            memory_mib=captured.get(name)
            or profile.memory_mib
            or total * profile.size // geometry.placement_units,
            multiprocessors=profile.multiprocessors or 16 * profile.compute,
        )
        for name, profile in geometry.profiles.items()
    }


def captured_memory(model: str) -> dict[str, int]:
    """Return MiB per profile, the value that most captures show; GiB have two decimals."""
    seen: dict[str, Counter[int]] = {}
    for row in _captures():
        for instance in row.get("mig", ()) if row["model"] == model else ():
            mib = instance.get("memory_mib") or round(instance["memory_gib"] * 1024)
            seen.setdefault(instance["profile"], Counter())[mib] += 1
    return {profile: counter.most_common(1)[0][0] for profile, counter in seen.items()}
