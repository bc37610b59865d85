"""Predicted labels and resources against the real programs, for every GPU model in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen import pipeline
from gpugen.assemble import assemble
from gpugen.model.catalog import GpuModel
from gpugen.model.prediction import Prediction
from gpugen.workspace import Workspace
from support import ROOT
from support.lab import intent, layouts, models, pools
from support.lab.laboratory import Laboratory, Observed

SPECS = "inventories/[!_]*/cluster.yaml"
VOLTA = (7, 0)  # MPS with clients of their own begins here
GPUS = 4


def shared(mode: str, *, rename: bool = False, **replicas: int) -> dict[str, Any]:
    """Return the setting that shares resources: the part after nvidia.com/ -> replicas."""
    resources = {f"nvidia.com/{name}": count for name, count in replicas.items()}
    return {"sharing": {"mode": mode, "resources": resources, "rename": rename}}


def whole_gpu_modes(gpu: GpuModel) -> dict[str, dict[str, Any]]:
    """Return the settings of a pool whose GPUs have no MIG instances."""
    modes: dict[str, dict[str, Any]] = {
        "plain": {},
        "time-sliced": shared("time-slicing", gpu=4),
        "renamed": shared("time-slicing", gpu=3, rename=True),
    }
    if gpu.compute_capability >= VOLTA:
        modes |= {"mps": shared("mps", gpu=2), "mps-renamed": shared("mps", gpu=16, rename=True)}
    return modes


def mig_modes(gpu: GpuModel) -> dict[str, dict[str, Any]]:
    """Return the settings of a pool whose GPUs have MIG instances."""
    if gpu.geometry is None:
        return {}
    one, several = layouts.single(gpu.geometry), layouts.mixed(gpu.geometry)
    single = {"mig": {"strategy": "single", "layout": one}}
    mixed = {"mig": {"strategy": "mixed", "layout": several}}
    names = sorted({f"mig-{name}" for entry in several for name in entry["profiles"]})
    replicas = {name: 2 + number for number, name in enumerate(["gpu", *names])}
    return {
        "mig-off": {"mig": {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {}}]}},
        "mig-single": single,
        "mig-single-shared": single | shared("time-slicing", gpu=3),
        "mig-single-renamed": single | shared("time-slicing", gpu=2, rename=True),
        "mig-mixed": mixed,
        "mig-mixed-shared": mixed | shared("time-slicing", **replicas),
        "mig-mixed-renamed": mixed | shared("time-slicing", rename=True, **replicas),
        "mig-mixed-one-shared": mixed | shared("time-slicing", **{names[0]: 5}),
    }


MODELS = [pools.catalog().gpu(name) for name in pools.catalog().gpu_ids()]
CASES = [
    pytest.param(gpu, settings, id=f"{gpu.id}-{mode}")
    for gpu in MODELS
    for mode, settings in (whole_gpu_modes(gpu) | mig_modes(gpu)).items()
]
FORMS = [
    pytest.param(form, id=f"{form.gpu.id}-{form.product}-{form.memory_mib}")
    for gpu in MODELS
    for form in models.sightings(gpu)[1:]
]


def compare(observed: Observed, prediction: Prediction) -> None:
    """Fail unless both agree; labels that are said to be unknown may have any value, or none."""
    assert observed.daemon_complaint == ""
    assert observed.offer.complaint == ""
    assert dict(observed.offer.resources) == prediction.capacity
    assert observed.labelling.complaint == ""
    printed = intent.checked_labels(observed, prediction)
    assert printed == dict(prediction.labels)
    assert not set(prediction.labels) & set(prediction.unknown_labels)


@pytest.mark.parametrize(("gpu", "settings"), CASES)
def test_programs_say_what_is_predicted(
    laboratory: Laboratory, gpu: GpuModel, settings: dict[str, Any]
) -> None:
    data = pools.spec_of(gpu, GPUS, **settings)
    spec = pools.resolved(data)
    (pool,) = spec.pools
    observed = laboratory.observe(assemble(spec), pool, models.played(gpu))
    assert observed.mig.complaint == ""
    compare(observed, pool.prediction)
    too_long = "mig-product-label-too-long"
    assert {finding.id for finding in pools.errors(data)} <= {too_long}


@pytest.mark.parametrize(
    "strategies",
    [
        ["envvar"],
        ["volume-mounts"],
        ["cdi-annotations"],
        ["cdi-cri"],
        ["cdi-annotations", "cdi-cri"],
    ],
    ids="-".join,
)
@pytest.mark.parametrize("mode", ["plain", "mps", "mig-single", "mig-mixed-renamed"])
def test_how_devices_are_listed_changes_nothing(
    laboratory: Laboratory, mode: str, strategies: list[str]
) -> None:
    gpu = pools.catalog().gpu("h100-sxm5-80gb")
    settings = (whole_gpu_modes(gpu) | mig_modes(gpu))[mode]
    data = {**pools.spec_of(gpu, GPUS, **settings), "deviceListStrategy": strategies}
    spec = pools.resolved(data)
    (pool,) = spec.pools
    compare(laboratory.observe(assemble(spec), pool, models.played(gpu)), pool.prediction)
    assert not pools.errors(data)


@pytest.mark.parametrize(
    "options",
    [{"device-plugin": {"passDeviceSpecs": True}}, {"gpu-feature-discovery": {"vgpuLabels": True}}],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("mode", ["plain", "mig-mixed-shared"])
def test_options_of_components_change_no_prediction(
    laboratory: Laboratory, mode: str, options: dict[str, Any]
) -> None:
    gpu = pools.catalog().gpu("a30")
    settings = (whole_gpu_modes(gpu) | mig_modes(gpu))[mode]
    spec = pools.resolved({**pools.spec_of(gpu, GPUS, **settings), "components": options})
    (pool,) = spec.pools
    compare(laboratory.observe(assemble(spec), pool, models.played(gpu)), pool.prediction)


@pytest.mark.parametrize("cluster", sorted(p.parent.name for p in ROOT.glob(SPECS)))
def test_examples_are_predicted_right(laboratory: Laboratory, cluster: str) -> None:
    workspace = Workspace(ROOT)
    spec = pipeline.run(workspace.spec_path(cluster), workspace).spec
    assert spec is not None
    for pool in spec.pools:
        compare(laboratory.observe(assemble(spec), pool, models.played(pool.gpu)), pool.prediction)


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_of_a_model_are_not_predicted_wrongly(
    laboratory: Laboratory, form: models.PlayedGpu
) -> None:
    spec = pools.resolved(pools.spec_of(form.gpu, GPUS))
    compare(laboratory.observe(assemble(spec), spec.pools[0], form), spec.pools[0].prediction)
