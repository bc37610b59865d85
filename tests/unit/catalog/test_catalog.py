"""The catalogue that gpugen brings, and the lookups in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from gpugen import assets
from gpugen.catalog import Catalog, UnknownRow, reading
from gpugen.catalog.geometry_rules import contradictions
from gpugen.catalog.range_rules import backwards
from gpugen.catalog.rows import gfd_product
from gpugen.load import reader
from gpugen.model.catalog import GpuModel
from gpugen.model.platform import Features

SCHEMA = json.loads((assets.schemas() / "catalog.schema.json").read_bytes())
DEFINITIONS = {
    "gpus": "gpu",
    "migGeometries": "geometry",
    "drivers": "driver",
    "operatingSystems": "operatingSystem",
    "distributions": "distribution",
    "releases": "release",
    "kubernetes": "kubernetesMinor",
}
ROWS = [(section, row) for section in DEFINITIONS for row in reading.shipped_ids(section)]
FILES = sorted(reading.FOLDER.rglob("*.yaml"))
CATALOG = Catalog()
MODELS = [CATALOG.gpu(model) for model in CATALOG.gpu_ids()]


def shipped(section: str, id: str) -> dict[str, Any]:
    row = reading.shipped(section, id)
    assert row is not None
    return row


@pytest.mark.parametrize(("section", "id"), ROWS)
def test_every_row_has_the_shape_that_users_rows_have(section: str, id: str) -> None:
    rules = {"$ref": f"#/$defs/{DEFINITIONS[section]}", "$defs": SCHEMA["$defs"]}
    faults = [
        error.message for error in Draft202012Validator(rules).iter_errors(shipped(section, id))
    ]
    assert faults == []


@pytest.mark.parametrize(("section", "id"), ROWS)
def test_every_row_has_sources_and_a_confidence(section: str, id: str) -> None:
    row = shipped(section, id)
    assert row["source"]
    assert row["confidence"] in ("high", "medium", "low")
    assert "override" not in row


def test_the_sections_of_a_users_file_are_those_that_the_schema_knows() -> None:
    assert set(SCHEMA["properties"]) | {"kubernetes"} == set(reading.FOLDERS) == set(DEFINITIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(reading.FOLDER)))
def test_every_file_means_the_same_to_another_reader(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    own, other = reader.data(text), YAML(typ="safe", pure=True).load(text)
    assert json.dumps(own) == json.dumps(other)  # types as well, and the order of keys


def test_a_lookup_opens_only_the_files_that_it_needs() -> None:
    program = """
import sys
opened = []
sys.addaudithook(lambda event, a: event == "open" and opened.append(str(a[0])))
from gpugen.catalog import Catalog
catalog = Catalog()
for _ in range(2):
    catalog.gpu("a100-sxm4-40gb"), catalog.release("2026.11"), catalog.distribution("kubeadm")
print(*(p.partition("/catalog/data/")[2] for p in opened if p.endswith(".yaml")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == [
        "distributions/kubeadm.yaml",
        "gpus/a100-sxm4-40gb.yaml",
        "mig/a100-40gb.yaml",
        "releases/2026.11.yaml",
    ]


def test_a_model_is_complete() -> None:
    gpu = CATALOG.gpu("a100-sxm4-40gb")
    assert (gpu.nvml_names, gpu.gfd_product) == (
        ("NVIDIA A100-SXM4-40GB",),
        "NVIDIA-A100-SXM4-40GB",
    )
    assert (gpu.compute_capability, gpu.pci_devices) == ((8, 0), ("20B0",))
    assert (gpu.mig_filters, gpu.memory_mib) == (("0x20B010DE",), 40960)
    assert (gpu.min_driver, gpu.mig_min_driver) == ("450.80.02", "450.80.02")
    assert gpu.geometry is not None
    assert gpu.geometry.id == "a100-40gb"
    assert gpu.geometry.profiles["1g.5gb+me"].min_branch == 470


def test_what_is_not_known_is_empty_and_never_guessed() -> None:
    gpu = CATALOG.gpu("b200-2909")
    assert (gpu.nvml_names, gpu.gfd_product, gpu.memory_mib, gpu.geometry) == ((), "", None, None)
    assert gpu.candidate_geometry == "b200"
    assert CATALOG.gpu("rtx-6000d").is_mig_capable is None


def test_a_model_with_two_names_has_no_certain_product_label() -> None:
    gpu = CATALOG.gpu("gh200-96gb")
    assert gpu.gfd_products == ("NVIDIA-GH200-480GB", "NVIDIA-GH200-120GB")
    assert gpu.gfd_product == ""


def test_figures_of_another_model_are_not_taken_over() -> None:
    geometries = {
        model: CATALOG.gpu(model).geometry for model in ("gh200-96gb", "h20", "h100-96gb")
    }
    sms = {
        model: {name: p.multiprocessors for name, p in g.profiles.items()}
        for model, g in geometries.items()
        if g is not None
    }
    assert (sms["gh200-96gb"]["1g.12gb"], sms["h20"]["1g.12gb"]) == (16, 8)
    assert sms["h20"]["7g.96gb"] is None
    assert set(sms["h100-96gb"].values()) == {None}


def gfd_family(major: int, minor: int) -> str:
    """Source: NVIDIA/k8s-device-plugin v0.20.0 internal/lm/resource.go."""
    exact = {(7, 5): "turing", (8, 9): "ada-lovelace"}
    by_major = {6: "pascal", 7: "volta", 8: "ampere", 9: "hopper", 10: "blackwell", 12: "blackwell"}
    return exact.get((major, minor), by_major[major])


@pytest.mark.parametrize("gpu", MODELS, ids=lambda gpu: gpu.id)
def test_models_do_not_contradict_themselves(gpu: GpuModel) -> None:
    assert gpu.family == gfd_family(*gpu.compute_capability)
    assert (gpu.kernel_modules == "proprietary-only") >= (gpu.architecture in ("pascal", "volta"))
    assert (gpu.last_branch == 580) == (gpu.architecture in ("pascal", "volta"))
    assert gpu.geometry is None or gpu.is_mig_capable
    assert gpu.memory_mib is None or gpu.memory_confidence
    if gpu.min_driver:
        assert int(gpu.min_driver.partition(".")[0]) == gpu.min_branch


@pytest.mark.parametrize("section", reading.FOLDERS)
def test_no_range_contains_nothing(section: str) -> None:
    rows = {name: reading.shipped(section, name) for name in reading.shipped_ids(section)}
    assert {name: found for name, row in rows.items() if (found := list(backwards(row)))} == {}


@pytest.mark.parametrize("id", reading.shipped_ids("migGeometries"))
def test_geometries_do_not_contradict_themselves(id: str) -> None:
    row = shipped("migGeometries", id)
    assert list(contradictions(row)) == []
    assert any(gpu.geometry and gpu.geometry.id == id for gpu in MODELS)
    assert set(row.get("figuresByBoard", {})) <= set(CATALOG.gpu_ids())


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
        ("NVIDIA  RTX (Max-Q)", "NVIDIA-RTX-Max-Q"),
        ("A_1.x-y", "A_1.x-y"),
    ],
)
def test_the_product_label_drops_what_a_label_cannot_hold(name: str, label: str) -> None:
    assert gfd_product(name) == label


@pytest.mark.parametrize(
    ("id", "best"),
    [
        ("a100-sxm-40gb", "a100-sxm4-40gb"),
        ("A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("NVIDIA-A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("Tesla T4", "t4"),
        ("20B0", "a100-sxm4-40gb"),
        ("l4s", "l40s"),
    ],
)
def test_an_unknown_model_comes_with_near_ids(id: str, best: str) -> None:
    with pytest.raises(UnknownRow) as unknown:
        CATALOG.gpu(id)
    assert unknown.value.close[0] == best
    assert (unknown.value.kind, unknown.value.section, unknown.value.id) == (
        "gpu-model",
        "gpus",
        id,
    )
    assert best in str(unknown.value)


def test_an_unknown_row_names_the_command_that_lists_its_section() -> None:
    with pytest.raises(UnknownRow) as unknown:
        CATALOG.operating_system("ubuntu-24.10")
    assert (unknown.value.kind, unknown.value.section) == ("operating-system", "systems")
    assert "ubuntu-24.04" in unknown.value.close


def test_nothing_is_suggested_for_nonsense() -> None:
    with pytest.raises(UnknownRow) as unknown:
        CATALOG.gpu("zzzz")
    assert unknown.value.close == ()


@pytest.mark.parametrize(
    "id", ["../gpus/t4", "T4", "t4.yaml", "", "t4\n", "/etc/passwd", "t4/../t4"]
)
def test_an_id_never_becomes_a_path(id: str) -> None:
    with pytest.raises(UnknownRow):
        CATALOG.gpu(id)


def test_drivers_are_in_order_and_an_unknown_one_is_an_error() -> None:
    branches = CATALOG.driver_branches()
    assert [b.id for b in branches] == sorted(b.id for b in branches)
    assert [b.id for b in branches if b.is_supported] == [580, 595]
    assert CATALOG.driver_branch(580).cuda == "13.0"
    with pytest.raises(UnknownRow):
        CATALOG.driver_branch(999)


def test_distributions_that_are_refused_say_why() -> None:
    rows = [CATALOG.distribution(name) for name in CATALOG.ids("distributions")]
    assert {row.id for row in rows if row.is_supported} == {"kubeadm", "k3s", "rke2", "k0s"}
    assert all(row.reason for row in rows if not row.is_supported)
    assert {row.id for row in rows if row.has_runtime_class} == {"k3s", "rke2"}
    assert CATALOG.distribution("k0s").kubelet_root == "/var/lib/k0s/kubelet"
    assert not CATALOG.distribution("k3s").kubelet_unit


def test_systems_that_are_refused_say_why() -> None:
    rows = [CATALOG.operating_system(name) for name in CATALOG.ids("operatingSystems")]
    assert all(row.reason for row in rows if not row.is_supported)
    packages, keys = CATALOG.packages(), CATALOG.packages()["cudaRepository"]["keys"]
    for row in rows:
        if row.is_supported:
            assert row.driver_packages in packages["driverPackages"]
            assert row.cuda_repository
            assert row.cuda_repository.key in keys


@pytest.mark.parametrize("id", CATALOG.ids("releases"))
def test_a_release_has_an_image_per_component_and_a_scheduler_per_minor(id: str) -> None:
    release = CATALOG.release(id)
    assert release.images["device-plugin"].repository == "nvcr.io/nvidia/k8s-device-plugin"
    assert all(image.tag for name, image in release.images.items() if name != "scheduler")
    assert release.images["scheduler"].tag == ""
    minors = [minor.id for minor in CATALOG.kubernetes_minors() if minor.is_supported]
    assert minors == ["1.33", "1.34", "1.35", "1.36", "1.37"]
    assert list(release.scheduler_tags) == minors
    assert all(tag.startswith(f"v{m}.") for m, tag in release.scheduler_tags.items())
    assert set(release.scheduler_digests) <= set(minors)


def test_a_shipped_release_keeps_its_versions_and_gets_no_features() -> None:
    release = CATALOG.release("2026.11")
    assert {name: image.tag for name, image in release.images.items()} == {
        "device-plugin": "v0.19.3",
        "gpu-feature-discovery": "v0.19.3",
        "mps-control-daemon": "v0.19.3",
        "node-feature-discovery": "v0.18.3",
        "mig-manager": "v0.14.5",
        "dcgm-exporter": "4.5.3-4.8.2-distroless",
        "scheduler": "",
    }
    assert not any(image.digest for image in release.images.values())
    assert release.features == Features()


def test_features_of_a_release_are_data() -> None:
    assert CATALOG.release("2026.12").features == Features(
        agent_policy=True,
        network_policies=True,
        packages="compute-only",
        requests_and_limits=True,
    )


@pytest.mark.parametrize("name", ["packages", "cuda", "container-toolkit"])
def test_tables_have_sources(name: str) -> None:
    def sections(table: dict[str, Any]) -> bool:
        return "source" in table or all(
            sections(part) for key, part in table.items() if key != "placeholders"
        )

    assert sections(reading.table(name))


def test_the_security_floor_is_a_known_release() -> None:
    toolkit = CATALOG.container_toolkit()
    assert toolkit["securityFloor"]["version"] in toolkit["releases"]
    assert toolkit["latest"] == list(toolkit["releases"])[-1]
    assert CATALOG.cuda()["pairedDriver"]["13.0"] == "580.65.06"


def test_records_are_frozen_and_built_once() -> None:
    gpu = CATALOG.gpu("t4")
    assert gpu is CATALOG.gpu("t4")
    with pytest.raises(AttributeError):
        gpu.id = "t5"  # type: ignore[misc]
