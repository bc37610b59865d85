"""Resolved specs for tests: the minimal one of the check cases, with values set at pointers."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import yaml

from gpugen.catalog import Catalog
from gpugen.checks import discover
from gpugen.model.finding import Finding, Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.resolve import resolve
from gpugen.validate import validate
from support import TESTS

MINIMAL = TESTS / "checks" / "minimal.yaml"
MIG_POOL = {  # what pool 0 of the minimal spec takes to carry MIG instances on half of its GPUs
    "/pools/0/mig": {
        "strategy": "mixed",
        "layout": [
            {"gpus": [0, 1], "profiles": {"1g.5gb": 7}},
            {"gpus": [2, 3], "profiles": {}},
        ],
    },
}


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the minimal spec as data with values set at pointers; None removes a key."""
    data: dict[str, Any] = yaml.safe_load(MINIMAL.read_text(encoding="utf-8"))
    for pointer, value in changes.items():
        _put(data, Pointer(pointer).parts, copy.deepcopy(value))
    return data


def resolved(changes: dict[str, Any] | None = None) -> ClusterSpec:
    """Resolve the minimal spec after setting the values at the pointers."""
    spec, findings = resolve(changed(changes or {}), Catalog(), "inventories/minimal/cluster.yaml")
    assert spec is not None, findings
    return spec


def findings_of(changes: dict[str, Any], catalog: Catalog | None = None) -> list[Finding]:
    """Return the findings of all checks after setting the values at the pointers."""
    data = changed(changes)
    assert not (refused := validate(data)), f"the schema already refuses this case: {refused}"
    spec, unknown = resolve(data, catalog or Catalog(), "inventories/minimal/cluster.yaml")
    assert spec is not None, unknown
    return [finding for check in discover() for finding in check.run(spec)]


def _put(data: Any, parts: tuple[str, ...], value: Any) -> None:
    for part, after in pairwise(parts):
        if isinstance(data, list):
            data = data[int(part)]
        else:
            data = data.setdefault(part, [] if after.isdigit() else {})
    if isinstance(data, list):
        data[int(parts[-1]) : int(parts[-1]) + 1] = [value]
    elif value is None:
        del data[parts[-1]]
    else:
        data[parts[-1]] = value
