"""Two branches that change two pools: git merges all that is rendered, the index too.

What a pool is the first of the cluster to have is among the changes: it brings roles and agents.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gpugen.text.yaml import to_yaml
from gpugen.write.index import Index, texts_for
from support.rich import rendered
from support.strategies import spec

Pools: TypeAlias = list[dict[str, Any]]
Change: TypeAlias = Callable[[Pools, str], None]
MODES = {
    "service-monitor": {"mode": "service-monitor", "selectorLabels": {}},
    "static": {"mode": "static"},
}


def pool(name: str, model: str = "a100-sxm4-40gb", count: int = 4, **more: Any) -> dict[str, Any]:
    gpu = {"model": model, "count": count}
    return {"name": name, "gpu": gpu, "hosts": [f"{name}-[1:4].lab.example"], **more}


def _of(pools: Pools, name: str) -> dict[str, Any]:
    return next(each for each in pools if each["name"] == name)


def _count(pools: Pools, name: str) -> None:
    _of(pools, name)["gpu"]["count"] = 2


def _hosts(pools: Pools, name: str) -> None:
    _of(pools, name)["hosts"] = [f"{name}-[1:9].lab.example"]


def _layout(pools: Pools, name: str) -> None:
    layout = [{"gpus": "all", "profiles": {"3g.20gb": 2}}]
    _of(pools, name)["mig"] = {"strategy": "mixed", "layout": layout}


def _labels(pools: Pools, name: str) -> None:
    _of(pools, name)["labels"] = {"lab.example/tier": f"of-{name}"}


def _taints(pools: Pools, name: str) -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    _of(pools, name)["taints"] = [taint, {"key": "lab.example/team", "effect": "NoSchedule"}]


def _model(pools: Pools, name: str) -> None:
    _of(pools, name)["gpu"] = {"model": "h100-sxm5-80gb", "count": 8}


def _own(field: str, value: Any) -> Change:
    """Return the change that a pool states a setting of its hosts."""

    def change(pools: Pools, name: str) -> None:
        _of(pools, name).setdefault("host", {})[field] = value

    change.__name__ = field
    return change


def _sharing(pools: Pools, name: str) -> None:
    slices = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}, "rename": True}
    _of(pools, name)["sharing"] = slices


def _mps(pools: Pools, name: str) -> None:
    _of(pools, name)["sharing"] = {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}


def _by_host(pools: Pools, name: str) -> None:
    _layout(pools, name)
    _of(pools, name)["mig"]["manager"] = "host"


def _new(pools: Pools, name: str) -> None:
    place = pools.index(_of(pools, name)) + 1
    pools.insert(place, pool(f"{name}-new", "p100-pcie-16gb"))


def _gone(pools: Pools, name: str) -> None:
    pools.remove(_of(pools, name))


def _name(pools: Pools, name: str) -> None:
    _of(pools, name)["name"] = f"{name}-2"


CHANGES = (
    *(_count, _hosts, _layout, _labels, _taints, _model, _sharing, _mps, _by_host),
    *(_new, _gone, _name),
    _own("tuning", {"iommu": "pt", "powerLimitWatts": 200}),
    _own("dcgm", {"version": "4.5.3"}),
    _own("cudaToolkit", {"versions": ["13.0"], "default": "13.0"}),
    _own("driver", {"version": "595.91.07"}),
)


@cache
def files(mode: str, *changes: tuple[Change, str]) -> tuple[str, dict[str, bytes]]:
    """Return the pools as YAML after some changes, and all that the spec renders."""
    pools: Pools = [pool(name) for name in "abcd"]
    for change, name in changes:
        change(pools, name)
    options = {"prometheus": MODES[mode], "grafana": {}}
    host = {"containerToolkit": {"version": "1.20.0"}, "os": "ubuntu-24.04"}
    host["driver"] = {"version": "580.178.04"}
    tree, found = rendered(spec(pools, components=options, hostDefaults=host))
    assert tree is not None, found
    return to_yaml(pools), dict(tree) | texts_for(tree, Index({}, "", {}))


def merged(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge as git does; None: there is a conflict."""
    if ours == theirs or theirs == base:
        return ours
    names = []
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(text)
        names.append(str(folder / name))
    done = subprocess.run(["git", "merge-file", "-p", *names], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("theirs", CHANGES, ids=lambda c: c.__name__.strip("_"))
@pytest.mark.parametrize("ours", CHANGES, ids=lambda c: c.__name__.strip("_"))
def test_two_pools_side_by_side(tmp_path: Path, ours: Change, theirs: Change, mode: str) -> None:
    """What git makes of the two renders is what the merged spec renders."""
    states = [
        files(mode, *changes)
        for changes in ((), ((ours, "b"),), ((theirs, "c"),), ((ours, "b"), (theirs, "c")))
    ]
    if merged(tmp_path, *(text.encode() for text, _ in states[:3])) is None:
        return  # in the spec the two stand side by side: nothing is promised
    base, one, other, both = (found for _, found in states)
    for path in base.keys() | one.keys() | other.keys():
        before, mine, yours = (found.get(path, b"") for found in (base, one, other))
        assert merged(tmp_path, before, mine, yours) == both.get(path, b""), path
