"""The algebra against what the real programs were observed to do, and against their contract."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.model.prediction import Prediction
from support.specs import resolved

SEVENTHS = {"gpus": "all", "profiles": {"1g.5gb": 7}}


def predicted(count: int = 8, model: str = "a100-sxm4-40gb", **parts: Any) -> Prediction:
    """Predict one pool of the minimal spec."""
    changes: dict[str, Any] = {"/pools/0/gpu": {"model": model, "count": count}}
    changes |= {f"/pools/0/{name}": value for name, value in parts.items()}
    return resolved(changes).pools[0].prediction


# Observed with the device plugin v0.19.3 on a mock of 8 A100 40 GB.
MIXED = [
    {"gpus": [0], "profiles": {"1g.5gb": 7}},
    {"gpus": [1], "profiles": {"1g.5gb": 7}},
    {"gpus": [2], "profiles": {"3g.20gb": 1, "2g.10gb": 2}},
    {"gpus": [3], "profiles": {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}},
    {"gpus": [4], "profiles": {"7g.40gb": 1}},
    {"gpus": [5], "profiles": {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}},
    {"gpus": [6, 7], "profiles": {}},
]
OBSERVED: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({}, {"gpu": 8}),
    ({"sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}}}, {"gpu": 32}),
    (
        {"sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}, "rename": True}},
        {"gpu.shared": 32},
    ),
    ({"sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}}, {"gpu": 32}),
    (
        {"sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 4}, "rename": True}},
        {"gpu.shared": 32},
    ),
    ({"mig": {"strategy": "single", "layout": [SEVENTHS]}}, {"gpu": 56}),
    (
        {"mig": {"strategy": "mixed", "layout": MIXED}},
        {"gpu": 2, "mig-1g.5gb": 17, "mig-2g.10gb": 4, "mig-3g.20gb": 3, "mig-7g.40gb": 1},
    ),
    (
        {
            "mig": {"strategy": "mixed", "layout": MIXED},
            "sharing": {
                "mode": "time-slicing",
                "resources": {"nvidia.com/mig-1g.5gb": 3},
                "rename": True,
            },
        },
        {"gpu": 2, "mig-1g.5gb.shared": 51, "mig-2g.10gb": 4, "mig-3g.20gb": 3, "mig-7g.40gb": 1},
    ),
]


@pytest.mark.parametrize(("parts", "capacity"), OBSERVED)
def test_capacity_as_observed(parts: dict[str, Any], capacity: dict[str, int]) -> None:
    wanted = {f"nvidia.com/{name}": count for name, count in capacity.items()}
    assert predicted(**parts).capacity == wanted


@pytest.mark.parametrize(
    ("parts", "product", "replicas", "strategy"),
    [
        ({}, "NVIDIA-A100-SXM4-40GB", "1", "none"),
        (
            {"sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}},
            "NVIDIA-A100-SXM4-40GB-SHARED",
            "4",
            "mps",
        ),
        (
            {"sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 4}, "rename": True}},
            "NVIDIA-A100-SXM4-40GB",
            "4",
            "mps",
        ),
        (
            {"mig": {"strategy": "single", "layout": [SEVENTHS]}},
            "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
            "1",
            "none",
        ),
        # Every GPU has instances: the labels of whole GPUs are those of no sharing at all.
        (
            {"mig": {"strategy": "mixed", "layout": [SEVENTHS]}},
            "NVIDIA-A100-SXM4-40GB",
            "0",
            "none",
        ),
    ],
)
def test_product_label(parts: dict[str, Any], product: str, replicas: str, strategy: str) -> None:
    labels = predicted(**parts).labels
    assert labels["nvidia.com/gpu.product"] == product
    assert labels["nvidia.com/gpu.replicas"] == replicas
    assert labels["nvidia.com/gpu.sharing-strategy"] == strategy


def test_renamed_instances_keep_their_label_prefix() -> None:
    sharing = {"mode": "time-slicing", "resources": {"nvidia.com/mig-1g.5gb": 3}, "rename": True}
    labels = predicted(mig={"strategy": "mixed", "layout": [SEVENTHS]}, sharing=sharing).labels
    assert labels["nvidia.com/mig-1g.5gb.replicas"] == "3"
    assert labels["nvidia.com/mig-1g.5gb.count"] == "56"
    assert labels["nvidia.com/gpu.count"] == "8"
    assert not [key for key in labels if ".shared" in key]


def test_what_the_facts_do_not_carry_is_unknown() -> None:
    prediction = predicted(model="p6", count=1)  # nobody has published its total
    assert "nvidia.com/gpu.memory" not in prediction.labels
    assert "nvidia.com/gpu.memory" in prediction.unknown_labels
    assert not set(prediction.labels) & set(prediction.unknown_labels)


def test_name_of_a_mig_configuration_follows_its_content() -> None:
    first = predicted(mig={"strategy": "mixed", "layout": [SEVENTHS]})
    same = predicted(mig={"strategy": "single", "layout": [SEVENTHS]})
    other = predicted(
        mig={"strategy": "mixed", "layout": [{**SEVENTHS, "profiles": {"7g.40gb": 1}}]}
    )
    assert first.mig_config_name == same.mig_config_name != other.mig_config_name
    assert list(first.mig_config["mig-configs"]) == [first.mig_config_name]
    assert predicted().mig_config_name == ""


def test_layout_off_switches_mig_off() -> None:
    prediction = predicted(mig={"strategy": "none", "layout": [{"gpus": "all", "profiles": {}}]})
    (entries,) = prediction.mig_config["mig-configs"].values()
    assert entries == [{"devices": "all", "mig-enabled": False}]
    assert prediction.capacity == {"nvidia.com/gpu": 8}
