"""MIG layouts: what mig-parted makes of the rendered ones, and what NVML's placements allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.gpu import mig
from gpugen.model.catalog import GpuModel
from support import TESTS
from support.lab import models, node, partitioning, pools, rendered
from support.lab.laboratory import Laboratory
from support.lab.placing import Placer

VECTORS = yaml.safe_load((TESTS / "data" / "mig-vectors.yaml").read_text(encoding="utf-8"))[
    "geometries"
]
GPUS = 16  # of a node: as many layouts that fit are applied at once


MODELS = [pools.catalog().gpu(name) for name in pools.catalog().gpu_ids()]
MIG_CAPABLE = [gpu for gpu in MODELS if gpu.geometry is not None]


def model_of(geometry: str) -> GpuModel:
    """Return a GPU model with a geometry."""
    return next(gpu for gpu in MIG_CAPABLE if gpu.geometry and gpu.geometry.id == geometry)


def entries(layouts: list[dict[str, int]]) -> list[dict[str, Any]]:
    """Return a layout for each GPU of a node."""
    return [{"gpus": [i], "profiles": profiles} for i, profiles in enumerate(layouts)]


def applied(laboratory: Laboratory, gpu: GpuModel, layouts: list[dict[str, int]]) -> list[Any]:
    """Apply the rendered layouts to a new node; return what its GPUs carry, and the complaint."""
    settings = {"mig": {"strategy": "mixed", "layout": entries(layouts)}}
    spec = pools.resolved(pools.spec_of(gpu, len(layouts), **settings))
    (pool,) = spec.pools
    here = node.node_of(pool, models.played(gpu))
    node.boot(laboratory.sandbox, here)
    found = laboratory.partition(assemble(spec), pool, here)
    return [found.layouts, found.complaint]


def of_nodes(layouts: list[dict[str, int]]) -> list[list[dict[str, int]]]:
    """Spread layouts over nodes, one on each GPU."""
    return [layouts[at : at + GPUS] for at in range(0, len(layouts), GPUS)]


FITTING = [
    pytest.param(model_of(name), layouts, id=f"{name}-{number}")
    for name, rows in VECTORS.items()
    for number, layouts in enumerate(of_nodes(rows["valid"]))
]
SOLVED = [
    pytest.param(model_of(name), layouts, id=f"{name}-solved-{number}")
    for name in VECTORS
    for number, layouts in enumerate(of_nodes(list(mig.layouts(pools.catalog().geometry(name)))))
]
NOT_FITTING = [
    pytest.param(model_of(name), row["set"], id=f"{name}-{mig.spelled(row['set'])}")
    for name, rows in VECTORS.items()
    for row in rows["invalid"]
]


@pytest.mark.parametrize(("gpu", "layouts"), FITTING + SOLVED)
def test_layouts_that_fit_are_applied_and_hold(
    laboratory: Laboratory, gpu: GpuModel, layouts: list[dict[str, int]]
) -> None:
    wanted = [dict(sorted(layout.items())) for layout in layouts]
    assert applied(laboratory, gpu, layouts) == [wanted, ""]


@pytest.mark.parametrize("gpu", MIG_CAPABLE, ids=lambda gpu: gpu.id)
def test_names_of_all_profiles_follow_from_memory(laboratory: Laboratory, gpu: GpuModel) -> None:
    """The programs make up names from the memory of instance and GPU; both as captured."""
    assert gpu.geometry is not None
    layouts = [{profile: 1} for profile in gpu.geometry.profiles]
    spec = pools.resolved(
        pools.spec_of(gpu, len(layouts), mig={"strategy": "mixed", "layout": entries(layouts)})
    )
    observed = laboratory.observe(assemble(spec), spec.pools[0], models.played(gpu))
    assert observed.mig.complaint == ""
    counted = {name for name in observed.labelling.labels if name.endswith(".count")}
    wanted = {f"{mig.resource_name(profile)}.count" for profile in gpu.geometry.profiles}
    assert counted == {*wanted, "nvidia.com/gpu.count"}


@pytest.mark.parametrize(("gpu", "layout"), NOT_FITTING)
def test_layouts_that_do_not_fit_are_refused(
    laboratory: Laboratory, gpu: GpuModel, layout: dict[str, int]
) -> None:
    found, complaint = applied(laboratory, gpu, [layout])
    assert found == [{}]
    assert complaint


@pytest.mark.parametrize("geometry", VECTORS)
def test_solver_allows_what_placements_allow(
    geometry: str, mock_of_nvml: Path, tmp_path: Path
) -> None:
    """The solver knows every set that some order of creation leads to, and no other."""
    gpu = model_of(geometry)
    assert gpu.geometry is not None
    placer = Placer(mock_of_nvml, node.Node(models.played(gpu), 1), tmp_path)
    solved = {tuple(sorted(layout.items())) for layout in mig.layouts(gpu.geometry)}
    found = placer.reachable()
    placer.close()
    assert found == solved


def test_an_old_layout_gives_way_to_a_new_one(laboratory: Laboratory) -> None:
    """The second configuration meets instances of the first, one GPU is switched off, one on."""
    gpu = model_of("a100-40gb")
    halves, sevenths = {"3g.20gb": 2}, {"1g.5gb": 7}
    for number, layouts in enumerate(([halves, sevenths, {}], [sevenths, {}, halves])):
        settings = {"mig": {"strategy": "mixed", "layout": entries(layouts)}}
        spec = pools.resolved(pools.spec_of(gpu, 3, **settings))
        (pool,) = spec.pools
        if number == 0:
            node.boot(laboratory.sandbox, node.node_of(pool, models.played(gpu)))
        name = pool.prediction.mig_config_name
        text = rendered.config_map(assemble(spec), f"mig-config-{pool.name}")["config.yaml"]
        assert not partitioning.is_applied(laboratory.sandbox, text, name)
        assert partitioning.apply(laboratory.sandbox, text, name).returncode == 0
        assert partitioning.is_applied(laboratory.sandbox, text, name)
        assert node.layouts(laboratory.sandbox, 3) == layouts
        assert node.modes(laboratory.sandbox) == [bool(layout) for layout in layouts]


def test_asserting_finds_an_instance_that_is_gone(laboratory: Laboratory) -> None:
    gpu = model_of("h100-80gb")
    spec = pools.resolved(
        pools.spec_of(gpu, 1, mig={"strategy": "mixed", "layout": entries([{"1g.10gb": 7}])})
    )
    (pool,) = spec.pools
    here = node.node_of(pool, models.played(gpu))
    node.boot(laboratory.sandbox, here)
    assert laboratory.partition(assemble(spec), pool, here).complaint == ""
    state = laboratory.sandbox.path("/lab/state").read_text(encoding="utf-8").splitlines()
    laboratory.sandbox.write("/lab/state", "\n".join(state[:-2]) + "\n")
    text = rendered.config_map(assemble(spec), f"mig-config-{pool.name}")["config.yaml"]
    assert not partitioning.is_applied(laboratory.sandbox, text, pool.prediction.mig_config_name)
