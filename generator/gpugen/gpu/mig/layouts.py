"""All layouts of a GPU, and those nearest to one that does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gpugen.gpu.mig.placement import Layout, Placement, fit
from gpugen.model.catalog import MigGeometry
from gpugen.model.mig_profile import meant_profile, parse_profile

MOST_LAYOUTS = 5_000  # of one geometry; those that gpugen brings have at most 127


def layouts(geometry: MigGeometry) -> Iterator[dict[str, int]]:
    """Yield every set of instances that fits an empty GPU, none twice; without the empty set.

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
    """Write a layout for people: ``1 x 3g.20gb + 2 x 2g.10gb``."""
    return " + ".join(f"{count} x {profile}" for profile, count in layout.items())


def is_maximal(geometry: MigGeometry, layout: Layout) -> bool:
    """Tell whether no further instance fits beside a layout that fits."""
    return not any(
        isinstance(fit(geometry, {**layout, name: layout.get(name, 0) + 1}), Placement)
        for name in geometry.profiles
    )


def maximal_layouts(geometry: MigGeometry) -> list[dict[str, int]]:
    """List the layouts to which nothing can be added, in the order of ``layouts``."""
    return [layout for layout in layouts(geometry) if is_maximal(geometry, layout)]


def nearest(geometry: MigGeometry, profiles: Layout, limit: int = 3) -> list[dict[str, int]]:
    """List layouts that fit and are nearest to the one asked for, best first.

    An unknown profile counts as the one of this board that is most like it. Fewest instances lost
    come first, then none with attributes that nobody asked for, then most memory in use; nothing is
    added beyond what was lost. Empty: no profile asked for resembles one.
    """
    wanted = _translated(geometry, profiles)
    if not wanted:
        return []
    found = [
        (_distance(geometry, wanted, layout), layout)
        for layout in layouts(geometry)
        if _added(wanted, layout) <= _lost(wanted, layout)
    ]
    found.sort(key=lambda item: item[0])
    best: list[dict[str, int]] = []
    for _, layout in found:
        if len(best) < limit and not any(_is_within(layout, better) for better in best):
            best.append(layout)
    return best


def _translated(geometry: MigGeometry, profiles: Layout) -> dict[str, int]:
    """Return the layout in this board's profiles; compute instances as shares of GPU instances."""
    wanted: dict[str, int] = {}
    for name, count in profiles.items():
        alike, meant = _alike(geometry, name), meant_profile(name)
        if alike:
            share = -(-count * meant.compute // meant.slices) if meant else count
            wanted[alike] = wanted.get(alike, 0) + share
    return wanted


def _is_within(layout: Layout, larger: Layout) -> bool:
    return all(count <= larger.get(name, 0) for name, count in layout.items())


def _lost(wanted: Layout, layout: Layout) -> int:
    return sum(max(0, count - layout.get(name, 0)) for name, count in wanted.items())


def _added(wanted: Layout, layout: Layout) -> int:
    return sum(max(0, count - wanted.get(name, 0)) for name, count in layout.items())


def _distance(
    geometry: MigGeometry, wanted: Layout, layout: Layout
) -> tuple[int, int, int, int, int, tuple[str, ...]]:
    """Order layouts; the last part makes it total. Lower is nearer."""
    rows = geometry.profiles
    memory = sum(rows[name].memory_slices * count for name, count in layout.items())
    compute = sum(rows[name].compute * count for name, count in layout.items())
    names = tuple(name for name, count in layout.items() for _ in range(count))
    odd = sum(1 for name in layout if name not in wanted and parse_profile(name).attributes)
    return _lost(wanted, layout), odd, -memory, -compute, _added(wanted, layout), names


def _alike(geometry: MigGeometry, name: str) -> str:
    """Return the profile of this board that is most like a name; empty: no resemblance.

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
