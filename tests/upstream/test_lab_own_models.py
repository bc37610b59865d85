"""GPU models of a repository's own catalogue: predicted as the programs see them, like ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.resolve import resolve
from support.lab import intent, models, pools
from support.lab.laboratory import Laboratory

MODEL: dict[str, Any] = yaml.safe_load("""
  product: Example 32GB
  nvmlNames: [NVIDIA Example]
  architecture: ampere
  computeCapability: "8.0"
  memory: {nvmlMib: 32768, basis: capture, confidence: medium}
  hostArchitectures: [amd64]
  fabric: {nvlink: none, fabricManager: never, nvlsm: false, imex: never}
  mig: {isCapable: false}
  kernelModules: both
  source: [an example]
""")
HALVES: dict[str, Any] = yaml.safe_load("""
  computeSlices: 2
  memorySlices: 2
  placementUnits: 2
  nvmlTotalMib: 32768
  engineBudget: {nvdec: 2}
  profiles:
    1g.16gb: {compute: 1, memorySlices: 1, size: 1, starts: [0, 1], maxCount: 2,
              engines: {nvdec: 1}, nvml: 1_SLICE, memoryMib: 16128}
    2g.32gb: {compute: 2, memorySlices: 2, size: 2, starts: [0], maxCount: 1,
              engines: {nvdec: 2}, nvml: 2_SLICE, memoryMib: 32384, computeInstances: [1, 2]}
  source: [an example]
""")
OWN = {  # what differs from the model above
    "kepler": {"architecture": "kepler", "computeCapability": "3.7"},
    "maxwell": {"architecture": "maxwell", "computeCapability": "5.2"},
    "ada": {"architecture": "ada", "computeCapability": "8.9"},  # GFD's word is another
    "rubin": {
        "architecture": "rubin",
        "computeCapability": "13.0",
    },  # newer than GFD of the release
    "odd-name": {"nvmlNames": ["NVIDIA® GeForce RTX™ 4090  (Rev. 2/B)"]},
    "two-names": {"nvmlNames": ["NVIDIA Example", "NVIDIA Example B"]},
    "no-facts": {"nvmlNames": [], "memory": {}, "mig": {}, "fabric": {}},
    "halves": {"mig": {"isCapable": True, "geometry": "example-halves"}},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shared": {"sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 3}}},
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "mixed": {
        "mig": {
            "strategy": "mixed",
            "layout": [
                {"gpus": [0], "profiles": {"1g.16gb": 2}},
                {"gpus": [1], "profiles": {"2g.32gb": 1}},
            ],
        }
    },
    "parts": {
        "mig": {"strategy": "single", "layout": [{"gpus": "all", "profiles": {"1c.2g.32gb": 2}}]}
    },
}
CASES = [
    *((name, mode) for name in OWN for mode in SETTINGS),
    *(("halves", mode) for mode in LAYOUTS),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return our catalogue with the rows of a repository."""
    folder = tmp_path_factory.mktemp("catalog")
    rows = {name: MODEL | own for name, own in OWN.items()}
    data = {"gpus": rows, "migGeometries": {"example-halves": HALVES}}
    (folder / "models.yaml").write_text(json.dumps(data), encoding="utf-8")
    own = Catalog(folder)
    assert not own.findings()
    return own


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_own_boards_are_predicted_right(
    laboratory: Laboratory, catalog: Catalog, name: str, mode: str
) -> None:
    data = pools.spec_of(catalog.gpu(name), 2, **(SETTINGS | LAYOUTS)[mode])
    spec, findings = resolve(data, catalog, "inventories/minimal/cluster.yaml")
    assert spec is not None, findings
    (pool,) = spec.pools
    observed = laboratory.observe(assemble(spec), pool, models.played(pool.gpu))
    assert observed.mig.complaint == ""
    assert dict(observed.offer.resources) == pool.prediction.capacity
    printed = intent.checked_labels(observed, pool.prediction)
    assert printed == dict(pool.prediction.labels)
