"""One mistake in a pool is said once, and what is said to write instead is right."""

from __future__ import annotations

from typing import Any

import pytest

from support.lab import pools

A100, MAX_Q, PASCAL = "a100-sxm4-40gb", "rtx-pro-6000-maxq", "p100-sxm2-16gb"
SEVENTHS = {"gpus": "all", "profiles": {"1g.5gb": 7}}


def mig(strategy: str, *entries: dict[str, Any]) -> dict[str, Any]:
    """Return the setting of a pool's MIG layout."""
    return {"strategy": strategy, "layout": list(entries)}


def shared(mode: str, name: str = "nvidia.com/gpu", replicas: int = 2, **more: Any) -> Any:
    """Return the setting that shares one resource."""
    return {"mode": mode, "resources": {name: replicas}, **more}


MISTAKES = {
    "a GPU that no entry names, under single": (
        *(A100, {"mig": mig("single", {"gpus": [0, 1], "profiles": {"1g.5gb": 7}})}),
        *("mig-gpu-not-covered", "add {gpus: [2, 3], "),
    ),
    "MPS on MIG instances": (
        A100,
        {
            "mig": mig("single", SEVENTHS),
            "sharing": shared("mps", replicas=64, failRequestsGreaterThanOne=False),
        },
        *("sharing-mps-with-mig", "time-slicing for this pool, or remove its MIG layout"),
    ),
    "MPS on a GPU that is too old": (
        *(PASCAL, {"sharing": shared("mps", replicas=64)}),
        *("sharing-mps-gpu-too-old", "use mode: time-slicing"),
    ),
    "MPS with the strategy mixed, no instances": (
        A100,
        {"mig": mig("mixed", {"gpus": "all", "profiles": {}}), "sharing": shared("mps")},
        *("sharing-mps-with-mixed-mig", "or write strategy: none"),
    ),
    "a resource written like a profile": (
        A100,
        {
            "mig": mig("single", SEVENTHS),
            "sharing": shared("time-slicing", "nvidia.com/mig-1g.5gb+me"),
        },
        *("schema-value", "write nvidia.com/mig-1g.5gb.me: "),
    ),
    "a profile instead of a resource": (
        A100,
        {"mig": mig("mixed", SEVENTHS), "sharing": shared("time-slicing", "1g.5gb+me.all")},
        *("schema-value", "write nvidia.com/mig-1g.5gb.me.all: "),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_one_finding(mistake: str) -> None:
    model, settings, check, hint = MISTAKES[mistake]
    data = pools.spec_of(pools.catalog().gpu(model), 4, **settings)
    (found,) = pools.errors(data)
    assert found.id == check
    assert hint in found.hint


@pytest.mark.parametrize(("model", "is_cured"), [("rtx-pro-6000-ws", True), (MAX_Q, False)])
def test_renaming_is_advised_where_it_makes_a_label_short_enough(
    model: str, is_cured: bool
) -> None:
    settings: dict[str, Any] = {
        "mig": mig("mixed", {"gpus": "all", "profiles": {"1g.24gb": 4}}),
        "sharing": shared("time-slicing", "nvidia.com/mig-1g.24gb"),
    }
    found = pools.findings(pools.spec_of(pools.catalog().gpu(model), 4, **settings))
    (label,) = (f for f in found if f.id == "mig-product-label-too-long")
    assert ("sharing.rename: true" in label.hint) == is_cured
    renamed = {**settings, "sharing": {**settings["sharing"], "rename": True}}
    found = pools.findings(pools.spec_of(pools.catalog().gpu(model), 4, **renamed))
    assert any(f.id == "mig-product-label-too-long" for f in found) != is_cured


@pytest.mark.parametrize(("version", "is_refused"), [("0.19.3", True), ("0.20.0", False)])
def test_mps_grants_several_units_from_a_version_on(version: str, is_refused: bool) -> None:
    sharing = shared("mps", failRequestsGreaterThanOne=False)
    data = pools.spec_of(pools.catalog().gpu(A100), 4, sharing=sharing)
    data["components"] = {"device-plugin": {"version": version}}
    found = {finding.id for finding in pools.errors(data)}
    assert found == ({"sharing-mps-always-fails-requests"} if is_refused else set())


@pytest.mark.parametrize(
    ("strategy", "model", "profiles", "hint"),
    [
        ("single", A100, {"3g.20gb": 3}, "nearest layouts that fit: 2 x 3g.20gb"),
        ("mixed", "rtx-pro-6000-se", {"1g.24gb": 5}, "nearest layouts that fit: 4 x 1g.24gb; "),
    ],
)
def test_advised_layouts_are_taken(
    strategy: str, model: str, profiles: dict[str, int], hint: str
) -> None:
    entry = {"gpus": "all", "profiles": profiles}
    gpu = pools.catalog().gpu(model)
    (found,) = pools.errors(pools.spec_of(gpu, 4, mig=mig(strategy, entry)))
    assert found.hint.startswith(hint)
    for layout in found.hint.removeprefix("nearest layouts that fit: ").split("; "):
        parts = (part.split(" x ") for part in layout.split(" + "))
        advised = {name: int(count) for count, name in parts}
        entry = {"gpus": "all", "profiles": advised}
        assert not pools.errors(pools.spec_of(gpu, 4, mig=mig(strategy, entry)))


@pytest.mark.parametrize(("more", "is_alike"), [({}, True), ({"1g.5gb": 6}, False)])
def test_the_strategy_single_is_advised_where_all_gpus_are_alike(
    more: dict[str, int], is_alike: bool
) -> None:
    entry = {"gpus": "all", "profiles": {"1g.5gb+me": 1, **more}}
    gpu = pools.catalog().gpu(A100)
    (found,) = pools.errors(pools.spec_of(gpu, 4, mig=mig("mixed", entry)))
    assert found.hint.startswith("write strategy: single") == is_alike
    assert bool(pools.errors(pools.spec_of(gpu, 4, mig=mig("single", entry)))) != is_alike


def test_a_driver_too_old_for_a_model_is_not_too_old_for_its_instances_too() -> None:
    entry = {"gpus": "all", "profiles": {"1g.23gb": 7}}
    data = pools.spec_of(pools.catalog().gpu("b200"), 8, mig=mig("mixed", entry))
    data["hostDefaults"]["driver"] = {"version": "535.309.01"}
    (found,) = pools.errors(data)
    assert found.id == "driver-too-old-for-gpu"


@pytest.mark.parametrize(
    ("version", "components", "said"),
    [
        ("0.18.2", {}, "whose labels reach no node"),
        ("0.18.2", {"gpu-feature-discovery": False}, "is not tested"),
        ("0.14.5", {"gpu-feature-discovery": False}, "does not support MPS"),
        ("0.20.0", {}, "is not tested"),
    ],
)
def test_another_plugin_is_spoken_of_once(
    version: str, components: dict[str, Any], said: str
) -> None:
    data = pools.spec_of(pools.catalog().gpu(A100), 4, sharing=shared("mps"))
    data["components"] = {"device-plugin": {"version": version}, **components}
    (found,) = (f for f in pools.findings(data) if f.id.startswith("device-plugin-version"))
    assert said in found.message


def test_instances_that_do_not_fit_are_spelled_once() -> None:
    entry = {"gpus": "all", "profiles": {"3g.20gb": 3}}
    (found,) = pools.errors(pools.spec_of(pools.catalog().gpu(A100), 4, mig=mig("mixed", entry)))
    assert found.message == "3 x 3g.20gb does not fit: at most 2 fit on one GPU"
