"""Mistakes that have nothing to do with one another are reported together, and nothing else is."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from gpugen import pipeline
from gpugen.model.finding import ROOT, Pointer
from gpugen.workspace import Workspace
from support import TESTS
from support.specs import changed

Found: TypeAlias = frozenset[tuple[str, str]]  # id and pointer

SEED = 20261122
PER_CASE = 3  # mistakes that are drawn for each case
WRONG: list[Any] = [["x", {"k": 1}], {"zzz": {"a": 1}}, {"a": [True]}]
KEY = "notAKey"
POOL = "/pools/0/"
PLAIN = {
    "name": "plain",
    "description": "Nothing is wrong here",
    "gpu": {"model": "l4", "count": 2},
    "hosts": ["plain-[01:02].lab.example", {"name": "plain-03.lab.example"}],
    "labels": {"lab.example/rack": "r1"},
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    "sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}, "rename": True},
}
LESSER = {  # is said where the finding that makes it needless can no longer be known
    "driver-branch-end-of-life": "driver-too-old-for-gpu",
}
WIDER = {  # looks at all pools, so a mistake in any of them leaves it open
    "guardrails-not-completed",
    "guardrails-too-large",
    "scheduler-without-bin-packing",
}


@cache
def cases() -> dict[str, dict[str, Any]]:
    """Return the specs of the checks' cases, by the check's id."""
    read = {p.stem: yaml.safe_load(p.read_text()) for p in (TESTS / "checks").glob("*.yaml")}
    return {
        name: case for name, case in sorted(read.items()) if "bad" in case and "catalog" not in case
    }


def found(data: dict[str, Any], folder: Path) -> Found:
    """Return what the pipeline finds in a spec of no repository."""
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    outcome = pipeline.run(path, Workspace(None))
    return frozenset((finding.id, str(finding.at)) for finding in outcome.findings)


def places(data: Any, at: Pointer = ROOT) -> Iterator[Pointer]:
    """Yield every place of a spec."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield at / key
        if isinstance(value, dict | list):
            yield from places(value, at / key)


def broken(data: dict[str, Any], at: Pointer, draw: random.Random) -> dict[str, Any]:
    """Return a spec with a value of a wrong type at a place, or a key that nobody knows beside."""
    copied = copy.deepcopy(data)
    *outer, last = at.parts
    inner: Any = copied
    for part in outer:
        inner = inner[int(part)] if isinstance(inner, list) else inner[part]
    if isinstance(inner, dict) and draw.random() < 0.3:
        inner[KEY] = True
    else:
        inner[int(last) if isinstance(inner, list) else last] = draw.choice(WRONG)
    return copied


@pytest.mark.parametrize("id", cases())
def test_a_mistake_anywhere_invents_nothing(id: str, tmp_path: Path) -> None:
    """What is said beside the mistake is said without it as well."""
    draw = random.Random(f"{SEED} {id}")
    data = changed(cases()[id]["bad"])
    alone = found(data, tmp_path)
    every = [at for at in places(data) if at not in ("/apiVersion", "/kind")]
    for at in draw.sample(every, PER_CASE):
        for name, where in found(broken(data, at, draw), tmp_path) - alone:
            is_own = name.startswith("schema-") or KEY in where
            assert is_own or LESSER.get(name) in {i for i, _ in alone}, (at, name, where)


MOVABLE = [
    name
    for name, case in cases().items()
    if all(at.startswith(POOL) for at in case["bad"]) and name not in WIDER
]


@pytest.mark.parametrize("id", MOVABLE)
def test_mistakes_in_two_pools_are_both_reported(id: str, tmp_path: Path) -> None:
    draw = random.Random(f"{SEED} {id}")
    base = changed(cases()[id]["bad"])
    for at in draw.sample(list(places(PLAIN)), PER_CASE):
        one, other, both = (copy.deepcopy(base) for _ in range(3))
        clean = changed({})["pools"][0]
        slip = broken(PLAIN, at, draw)
        one["pools"].append(PLAIN)
        other["pools"] = [clean, slip]
        both["pools"].append(slip)
        assert found(both, tmp_path) == found(one, tmp_path) | found(other, tmp_path), at


def test_each_stage_reports_what_it_can_know(tmp_path: Path) -> None:
    data = changed(
        {
            "/pools/0/gpu/count": "4",
            "/pools/1": {**PLAIN, "gpu": {"model": "a100-sxm4-40gb", "count": 4}},
            "/pools/1/mig": {
                "strategy": "mixed",
                "layout": [{"gpus": "all", "profiles": {"4g.20gb": 2}}],
            },
            "/pools/1/sharing": None,
            "/pools/2": {**PLAIN, "name": "third", "gpu": {"model": "a1000", "count": 1}},
            "/pools/2/hosts": ["third-01.lab.example"],
        }
    )
    assert found(data, tmp_path) == {
        ("schema-type", "/pools/0/gpu/count"),
        ("mig-does-not-fit", "/pools/1/mig/layout/0/profiles"),
        ("unknown-gpu-model", "/pools/2/gpu/model"),
    }


def test_an_unquoted_version_hides_nothing(tmp_path: Path) -> None:
    """Values that YAML readers disagree about have their finding, and nothing else about them."""
    data = changed({"/pools/0/gpu/model": "a1000", "/hostDefaults/dcgm": {"mode": "masked"}})
    path = tmp_path / "spec.yaml"
    text = yaml.safe_dump(data).replace("'1.36'", "1.36").replace("mode: masked", "mode: no")
    path.write_text(text.replace("os: ubuntu-24.04", "os: 24.04"))
    outcome = pipeline.run(path, Workspace(None))
    assert {(f.id, str(f.at)) for f in outcome.findings} == {
        ("spec-bare-float", "/kubernetes/version"),
        ("spec-bare-float", "/hostDefaults/os"),
        ("spec-ambiguous-scalar", "/hostDefaults/dcgm/mode"),
        ("unknown-gpu-model", "/pools/0/gpu/model"),
    }
    (system,) = (f for f in outcome.findings if f.at == "/hostDefaults/os")
    assert system.hint.startswith("did you mean ubuntu-24.04?")
    assert outcome.spec is None


def test_a_distribution_that_is_not_rendered_comes_alone(tmp_path: Path) -> None:
    data = changed({"/kubernetes/distribution": "openshift", "/pools/0/gpu/count": "4"})
    assert found(data, tmp_path) == {("distribution-not-supported", "/kubernetes/distribution")}


FOLDER = TESTS / "data" / "hostile"
SHAPES = [
    case
    for case in yaml.safe_load((FOLDER / "cases.yaml").read_text("utf-8"))
    if "edit" in case and all(" schema-" in line for line in case.get("want", ["none"]))
]


def of_edits(edits: list[list[str]], folder: Path) -> Found:
    """Return what is found in the base of the hostile files with some edits."""
    text = (FOLDER / "base.yaml").read_text("utf-8")
    for old, new in edits:
        text = text.replace(old, new, 1)
    path = folder / "cluster.yaml"
    path.write_text(text, "utf-8")
    outcome = pipeline.run(path, Workspace(None))
    return frozenset((finding.id, str(finding.at)) for finding in outcome.findings)


def test_pairs_of_wrong_shapes_are_both_reported(tmp_path: Path) -> None:
    """Pairs whose edits do not touch one another, and whose places do not lie in one another."""
    draw = random.Random(SEED)
    base = (FOLDER / "base.yaml").read_text("utf-8")
    always = of_edits([], tmp_path)
    number = 0
    while number < 60:
        one, other = (case["edit"] for case in draw.sample(SHAPES, 2))
        spans = [range(base.index(old), base.index(old) + len(old)) for old, _ in (one, other)]
        if set(spans[0]) & set(spans[1]):
            continue
        first, second = (of_edits([edit], tmp_path) for edit in (one, other))
        number += 1
        both = of_edits([one, other], tmp_path)
        assert both - always == (first | second) - always, (one, other)
