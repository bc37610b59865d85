"""Stage 5: collects what every component contributes, and merges it into one assembly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from gpugen import components
from gpugen.model.assembly import Assembly, Contribution, Placed
from gpugen.model.spec import ClusterSpec

T = TypeVar("T")


def assemble(spec: ClusterSpec) -> Assembly:
    """Return the contributions of all components of the spec, objects in order of their waves.

    Raises ValueError: two components make one object, or set one label or variable differently.
    """
    parts = {
        name: components.find(name).contribute(spec, options)
        for name, options in spec.options.items()
    }
    return Assembly(
        objects=_objects(parts),
        node_labels=_per_pool(spec, {n: c.node_labels for n, c in parts.items()}),
        initial_labels=_per_pool(spec, {n: c.initial_labels for n, c in parts.items()}),
        host_variables=_per_pool(spec, {n: c.host_variables for n, c in parts.items()}),
        cluster_variables=_merged("all", {n: c.cluster_variables for n, c in parts.items()}),
        control_plane_variables=_merged(
            "the control plane", {n: c.control_plane_variables for n, c in parts.items()}
        ),
        expressions=_merged("all", {n: c.expressions for n, c in parts.items()}),
        roles=tuple(dict.fromkeys(role for c in parts.values() for role in c.roles)),
        files=_merged("files", {n: c.files for n, c in parts.items()}),
    )


def _objects(parts: Mapping[str, Contribution]) -> tuple[Placed, ...]:
    makers: dict[tuple[str, ...], str] = {}
    placed: list[Placed] = []
    for name, contribution in parts.items():
        for item in contribution.objects:
            meta = item.object["metadata"]
            identity = (
                item.object["apiVersion"].partition("/")[0],
                item.object["kind"],
                meta.get("namespace", ""),
                meta["name"],
            )
            if identity in makers:
                raise ValueError(f"{makers[identity]} and {name} both make {'/'.join(identity)}")
            makers[identity] = name
            placed.append(item)
    return tuple(sorted(placed, key=lambda p: (p.wave, p.pool)))


def _per_pool(
    spec: ClusterSpec, parts: Mapping[str, Mapping[str, Mapping[str, T]]]
) -> dict[str, dict[str, T]]:
    return {
        pool.name: _merged(pool.name, {n: m.get(pool.name, {}) for n, m in parts.items()})
        for pool in spec.pools
    }


def _merged(where: str, parts: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Merge mappings of components; the same value twice is allowed, two values are a bug."""
    result: dict[str, T] = {}
    owners: dict[str, str] = {}
    for name, mapping in parts.items():
        for key, value in mapping.items():
            if key in result and result[key] != value:
                raise ValueError(f"{owners[key]} and {name} set {key!r} of {where} differently")
            result[key] = value
            owners[key] = name
    return dict(sorted(result.items()))
