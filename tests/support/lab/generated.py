"""Pools as Hypothesis makes them up: right ones, and ones with a fault or several."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from gpugen.gpu import mig
from gpugen.model.catalog import GpuModel, MigGeometry
from support.lab import pools

REPLICAS = (1, 2, 2, 3, 4, 16, 17, 48, 49, 64)
FOREIGN = ("1g.5gb", "1g.12gb", "2g.10gb", "3g.40gb", "1g.5gb+me", "9g.999gb")
DEAD = ("nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "nvidia.com/mig-9g.999gb")
LISTED = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
MOST_INSTANCES = 8
DRIVERS = ("580.178.04", "580.178.04", "595.91.07", "570.211.01", "470.256.02")

MODELS = [pools.catalog().gpu(name) for name in pools.catalog().gpu_ids()]
MIG_CAPABLE = [gpu for gpu in MODELS if gpu.geometry is not None]


@st.composite
def specs(draw: DrawFn) -> dict[str, Any]:
    """Draw a spec with one pool; every name in it is one that the catalogue knows."""
    gpu = draw(st.sampled_from(MODELS) | st.sampled_from(MIG_CAPABLE))
    count = draw(st.integers(1, 8) | st.just(16))
    settings: dict[str, Any] = {}
    if draw(st.booleans() if gpu.geometry else st.integers(0, 9).map(lambda n: n == 0)):
        settings["mig"] = draw(_mig(gpu, count))
    if draw(st.booleans()):
        settings["sharing"] = draw(_sharing(_names(count, settings.get("mig"))))
    data = pools.spec_of(gpu, count, **settings)
    if draw(st.integers(0, 4)) == 0:
        data["hostDefaults"]["driver"] = {"version": draw(st.sampled_from(DRIVERS))}
    data["deviceListStrategy"] = draw(st.sampled_from(LISTED))
    return data


@st.composite
def _mig(draw: DrawFn, gpu: GpuModel, count: int) -> dict[str, Any]:
    strategy = draw(st.sampled_from(("mixed", "mixed", "single", "single", "none")))
    if draw(st.integers(0, 14)) == 0:
        return {"strategy": strategy}
    profiles = _fitting(gpu.geometry) if gpu.geometry else st.just({FOREIGN[0]: 1})
    if draw(st.integers(0, 2)) == 2:
        profiles = _perhaps_not(gpu.geometry)
    if strategy == "single" or draw(st.booleans()):
        return {"strategy": strategy, "layout": [{"gpus": "all", "profiles": draw(profiles)}]}
    return {"strategy": strategy, "layout": draw(_entries(count, profiles | st.just({})))}


def _fitting(geometry: MigGeometry) -> SearchStrategy[dict[str, int]]:
    """Return layouts that fit: without attributes, of one profile, any."""
    every = list(mig.layouts(geometry))
    plain = [each for each in every if not any(mark in name for name in each for mark in "+-")]
    uniform = [each for each in every if len(each) == 1]
    return st.sampled_from(plain) | st.sampled_from(uniform) | st.sampled_from(every)


def _perhaps_not(geometry: MigGeometry | None) -> SearchStrategy[dict[str, int]]:
    """Return profiles and counts that may not fit, and profiles of other GPU models.

    Eight instances at most: mig-parted tries their orders one by one, for days where they are many.
    """
    names = list(geometry.profiles) if geometry else []
    parts = [
        f"{size}c.{name}"
        for name in names
        if geometry
        for size in geometry.profiles[name].compute_instances
        if size < geometry.profiles[name].compute
    ]
    name = st.sampled_from(names or FOREIGN) | st.sampled_from([*FOREIGN, *parts])
    counts = st.integers(1, 3) | st.integers(1, 8)
    layouts = st.dictionaries(name, counts, min_size=1, max_size=3)
    return layouts.filter(lambda layout: sum(layout.values()) <= MOST_INSTANCES)


@st.composite
def _entries(
    draw: DrawFn, count: int, profiles: SearchStrategy[dict[str, int]]
) -> list[dict[str, Any]]:
    """Draw entries that name every GPU once; sometimes one too few, one too many, one twice."""
    order = draw(st.permutations(range(count)))
    inner = sorted(draw(st.sets(st.integers(1, count - 1), max_size=2))) if count > 1 else []
    bounds = [0, *inner, count]
    parts = [sorted(order[a:b]) for a, b in pairwise(bounds)]
    entries = [{"gpus": part, "profiles": draw(profiles)} for part in parts]
    fault = draw(st.sampled_from(("",) * 9 + ("missing", "beyond", "twice")))
    if fault == "missing" and len(entries) > 1:
        entries.pop()
    if fault == "beyond":
        entries[-1]["gpus"].append(count)
    if fault == "twice" and len(entries) > 1 and entries[0]["profiles"] != entries[1]["profiles"]:
        entries[1]["gpus"] = sorted({*entries[1]["gpus"], entries[0]["gpus"][0]})
    return entries


def _names(count: int, mig_settings: dict[str, Any] | None) -> list[str]:
    """Return resources of the pool, by its layout."""
    entries = (mig_settings or {}).get("layout", ())
    profiles = sorted({name for entry in entries for name in entry["profiles"]})
    return ["nvidia.com/gpu", *(mig.config_name(f"nvidia.com/mig-{name}") for name in profiles)]


@st.composite
def _sharing(draw: DrawFn, names: list[str]) -> dict[str, Any]:
    name = st.sampled_from(names) | st.sampled_from(names) | st.sampled_from([*names, *DEAD])
    chosen = draw(st.sets(name, min_size=1, max_size=2))
    mode = draw(st.sampled_from(("time-slicing", "time-slicing", "mps")))
    sharing: dict[str, Any] = {
        "mode": mode,
        "resources": {each: draw(st.sampled_from(REPLICAS)) for each in sorted(chosen)},
    }
    if draw(st.booleans()):
        sharing["rename"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        sharing["failRequestsGreaterThanOne"] = draw(st.booleans())
    return sharing
