"""Two branches that change two pools: git merges what monitoring and policies share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gpugen.components import find
from gpugen.text.yaml import to_yaml
from support.specs import resolved

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


def _new(pools: Pools, name: str) -> None:
    place = pools.index(_of(pools, name)) + 1
    pools.insert(place, pool(f"{name}-new", "p100-pcie-16gb"))


def _gone(pools: Pools, name: str) -> None:
    pools.remove(_of(pools, name))


CHANGES = (_count, _hosts, _layout, _labels, _taints, _model, _new, _gone)


def files(pools: Pools, prometheus: Mapping[str, Any]) -> dict[str, str]:
    """Return what the components render, by path."""
    changes = {
        "/pools": pools,
        "/components/scheduler": {},
        "/components/grafana": {},
        "/components/prometheus": prometheus,
    }
    spec = resolved(changes)
    found = {}
    for name in ("guardrails", "prometheus", "grafana"):
        made = find(name).contribute(spec, spec.options[name])
        found |= {path: str(text) for path, text in made.files.items()}
        for placed in made.objects:
            item = placed.object
            key = f"{placed.pool}/{item['kind']}-{item['metadata']['name']}"
            found[key] = to_yaml(item)
    return found


def merged(folder: Path, base: str, ours: str, theirs: str) -> str | None:
    """Merge as git does; None: there is a conflict."""
    names = []
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_text(text, encoding="utf-8")
        names.append(str(folder / name))
    command = ["git", "merge-file", "-p", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("theirs", CHANGES, ids=lambda c: c.__name__.strip("_"))
@pytest.mark.parametrize("ours", CHANGES, ids=lambda c: c.__name__.strip("_"))
def test_two_pools_side_by_side(tmp_path: Path, ours: Change, theirs: Change, mode: str) -> None:
    """What git makes of the two renders is what the merged spec renders."""
    states: list[Pools] = [[pool(name) for name in "abcd"] for _ in range(4)]
    ours(states[1], "b")
    theirs(states[2], "c")
    ours(states[3], "b")
    theirs(states[3], "c")
    spec = [to_yaml(pools) for pools in states]
    if merged(tmp_path, *spec[:3]) is None:
        pytest.skip("in the spec the two stand side by side")
    base, one, other, both = (files(pools, MODES[mode]) for pools in states)
    for path in base.keys() & one.keys() & other.keys():
        assert merged(tmp_path, base[path], one[path], other[path]) == both[path], path
