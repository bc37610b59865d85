"""All layouts of a GPU, and those nearest to one that does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gpugen.gpu.mig.placement import Layout, Placement, fit
from gpugen.model.catalog import MigGeometry
from gpugen.model.mig_profile import meant_profile, parse_profile

MOST_LAYOUTS = 5_000  # of one geometry; gpugen's own have at most 127


def layouts(geometry: MigGeometry) -> Iterator[dict[str, int]]:
    """Yield every set of instances that fits an empty GPU, each once; without the empty set.

    Profiles keep the geometry's order. Whatever is part of a layout that fits, fits as well, so a
    set that does not fit ends its branch of the search. At most ``MOST_LAYOUTS`` are looked at.
    """
    return islice(_extensions(geometry, {}, tuple(geometry.profiles)), MOST_LAYOUTS)


def _extensions(
    geometry: MigGeometry, layout: dict[str, int], open_names: tuple[str, ...]
) -> Iterator[dict[str, int]]:
    for index, name in enumerate(open_names):
        larger = {**layout, name: layout.get(name, 0) + 1}
        if isinstance(fit(geometry, larger), Placement):
            yield larger
            yield from _extensions(geometry, larger, open_names[index:])


def spelled(layout: Layout) -> str:
    """Return a layout for messages: ``1 x 3g.20gb + 2 x 2g.10gb``."""
    return " + ".join(f"{count} x {profile}" for profile, count in layout.items())


def is_maximal(geometry: MigGeometry, layout: Layout) -> bool:
    """Tell whether no other instance fits in addition to a layout that fits."""
    return not any(
        isinstance(fit(geometry, {**layout, name: layout.get(name, 0) + 1}), Placement)
        for name in geometry.profiles
    )


def maximal_layouts(geometry: MigGeometry) -> list[dict[str, int]]:
    """List the layouts to which nothing can be added, in the order of ``layouts``."""
    return [layout for layout in layouts(geometry) if is_maximal(geometry, layout)]


def nearest(geometry: MigGeometry, profiles: Layout, limit: int = 3) -> list[dict[str, int]]:
    """List layouts that fit and are nearest to the one asked for, best first.

    An unknown profile counts as the most similar one of this GPU model. Ordered by fewest instances
    lost, then without attributes that were not requested, then most memory in use; nothing is added
    beyond what was lost. Empty: no profile asked for resembles one.
    """
    requested = _translated(geometry, profiles)
    if not requested:
        return []
    found = [
        (_distance(geometry, requested, layout), layout)
        for layout in layouts(geometry)
        if _added(requested, layout) <= _lost(requested, layout)
    ]
    found.sort(key=lambda item: item[0])
    best: list[dict[str, int]] = []
    for _, layout in found:
        if len(best) < limit and not any(_is_within(layout, better) for better in best):
            best.append(layout)
    return best


def _translated(geometry: MigGeometry, profiles: Layout) -> dict[str, int]:
    """Return the layout in the GPU model's profiles; compute instances count as shares."""
    requested: dict[str, int] = {}
    for name, count in profiles.items():
        alike, meant = _alike(geometry, name), meant_profile(name)
        if alike:
            share = -(-count * meant.compute // meant.slices) if meant else count
            requested[alike] = requested.get(alike, 0) + share
    return requested


def _is_within(layout: Layout, larger: Layout) -> bool:
    return all(count <= larger.get(name, 0) for name, count in layout.items())


def _lost(requested: Layout, layout: Layout) -> int:
    return sum(max(0, count - layout.get(name, 0)) for name, count in requested.items())


def _added(requested: Layout, layout: Layout) -> int:
    return sum(max(0, count - requested.get(name, 0)) for name, count in layout.items())


def _distance(
    geometry: MigGeometry, requested: Layout, layout: Layout
) -> tuple[int, int, int, int, int, tuple[str, ...]]:
    """Order layouts; the last part makes it total. Lower is nearer."""
    rows = geometry.profiles
    memory = sum(rows[name].memory_slices * count for name, count in layout.items())
    compute = sum(rows[name].compute * count for name, count in layout.items())
    names = tuple(name for name, count in layout.items() for _ in range(count))
    odd = sum(1 for name in layout if name not in requested and parse_profile(name).attributes)
    return _lost(requested, layout), odd, -memory, -compute, _added(requested, layout), names


def _alike(geometry: MigGeometry, name: str) -> str:
    """Return this GPU model's profile that is most similar to a name; empty: no resemblance.

    Compute slices count most, then attributes, then memory.
    """
    if name in geometry.profiles:
        return name
    meant = meant_profile(name)
    if meant is None:
        return ""
    if meant.gpu_instance in geometry.profiles:
        return meant.gpu_instance
    names = {profile: parse_profile(profile) for profile in geometry.profiles}

    def distance(profile: str) -> tuple[int, bool, int, str]:
        own = names[profile]
        return (
            abs(own.slices - meant.slices),
            (own.sign, own.attributes) != (meant.sign, meant.attributes),
            abs(own.gb - meant.gb),
            profile,
        )

    return min(names, key=distance, default="")
