"""Names that clouds give to machines and accelerators."""

from __future__ import annotations

import pytest

from gpugen.catalog import Catalog, UnknownRow, machines, reading

EVERY = [
    (model, key, name, count)
    for model in reading.shipped_ids("gpus")
    for key, counts in (reading.shipped("gpus", model) or {}).get("cloud", {}).items()
    if key in machines.OWNERS
    for name, count in counts.items()
]


def said(name: str) -> tuple[str, str]:
    """Return message and hint about a name that no row has."""
    with pytest.raises(UnknownRow) as caught:
        Catalog().gpu(name)
    return caught.value.message, caught.value.meant


def test_a_machine_has_one_model() -> None:
    names = [name.lower() for _, _, name, _ in EVERY]
    assert len(names) > 100
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(("model", "key", "name", "count"), EVERY)
def test_every_machine_leads_to_its_model(model: str, key: str, name: str, count: int) -> None:
    found = machines.named(name)
    assert found is not None
    assert (found.model, found.gpus) == (model, count)
    assert found.owner == machines.OWNERS[key]
    assert found.way


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("a2-highgpu-1g", "write model: a100-sxm4-40gb, count: 1;"),
        ("g6e.12xlarge", "write model: l40s, count: 4;"),
        ("Standard_ND96isr_H100_v5", "write model: h100-sxm5-80gb, count: 8;"),
        ("nd96isr_h100_v5", "write model: h100-sxm5-80gb, count: 8;"),
        ("g2-standard-24", "write model: l4, count: 2;"),  # not 24 or 1
        ("a3-highgpu-8g-nolssd", "write model: h100-sxm5-80gb, count: 8;"),
        ("nvidia-tesla-t4", "write model: t4;"),
    ],
)
def test_what_to_write_instead(name: str, way: str) -> None:
    message, hint = said(name)
    assert hint == way
    assert message.startswith(f"{name!r} is ")
    assert message.endswith(", not a GPU model")


def test_a_fraction_is_no_gpu_and_a_whole_one_is_named() -> None:
    message, hint = said("g6f.xlarge")
    assert "with a fraction of a GPU" in message
    assert "such as g6.xlarge: a fraction is a vGPU" in hint
    whole = machines.named("g4-standard-6")
    assert whole is not None
    assert whole.whole == "g4-standard-48"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("nvidia-tesla-k80", "Kepler"),
        ("p2.xlarge", "Kepler"),
        ("jetson-agx-orin", "Tegra"),
        ("trn1.32xlarge", "another vendor"),
        ("g3s.xlarge", "M60"),
    ],
)
def test_what_is_not_rendered_for_is_said_with_the_reason(name: str, word: str) -> None:
    message, hint = said(name)
    assert message.startswith(f"nothing is rendered for {name!r}: ")
    assert word in message
    assert hint == ""


@pytest.mark.parametrize("name", ["", "Standard_", "-nolssd", "xlarge", "h10", "*"])
def test_what_is_no_machine_is_spelt_alike_or_unknown(name: str) -> None:
    assert machines.named(name) is None
    assert said(name)[0] == f"no GPU model {name!r} in the catalogue"


@pytest.mark.parametrize("minor", ["1.8", "1.9", "1.10"])
def test_an_old_kubernetes_is_told_what_replaced_its_gates(minor: str) -> None:
    with pytest.raises(UnknownRow) as caught:
        Catalog().kubernetes(minor)
    assert "Accelerators or DevicePlugins" in caught.value.message
    assert (
        "nvidia.com/gpu in limits in place of alpha.kubernetes.io/nvidia-gpu" in caught.value.meant
    )
    with pytest.raises(UnknownRow) as caught:
        Catalog().kubernetes("1.30")
    assert caught.value.meant.startswith("did you mean one of")
