"""Places a demand for instances on as few GPUs as possible."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gpugen.gpu.mig.layouts import maximal_layouts
from gpugen.gpu.mig.placement import Layout
from gpugen.model.catalog import MigGeometry

Counts = tuple[int, ...]


def pack(geometry: MigGeometry, demand: Layout, most: int = 16) -> list[dict[str, int]] | None:
    """Return one layout per GPU that together hold the demand, on the fewest GPUs.

    demand: instances of the GPU model's profiles, each >= 1. most: GPUs of a node. None: it needs
    more GPUs than ``most``. Exact: every smaller number of GPUs is searched completely.
    """
    names = sorted(demand, key=lambda n: (-geometry.profiles[n].size, n))
    requested = tuple(demand[name] for name in names)
    layouts = {tuple(layout.get(name, 0) for name in names) for layout in maximal_layouts(geometry)}
    useful = _undominated([layout for layout in layouts if any(layout)])
    floor = _at_least(geometry, names, requested)
    for gpus in range(floor, most + 1):
        chosen = _cover(requested, useful, gpus, {})
        if chosen is not None:
            return [_named(names, layout) for layout in _clipped(requested, chosen)]
    return None


def _undominated(layouts: Sequence[Counts]) -> list[Counts]:
    """Drop layouts that are part of another one, most instances first."""
    ordered = sorted(layouts, reverse=True)
    return [
        a
        for a in ordered
        if not any(a != b and all(x <= y for x, y in zip(a, b, strict=True)) for b in ordered)
    ]


def _at_least(geometry: MigGeometry, names: Sequence[str], requested: Counts) -> int:
    """Count the GPUs that slices and maxima alone require."""
    rows = [geometry.profiles[name] for name in names]
    compute = sum(row.compute * count for row, count in zip(rows, requested, strict=True))
    memory = sum(row.memory_slices * count for row, count in zip(rows, requested, strict=True))
    return max(
        ceil(compute / geometry.compute_slices),
        ceil(memory / geometry.memory_slices),
        *(ceil(count / row.max_count) for row, count in zip(rows, requested, strict=True)),
    )


def _cover(
    requested: Counts,
    layouts: Sequence[Counts],
    gpus: int,
    failed: dict[tuple[Counts, int], int],
    first: int = 0,
) -> list[Counts] | None:
    """Find layouts for the demand by depth-first search, in order, without duplicates.

    failed: for a demand and a number of GPUs the first layout from which no cover was found.
    """
    if not any(requested):
        return []
    if gpus == 0 or failed.get((requested, gpus), len(layouts)) <= first:
        return None
    for index in range(first, len(layouts)):
        rest = tuple(max(w - g, 0) for w, g in zip(requested, layouts[index], strict=True))
        if rest == requested:
            continue
        found = _cover(rest, layouts, gpus - 1, failed, index)
        if found is not None:
            return [layouts[index], *found]
    failed[requested, gpus] = first
    return None


def _clipped(requested: Counts, chosen: Sequence[Counts]) -> list[Counts]:
    """Remove from the layouts what the demand does not need."""
    result = []
    for layout in chosen:
        taken = tuple(min(w, g) for w, g in zip(requested, layout, strict=True))
        requested = tuple(w - t for w, t in zip(requested, taken, strict=True))
        result.append(taken)
    return result


def _named(names: Sequence[str], layout: Counts) -> dict[str, int]:
    return {name: count for name, count in zip(names, layout, strict=True) if count}
