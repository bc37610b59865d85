"""The catalogue beside what public captures of real GPUs showed."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from gpugen.catalog import Catalog
from gpugen.catalog.rows import gfd_product
from gpugen.gpu.mig import memory_gb, parse_profile
from support import TESTS

FILE = TESTS / "data" / "captures.yaml"
CATALOG = Catalog()
MODELS = set(CATALOG.gpu_ids())
ALL: list[dict[str, Any]] = yaml.safe_load(FILE.read_text("utf-8"))["captures"]
CAPTURES = [capture for capture in ALL if capture["model"] in MODELS]
MIG = [(c["model"], c.get("driver", ""), p) for c in CAPTURES for p in c.get("mig", ())]
TOLERANCE = 0.09  # two tables per GPU model exist, and figures drift with the driver
EARLY_NAMES = {("gb200", "1g.24gb"), ("gb200", "1g.24gb+me")}  # an early GPU, see the row's notes


def title(capture: dict[str, Any]) -> str:
    return f"{capture['model']} {capture['source']}"


def test_only_captures_of_models_without_a_row_are_left_out() -> None:
    left_out = {capture["model"] for capture in ALL} - MODELS
    assert all(re.search("-(unnamed|unlisted)$|^h100-sxm5-94gb$", model) for model in left_out)
    assert len(CAPTURES) > 260


@pytest.mark.parametrize("capture", CAPTURES, ids=title)
def test_names_are_those_that_gpus_print(capture: dict[str, Any]) -> None:
    gpu = CATALOG.gpu(capture["model"])
    names = {*gpu.nvml_names, *gpu.former_nvml_names}
    assert capture.get("nvml_name", gpu.nvml_names[0]) in names
    products = {gfd_product(name) for name in names}
    assert capture.get("gfd_product", min(products)) in products


@pytest.mark.parametrize("capture", CAPTURES, ids=title)
def test_totals_agree_or_the_row_explains_them(capture: dict[str, Any]) -> None:
    gpu = CATALOG.gpu(capture["model"])
    total = capture.get("nvml_mib")
    known = (None, gpu.memory_mib, *gpu.other_memory_mib)
    assert total in known or any(str(total) in note for note in gpu.notes)


def test_a_total_with_a_confidence_of_its_own_was_captured() -> None:
    seen: dict[str, set[int]] = {}
    for capture in CAPTURES:
        seen.setdefault(capture["model"], set()).add(capture.get("nvml_mib", 0))
    for model in MODELS:
        row = CATALOG.row("gpus", model)["memory"]
        if row.get("basis") == "capture":
            assert row["nvmlMib"] in seen[model], model


@pytest.mark.parametrize(("model", "driver", "shown"), MIG)
def test_mig_profiles_and_their_memory(model: str, driver: str, shown: dict[str, Any]) -> None:
    geometry = CATALOG.gpu(model).geometry
    assert geometry is not None
    if (model, shown["profile"]) in EARLY_NAMES:
        assert any(shown["profile"] in note for note in geometry.notes)
        return
    profile = geometry.profiles[shown["profile"]]
    mib = shown.get("memory_mib") or shown.get("memory_gib", 0) * 1024
    if mib and profile.memory_mib:
        assert mib == pytest.approx(profile.memory_mib, rel=TOLERANCE)
    if shown.get("sms") and profile.multiprocessors and shown["from"] == "lgip":
        assert shown["sms"] == profile.multiprocessors


@pytest.mark.parametrize("id", CATALOG.ids("migGeometries"))
def test_profile_names_follow_from_the_total(id: str) -> None:
    geometry = CATALOG.geometry(id)
    assert geometry.nvml_total_mib
    for name, profile in geometry.profiles.items():
        share = geometry.nvml_total_mib * profile.memory_slices // geometry.memory_slices
        stated = parse_profile(name).gb
        assert memory_gb(share, geometry.nvml_total_mib) == stated, name
        if profile.memory_mib:
            assert memory_gb(profile.memory_mib, geometry.nvml_total_mib) == stated, name


@pytest.mark.parametrize("id", sorted(MODELS))
def test_models_of_one_geometry_have_its_total(id: str) -> None:
    gpu = CATALOG.gpu(id)
    if gpu.geometry is None or gpu.memory_mib is None:
        return
    total = gpu.geometry.nvml_total_mib
    notes = (*gpu.notes, *gpu.geometry.notes)
    assert gpu.memory_mib == total or any(str(gpu.memory_mib) in note for note in notes)
