"""The CUDA toolkit and cuDNN on hosts; only if the spec states them (CUD-05)."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpugen.catalog import reading
from gpugen.components import Component
from gpugen.model.assembly import Contribution
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.model.tuning import CudaToolkit
from gpugen.text.versions import parts

ROLE = "cuda_toolkit"


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role, and for every pool which packages its hosts get."""
    return Contribution(
        host_variables={pool.name: _variables(pool) for pool in spec.pools}, roles=(ROLE,)
    )


def _variables(pool: NodePool) -> dict[str, Any]:
    toolkit = pool.host.cuda_toolkit
    if toolkit is None:
        return {}
    stated: dict[str, Any] = {
        "packages": [package(version) for version in toolkit.versions],
        "driver_floor": driver_floor(toolkit),
        "default": toolkit.default,
        "profile": toolkit.profile,
        "cudnn": toolkit.cudnn,
        "cudnn_package": cudnn_package(toolkit) if toolkit.cudnn else "",
    }
    return {f"{ROLE}_{name}": value for name, value in stated.items() if value}


def package(version: str) -> str:
    """Return the package of one toolkit alone; ``cuda`` would install a driver (CUD-01)."""
    name: str = _rows()["package"]
    return name.replace("{cuda}", version.replace(".", "-"))


def cudnn_package(toolkit: CudaToolkit) -> str:
    """Return the package of cuDNN for the toolkit's CUDA major, empty if there is none (CUD-04)."""
    names: list[str] = _rows()["cudnn"]
    return next((n for n in names if n.endswith(f"-cuda-{toolkit.cudnn_major}")), "")


def driver_floor(toolkit: CudaToolkit) -> str:
    """Return the oldest driver that all toolkits run on, empty if the catalogue knows none.

    Source: the catalogue's table of minor-version compatibility.
    """
    floors = table()["minorVersionFloor"]
    majors = {version.partition(".")[0] for version in toolkit.versions}
    return max((floors[major] for major in majors if major in floors), key=parts, default="")


@cache
def table() -> dict[str, Any]:
    """Return the catalogue's table of CUDA versions and drivers."""
    return reading.table("cuda")


@cache
def _rows() -> dict[str, Any]:
    rows: dict[str, Any] = reading.table("packages")["cudaToolkit"]
    return rows


COMPONENT = Component(contribute)
