"""Decides whether a layout fits a GPU: a placement of its instances, or the reason why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from gpugen.model.catalog import MigGeometry, MigProfile
from gpugen.model.mig_profile import meant_profile

Layout: TypeAlias = Mapping[str, int]  # profile -> instances, each >= 1


class RefusalCode(StrEnum):
    """The first rule that a layout breaks, in the order in which they are tried."""

    UNKNOWN_PROFILE = "unknown-profile"
    MAX_INSTANCES = "max-instances"
    COMPUTE_SLICES = "compute-slices"
    MEMORY_SLICES = "memory-slices"
    ENGINE = "engine"
    PLACEMENT = "placement"


class Instance(NamedTuple):
    """A GPU instance and its placement, in placement units."""

    profile: str
    start: int
    size: int


class Placement(NamedTuple):
    """A placement of every instance of a layout; larger ones first, as mig-parted creates them."""

    instances: tuple[Instance, ...]


class Refusal(NamedTuple):
    """Why a layout does not fit: a code, and a sentence with the numbers."""

    code: RefusalCode
    message: str
    profile: str = ""  # the profile that breaks the rule, if it is one


def fit(geometry: MigGeometry, profiles: Layout) -> Placement | Refusal:
    """Place a layout on an empty GPU, or say why it cannot be placed.

    profiles: as in a spec, so compute instances smaller than their GPU instance are allowed
    (1c.3g.20gb) and share GPU instances. Raises ValueError: a count below 1.
    Source: NVIDIA MIG User Guide; NVIDIA/open-gpu-kernel-modules 595.45.04 kmigmgr.
    """
    instances = gpu_instances(geometry, profiles)
    if isinstance(instances, Refusal):
        return instances
    asked = sorted(instances.items(), key=lambda item: _size_order(geometry.profiles[item[0]]))
    refusal = _over_budget(geometry, dict(asked))
    if refusal is not None:
        return refusal
    starts = _place([(geometry.profiles[name], count) for name, count in asked], 0, set())
    if starts is None:
        spelled = ", ".join(f"{count} x {name}" for name, count in asked)
        return Refusal(RefusalCode.PLACEMENT, f"{spelled}: no placement on one GPU fits them all")
    names = [name for name, count in asked for _ in range(count)]
    placed = zip(names, starts, strict=True)
    return Placement(tuple(Instance(n, s, geometry.profiles[n].size) for n, s in placed))


def gpu_instances(geometry: MigGeometry, profiles: Layout) -> dict[str, int] | Refusal:
    """Count the GPU instances of a layout; those that hold several compute instances once.

    mig-parted fills a GPU instance with compute instances of its profile before it makes another.
    """
    whole: dict[str, int] = {}
    parts: dict[str, list[int]] = {}
    for name, count in profiles.items():
        if count < 1:
            raise ValueError(f"{count} x {name}: a count must be at least 1")
        if name in geometry.profiles:
            whole[name] = whole.get(name, 0) + count
            continue
        meant = meant_profile(name)
        base = geometry.profiles.get(meant.gpu_instance) if meant else None
        if meant is None or base is None or meant.compute not in base.compute_instances:
            return _unknown(geometry, name)
        if str(meant) != name:
            return _unknown(geometry, name)
        parts.setdefault(base.name, []).extend([meant.compute] * count)
    for name, sizes in parts.items():
        whole[name] = whole.get(name, 0) + _bins(sizes, geometry.profiles[name].compute)
    return whole


def _unknown(geometry: MigGeometry, name: str) -> Refusal:
    meant = meant_profile(name)
    spelled = str(meant) if meant else ""
    known = ", ".join(geometry.profiles)
    text = f"{name} is not a MIG profile of this GPU model, which has {known}"
    if spelled != name and spelled in geometry.profiles:
        text = f"{name} is not a MIG profile of this GPU model; write {spelled}"
    return Refusal(RefusalCode.UNKNOWN_PROFILE, text, name)


def _bins(sizes: list[int], capacity: int) -> int:
    """Count the GPU instances that hold compute instances of these sizes, larger ones first."""
    free: list[int] = []
    for size in sorted(sizes, reverse=True):
        for index, room in enumerate(free):
            if size <= room:
                free[index] -= size
                break
        else:
            free.append(capacity - size)
    return len(free)


def _over_budget(geometry: MigGeometry, asked: Layout) -> Refusal | None:
    rows = geometry.profiles
    for name, count in asked.items():
        if count > rows[name].max_count:
            text = f"{count} x {name}, but at most {rows[name].max_count} fit on one GPU"
            return Refusal(RefusalCode.MAX_INSTANCES, text, name)
    compute = sum(rows[name].compute * count for name, count in asked.items())
    if compute > geometry.compute_slices:
        text = f"needs {compute} compute slices, the GPU has {geometry.compute_slices}"
        return Refusal(RefusalCode.COMPUTE_SLICES, text)
    memory = sum(rows[name].memory_slices * count for name, count in asked.items())
    if memory > geometry.memory_slices:
        text = f"needs {memory} memory slices, the GPU has {geometry.memory_slices}"
        if compute <= geometry.compute_slices:
            text += f" (its {compute} compute slices would fit)"
        return Refusal(RefusalCode.MEMORY_SLICES, text)
    return _over_engine_budget(geometry, asked)


def _over_engine_budget(geometry: MigGeometry, asked: Layout) -> Refusal | None:
    for engine, budget in geometry.engine_budget.items():
        need = sum(
            geometry.profiles[name].engines.get(engine, 0) * count for name, count in asked.items()
        )
        if need > budget:
            text = f"needs {need} {engine} engines, the GPU has {budget}"
            return Refusal(RefusalCode.ENGINE, text)
    return None


def _size_order(profile: MigProfile) -> tuple[int, int, str]:
    return (-profile.size, -profile.compute, profile.name)


def _place(
    asked: Sequence[tuple[MigProfile, int]],
    taken: int,
    failed: set[tuple[int, int, int, int]],
    after: int = -1,
) -> tuple[int, ...] | None:
    """Find starts by search with backtracking; taken is a bit per placement unit.

    after: equal instances are placed from left to right, so that orders are not tried again.
    failed: states without a solution (profiles left, instances of the first, taken, after), so that
    none is tried again.
    """
    if not asked:
        return ()
    (profile, count), *rest = asked
    state = (len(asked), count, taken, after)
    if state in failed:
        return None
    for start in profile.starts:
        mask = ((1 << profile.size) - 1) << start
        if start <= after or taken & mask:
            continue
        if count > 1:
            more = _place([(profile, count - 1), *rest], taken | mask, failed, start)
        else:
            more = _place(rest, taken | mask, failed)
        if more is not None:
            return (start, *more)
    failed.add(state)
    return None
