"""Specs with one pool, as data; and what the product says about them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from gpugen import checks
from gpugen.catalog import Catalog
from gpugen.model.catalog import GpuModel
from gpugen.model.finding import Finding, Severity
from gpugen.model.spec import ClusterSpec
from gpugen.resolve import resolve
from gpugen.validate import validate
from support import TESTS

MINIMAL = TESTS / "checks" / "minimal.yaml"
DRIVERS = ("580.178.04", "595.91.07")  # the second for GPU models that the first does not know
POOL = "lab"


@cache
def catalog() -> Catalog:
    """Return the catalogue that is shipped."""
    return Catalog()


def spec_of(gpu: GpuModel, count: int, **settings: Any) -> dict[str, Any]:
    """Return a spec with one pool of that model; settings: mig, sharing, and so on."""
    data = copy.deepcopy(_minimal())
    pool = {"name": POOL, "gpu": {"model": gpu.id, "count": count}, "hosts": ["gpu-01.lab.example"]}
    data["pools"] = [{**pool, **settings}]
    newer = (gpu.min_branch or 0) > int(DRIVERS[0].partition(".")[0])
    data["hostDefaults"]["driver"] = {"version": DRIVERS[newer]}
    return data


@cache
def _minimal() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(MINIMAL.read_text(encoding="utf-8"))
    return data


def resolved(data: Mapping[str, Any]) -> ClusterSpec:
    """Resolve a spec whose names are all known, whether it is valid or not."""
    spec, findings = resolve(dict(data), catalog(), "inventories/minimal/cluster.yaml")
    assert spec is not None, findings
    return spec


def findings(data: Mapping[str, Any]) -> list[Finding]:
    """Return what the product says against a spec; checks come only after the schema."""
    found = validate(dict(data))
    if not found:
        spec = resolved(data)
        found = [finding for check in checks.discover() for finding in check.run(spec)]
    return found


def errors(data: Mapping[str, Any]) -> list[Finding]:
    """Return what the product refuses a spec for."""
    return [finding for finding in findings(data) if finding.severity is Severity.ERROR]
